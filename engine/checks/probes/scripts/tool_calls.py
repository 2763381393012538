"""Tool calls of a vLLM server. Arguments: ADDRESS PORT CA CERTIFICATE KEY MODEL CASES MODES.

CASES is a JSON list of {"name", "parameters", "task"}; MODES are names of `MODES`, separated by commas. JSON lines, one
for each case and mode: {"tool", "mode", "calls": [[name, arguments]], "leaked", "finish"}, where arguments are the
text of the server, re-joined from the chunks of a stream; {"tool", "mode", "refused"} with the status for HTTP 400;
{"tool", "mode", "error"}. The output contains arguments of invented tasks and no other text of the model.
"""

from __future__ import annotations

import http.client
import json
import ssl
import sys
from concurrent.futures import ThreadPoolExecutor
from typing import Any

TIMEOUT_S = 120.0
AT_ONCE = 8
MAX_TOKENS = 1024
MARKS = ("<tool_call", "<|tool_call", "[TOOL_CALLS]", "<|python_tag|>", "<function=", "<|channel|>", "tool_calls_begin")
"""Beginnings of tool calls in the formats of vLLM's parsers. In a text they are a call that no parser found."""
Calls = list[list[str]]


def tool(case: dict[str, Any]) -> dict[str, Any]:
    function = {"name": case["name"], "description": "Does: " + case["task"], "parameters": case["parameters"]}
    return {"type": "function", "function": function}


def options(mode: str, case: dict[str, Any], other: dict[str, Any]) -> dict[str, Any]:
    one = {"tools": [tool(case), tool(other)], "parallel_tool_calls": False}
    named = {"type": "function", "function": {"name": case["name"]}}
    choices: dict[str, dict[str, Any]] = {
        "auto": {**one, "tool_choice": "auto"},
        "required": {**one, "tool_choice": "required"},
        "named": {**one, "tool_choice": named},
        "none": {**one, "tool_choice": "none"},
        "parallel": {**one, "tool_choice": "auto", "parallel_tool_calls": True},
        "streaming": {**one, "tool_choice": "auto", "stream": True},
    }
    return choices[mode]


def request(mode: str, case: dict[str, Any], other: dict[str, Any], most: int) -> dict[str, Any]:
    task = f"Call the tool {case['name']}. {case['task']}"
    if mode == "none":
        task = "Answer with one word: which color has the sky?"
    if mode == "parallel":
        task = f"Call both tools at the same time, each once. {case['task']} {other['task']}"
    return {
        "model": sys.argv[6],
        "messages": [{"role": "user", "content": task}],
        "temperature": 0,
        "seed": 20261129,
        "max_tokens": most,
        "chat_template_kwargs": {"enable_thinking": False, "thinking": False},
        **options(mode, case, other),
    }


def send(method: str, path: str, body: dict[str, Any] | None = None) -> bytes:
    address, port, authority, certificate, key = sys.argv[1:6]
    context = ssl.create_default_context(cafile=authority)
    context.load_cert_chain(certificate, key)
    connection = http.client.HTTPSConnection(address, int(port), timeout=TIMEOUT_S, context=context)
    try:
        data = None if body is None else json.dumps(body)
        connection.request(method, path, data, {"content-type": "application/json"})
        reply = connection.getresponse()
        found = reply.read(4 << 20)
        if reply.status != 200:
            raise ValueError(f"http {reply.status}")
        return found
    finally:
        connection.close()


def whole(data: bytes) -> tuple[Calls, str, str]:
    choice = json.loads(data)["choices"][0]
    calls = choice["message"].get("tool_calls") or []
    found = [[each["function"]["name"], each["function"]["arguments"]] for each in calls]
    return found, choice["message"].get("content") or "", str(choice.get("finish_reason"))


def joined(data: bytes) -> tuple[Calls, str, str]:
    """Return the calls of a stream of server-sent events; names and arguments are joined by the index of the call."""
    calls: dict[int, list[str]] = {}
    content, finish, ended = "", "", False
    for line in data.decode().splitlines():
        if not line.startswith("data:"):
            continue
        event = line[5:].strip()
        if event == "[DONE]":
            ended = True
            continue
        for choice in json.loads(event).get("choices") or []:
            delta = choice.get("delta") or {}
            content += delta.get("content") or ""
            finish = choice.get("finish_reason") or finish
            for each in delta.get("tool_calls") or []:
                call, part = calls.setdefault(each["index"], ["", ""]), each.get("function") or {}
                call[0] += part.get("name") or ""
                call[1] += part.get("arguments") or ""
    if not ended:
        raise ValueError("a stream without its end")
    return [calls[index] for index in sorted(calls)], content, finish


def ask(mode: str, case: dict[str, Any], other: dict[str, Any], most: int) -> dict[str, object]:
    known: dict[str, object] = {"tool": case["name"], "mode": mode}
    try:
        data = send("POST", "/v1/chat/completions", request(mode, case, other, most))
        calls, content, finish = (joined if mode == "streaming" else whole)(data)
        return {**known, "calls": calls, "leaked": any(mark in content for mark in MARKS), "finish": finish}
    except (OSError, ValueError, KeyError, TypeError, IndexError, AttributeError, http.client.HTTPException) as error:
        text = str(error)
        if text in ("http 400", "http 404", "http 422"):
            return {**known, "refused": text}
        shown = text if text.startswith(("http ", "a stream")) else ""
        return {**known, "error": f"{type(error).__name__} {shown}".strip()}


def main() -> None:
    cases, modes = json.loads(sys.argv[7]), sys.argv[8].split(",")
    try:
        length = int(json.loads(send("GET", "/v1/models"))["data"][0]["max_model_len"])
    except (OSError, ValueError, KeyError, TypeError, IndexError, http.client.HTTPException) as error:
        sys.stdout.write(json.dumps({"tool": "", "mode": "", "error": f"{type(error).__name__} of /v1/models"}) + "\n")
        return
    most = min(MAX_TOKENS, length // 2)
    wanted = [(mode, case, cases[at - 1]) for mode in modes for at, case in enumerate(cases)]
    with ThreadPoolExecutor(AT_ONCE) as pool:
        for answer in pool.map(lambda each: ask(each[0], each[1], each[2], most), wanted):
            sys.stdout.write(json.dumps(answer) + "\n")


main()
