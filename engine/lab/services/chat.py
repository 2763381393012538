"""Sends one chat through the gateway with the openai client (`python -m sovctl.engine.lab.services.chat`).

Reads {"base_url", "ca_file", "key_file", "model", "text", "stream"} from standard input, so that the text is not on a
command line, and prints {"text", "route"}. The caller starts it in the network namespace of the lab.
"""

from __future__ import annotations

import json
import ssl
import subprocess
import sys
from pathlib import Path
from typing import Any

from sovctl.support.errors import MissingTool, SovctlError

TIMEOUT_S = 120
ROUTE_HEADER = "x-sovctl-route"


def chat(
    namespace: str, *, base_url: str, ca_file: Path, key_file: Path, model: str, text: str, stream: bool
) -> dict[str, str]:
    """Return the text and the route of the answer to one user message, sent from inside `namespace`.

    Raises:
        MissingTool: the openai client is not installed.
        SovctlError: the gateway rejected the request, or did not answer.
    """
    job = {
        "base_url": base_url,
        "ca_file": str(ca_file),
        "key_file": str(key_file),
        "model": model,
        "text": text,
        "stream": stream,
    }
    done = subprocess.run(
        [
            "ip",
            "netns",
            "exec",
            namespace,
            sys.executable,
            "-P",
            "-W",
            "ignore",
            "-m",
            "sovctl.engine.lab.services.chat",
        ],
        input=json.dumps(job),
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode == MISSING_CLIENT:
        raise MissingTool("the openai client is not installed", hint="pip install 'sovctl[dev]'")
    if done.returncode != 0:
        raise SovctlError(f"the gateway did not answer the chat: {done.stderr.strip().splitlines()[-1:]}")
    answer: dict[str, str] = json.loads(done.stdout)
    return answer


MISSING_CLIENT = 7


def _ask(job: dict[str, Any]) -> dict[str, str]:
    import httpx2 as httpx
    from openai import OpenAI

    context = ssl.create_default_context(cafile=job["ca_file"])
    client = OpenAI(
        base_url=job["base_url"],
        api_key=Path(job["key_file"]).read_text().strip(),
        http_client=httpx.Client(verify=context, timeout=TIMEOUT_S),
        max_retries=0,
    )
    messages: Any = [{"role": "user", "content": job["text"]}]
    if job["stream"]:
        with client.chat.completions.with_streaming_response.create(
            model=job["model"], messages=messages, stream=True, temperature=0, max_tokens=160
        ) as response:
            route = response.headers.get(ROUTE_HEADER, "")
            text = "".join(chunk.choices[0].delta.content or "" for chunk in response.parse() if chunk.choices)
        return {"text": text, "route": route}
    raw = client.chat.completions.with_raw_response.create(
        model=job["model"], messages=messages, temperature=0, max_tokens=160
    )
    return {"text": raw.parse().choices[0].message.content or "", "route": raw.headers.get(ROUTE_HEADER, "")}


def main() -> int:
    """Entry point inside the namespace."""
    try:
        answer = _ask(json.load(sys.stdin))
    except ModuleNotFoundError:
        return MISSING_CLIENT
    except Exception as error:  # noqa: BLE001 - the caller expects a message, not a traceback
        sys.stderr.write(f"{type(error).__name__}\n")
        return 1
    json.dump(answer, sys.stdout)
    return 0


if __name__ == "__main__":
    sys.exit(main())
