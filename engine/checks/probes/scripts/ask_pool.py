"""One chat completion at temperature 0. Arguments: ADDRESS PORT CA CERTIFICATE KEY MODEL MAX_TOKENS.

Standard input: {"question"}, so that no log of commands contains it. One JSON line: {"text", "tokens"} or {"error"}.
"""

from __future__ import annotations

import http.client
import json
import ssl
import sys

TIMEOUT_S = 280.0


def ask(question: str) -> dict[str, object]:
    address, port, authority, certificate, key, model, most = sys.argv[1:8]
    context = ssl.create_default_context(cafile=authority)
    context.load_cert_chain(certificate, key)
    connection = http.client.HTTPSConnection(address, int(port), timeout=TIMEOUT_S, context=context)
    body = {
        "model": model,
        "messages": [{"role": "user", "content": question}],
        "temperature": 0,
        "max_tokens": int(most),
    }
    try:
        connection.request("POST", "/v1/chat/completions", json.dumps(body), {"content-type": "application/json"})
        reply = connection.getresponse()
        data = reply.read(16 << 20)
        if reply.status != 200:
            raise ValueError(f"http {reply.status}")
        found = json.loads(data)
        text = found["choices"][0]["message"].get("content") or ""
        return {"text": str(text), "tokens": int((found.get("usage") or {}).get("completion_tokens") or 0)}
    finally:
        connection.close()


def main() -> None:
    try:
        answer = ask(json.load(sys.stdin)["question"])
    except (OSError, ValueError, KeyError, TypeError, IndexError, AttributeError, http.client.HTTPException) as error:
        # The message of an error can quote an answer.
        kept = str(error) if str(error).startswith("http ") else ""
        answer = {"error": f"{type(error).__name__} {kept}".strip()}
    sys.stdout.write(json.dumps(answer) + "\n")


main()
