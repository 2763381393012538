"""HTTP server of Presidio's analyzer and anonymizer with the API that LiteLLM uses; runs in the peers' environment.

    venv-presidio/bin/python presidio_server.py PORT

Presidio includes Flask applications for this; a plain ASGI application is faster, in favour of the peer. Patterns only,
without a model, like all contenders: the blank pipeline finds no names.
"""

from __future__ import annotations

import json
import sys
from typing import Any

import uvicorn
from presidio_analyzer import AnalyzerEngine
from presidio_analyzer.nlp_engine import NoOpNlpEngine
from presidio_anonymizer import AnonymizerEngine
from presidio_anonymizer.entities import RecognizerResult

_engine = NoOpNlpEngine(models=[{"lang_code": "en", "model_name": "none"}])
_analyzer = AnalyzerEngine(nlp_engine=_engine, supported_languages=["en"])
_anonymizer = AnonymizerEngine()
_KEPT = ("entity_type", "start", "end", "score")


def _analyze(asked: dict[str, Any]) -> str:
    found = _analyzer.analyze(asked["text"], language=asked.get("language") or "en", entities=asked.get("entities"))
    return json.dumps([{name: getattr(each, name) for name in _KEPT} for each in found])


def _anonymize(asked: dict[str, Any]) -> str:
    found = [RecognizerResult(**{name: each[name] for name in _KEPT}) for each in asked["analyzer_results"]]
    return str(_anonymizer.anonymize(asked["text"], found).to_json())


_ROUTES = {"/analyze": _analyze, "/anonymize": _anonymize}


async def app(scope: dict[str, Any], receive: Any, send: Any) -> None:
    """Return the ASGI application."""
    body = b""
    while True:
        message = await receive()
        body += message.get("body", b"")
        if not message.get("more_body"):
            break
    said = _ROUTES[scope["path"]](json.loads(body)).encode() if scope["path"] in _ROUTES else b"Presidio"
    headers = [(b"content-type", b"application/json"), (b"content-length", str(len(said)).encode())]
    await send({"type": "http.response.start", "status": 200, "headers": headers})
    await send({"type": "http.response.body", "body": said})


if __name__ == "__main__":
    uvicorn.run(app, host="127.0.0.1", port=int(sys.argv[1]), lifespan="off", log_level="error", access_log=False)
