"""Greedy completions of fixed prompts by a vLLM server. Arguments: ADDRESS PORT CA CERTIFICATE KEY MODEL.

JSON lines: {"path": "/version", "version"}, then one line per prompt: {"prompt", "prompt_token_ids", "token_ids",
"logprobs", "margins"}, or {"prompt", "error"}. `margins` are differences of the log probabilities of the two most
probable tokens. The output contains token numbers and no text. The prompts are invented and name no person.
"""

from __future__ import annotations

import http.client
import json
import ssl
import sys
from collections.abc import Callable
from functools import partial
from typing import Any

TIMEOUT_S = 60.0
MAX_TOKENS = 24
PROMPTS = (
    "The first twelve prime numbers in ascending order are 2, 3, 5,",
    "def fibonacci(count):\n    values = [0, 1]\n    while len(values) < count:\n",
    "Water boils at 100 degrees Celsius at sea level because",
    "Ein Rechteck mit den Seiten 7 cm und 9 cm hat den Umfang",
)


def ask(method: str, path: str, body: dict[str, object] | None = None) -> Any:
    address, port, authority, certificate, key = sys.argv[1:6]
    context = ssl.create_default_context(cafile=authority)
    context.load_cert_chain(certificate, key)
    connection = http.client.HTTPSConnection(address, int(port), timeout=TIMEOUT_S, context=context)
    try:
        data = None if body is None else json.dumps(body)
        connection.request(method, path, data, {"content-type": "application/json"})
        reply = connection.getresponse()
        if reply.status != 200:
            raise ValueError(f"http {reply.status}")
        found = json.loads(reply.read(4 << 20))
    finally:
        connection.close()
    if not isinstance(found, dict):
        raise ValueError("no JSON object")
    return found


def complete(prompt: str) -> dict[str, object]:
    body = {
        "model": sys.argv[6],
        "prompt": prompt,
        "max_tokens": MAX_TOKENS,
        "temperature": 0,
        "seed": 20261128,
        "logprobs": 2,
        "return_token_ids": True,
    }
    choice = ask("POST", "/v1/completions", body)["choices"][0]
    ranked = [sorted(each.values(), reverse=True) for each in choice["logprobs"]["top_logprobs"]]
    return {
        "prompt_token_ids": choice["prompt_token_ids"],
        "token_ids": choice["token_ids"],
        "logprobs": choice["logprobs"]["token_logprobs"],
        "margins": [each[0] - each[1] if len(each) > 1 else 0.0 for each in ranked],
    }


def attempt(known: dict[str, Any], call: Callable[[], dict[str, object]]) -> dict[str, object]:
    try:
        return {**known, **call()}
    except (OSError, ValueError, KeyError, TypeError, IndexError, AttributeError, http.client.HTTPException) as error:
        return {**known, "error": f"{type(error).__name__}: {error}"[:200]}


def main() -> None:
    answers = [attempt({"path": "/version"}, lambda: {"version": ask("GET", "/version")["version"]})]
    answers += [attempt({"prompt": number}, partial(complete, prompt)) for number, prompt in enumerate(PROMPTS)]
    sys.stdout.write("".join(json.dumps(each) + "\n" for each in answers))


main()
