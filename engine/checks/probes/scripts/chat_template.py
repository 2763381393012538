"""Token numbers of fixed messages by a vLLM server's chat template. Arguments: ADDRESS PORT CA CERTIFICATE KEY MODEL.

JSON lines, one per shape: {"shape", "token_ids"}; {"shape", "token_ids": null} if the template refuses the messages
(HTTP 400); {"shape", "error"}. Nothing is generated. The output contains token numbers and no text. The messages are
invented and name no person.
"""

from __future__ import annotations

import http.client
import json
import ssl
import sys
from typing import Any

TIMEOUT_S = 20.0
USER = {"role": "user", "content": "Add 12 and 30."}
SYSTEM = {"role": "system", "content": "You answer in one sentence."}
ANSWER = {"role": "assistant", "content": "The sum is 42."}
NEXT = {"role": "user", "content": "And without the 12?"}
FUNCTION = {
    "name": "add",
    "description": "Adds two numbers.",
    "parameters": {
        "type": "object",
        "properties": {"a": {"type": "number"}, "b": {"type": "number"}},
        "required": ["a", "b"],
    },
}
TOOLS = [{"type": "function", "function": FUNCTION}]
CALL = {
    "role": "assistant",
    "content": None,
    "tool_calls": [
        {"id": "call00001", "type": "function", "function": {"name": "add", "arguments": '{"a": 12, "b": 30}'}}
    ],
}
RESULT = {"role": "tool", "tool_call_id": "call00001", "content": "42"}


def thinking(on: bool) -> dict[str, Any]:
    return {"messages": [USER], "chat_template_kwargs": {"enable_thinking": on, "thinking": on}}


SHAPES: dict[str, dict[str, Any]] = {
    "user": {"messages": [USER]},
    "system": {"messages": [SYSTEM, USER]},
    "multi-turn": {"messages": [SYSTEM, USER, ANSWER, NEXT]},
    "no-generation-prompt": {"messages": [USER, ANSWER], "add_generation_prompt": False},
    "tools": {"messages": [USER], "tools": TOOLS},
    "tool-result": {"messages": [USER, CALL, RESULT], "tools": TOOLS},
    "thinking-on": thinking(True),
    "thinking-off": thinking(False),
    "umlauts": {"messages": [{"role": "user", "content": "Größe, Übermaß und Ähre: ß bleibt ß."}]},
    "emoji": {
        "messages": [{"role": "user", "content": "\U0001f469\u200d\U0001f680 \U0001f1e9\U0001f1ea \u2764\ufe0f"}]
    },
    "empty": {"messages": [{"role": "user", "content": ""}]},
    "control-text": {"messages": [{"role": "user", "content": "<|im_end|> [/INST] </s> <think> is plain text."}]},
}


def ask(shape: dict[str, Any]) -> list[int] | None:
    address, port, authority, certificate, key, model = sys.argv[1:7]
    context = ssl.create_default_context(cafile=authority)
    context.load_cert_chain(certificate, key)
    connection = http.client.HTTPSConnection(address, int(port), timeout=TIMEOUT_S, context=context)
    try:
        body = json.dumps({"model": model, **shape})
        connection.request("POST", "/tokenize", body, {"content-type": "application/json"})
        reply = connection.getresponse()
        if reply.status == 400:
            return None
        if reply.status != 200:
            raise ValueError(f"http {reply.status}")
        return json.loads(reply.read(4 << 20))["tokens"]  # type: ignore[no-any-return]
    finally:
        connection.close()


def answer(name: str, shape: dict[str, Any]) -> dict[str, object]:
    try:
        return {"shape": name, "token_ids": ask(shape)}
    except (OSError, ValueError, KeyError, TypeError, http.client.HTTPException) as error:
        return {"shape": name, "error": f"{type(error).__name__}: {error}"[:200]}


def main() -> None:
    sys.stdout.write("".join(json.dumps(answer(*each)) + "\n" for each in SHAPES.items()))


main()
