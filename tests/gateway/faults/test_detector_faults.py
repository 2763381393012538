"""A detector that fails has found nothing out: the request is full of identifiers, and stays."""

from __future__ import annotations

import ssl
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import openai
import pytest
import uvicorn
from echo_upstream import EchoUpstream
from fault_givens import IBAN, PROMPT
from waiting import until

from sovctl.gateway.api.app import App
from sovctl.gateway.detect.findings.finding import Finding
from sovctl.gateway.detect.labels import is_cue
from sovctl.gateway.detect.text.words import Words
from sovctl.gateway.runtime.components import Components
from sovctl.gateway.settings import load_settings


class _BrokenFinder:
    is_cue = staticmethod(is_cue)

    def scan(self, text: str) -> tuple[list[Finding], Words | None]:
        raise KeyError(text)  # an error that carries the text, as a real one might


@contextmanager
def in_process(config: Path, finder: Any) -> Iterator[int]:
    """A gateway in a thread, with a finder of the test's."""
    settings = load_settings(config)
    server = uvicorn.Server(
        uvicorn.Config(
            App(Components(settings, finder=finder).open),
            host="127.0.0.1",
            port=settings.listen.port,
            ssl_certfile=settings.listen.certificate_file,
            ssl_keyfile=settings.listen.key_file,
            log_config=None,
            lifespan="on",
            ws="none",
        )
    )
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    until(lambda: server.started, "it serves")
    try:
        yield settings.listen.port
    finally:
        server.should_exit = True
        thread.join(60)


def test_a_detector_that_raises_keeps_everything_on_prem(
    start: Callable[..., Any], pki: Any, pool: EchoUpstream, cloud: EchoUpstream, capfd: pytest.CaptureFixture[str]
) -> None:
    gateway = start()
    gateway.stop()
    tls = ssl.create_default_context(cafile=pki.ca_file)
    with (
        in_process(gateway.config, _BrokenFinder()) as port,
        openai.OpenAI(
            api_key="test-key-of-the-branch-application",
            base_url=f"https://127.0.0.1:{port}/v1",
            max_retries=0,
            http_client=openai.DefaultHttpxClient(verify=tls),
        ) as client,
    ):
        messages: Any = [{"role": "user", "content": PROMPT}]
        answer = client.chat.completions.with_raw_response.create(model="assistant", messages=messages)
        assert answer.headers["x-sovctl-route"] == "pool"
    assert not cloud.requests
    assert len(pool.requests) == 1
    asked = gateway.records()[-2]
    assert asked["reasons"] == ["detector-failed"]
    assert asked["inspected"] is False
    assert IBAN not in capfd.readouterr().err
