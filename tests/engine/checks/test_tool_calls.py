"""Tool calls: 20 functions requested in six modes over mutual TLS, and compared with their schemas."""

from __future__ import annotations

import http.server
import json
import ssl
import subprocess
import sys
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any, ClassVar

import pytest
from check_cases.case import answer
from check_cases.pool import EVALUATED, POOL, TEMPLATE
from check_cases.tool_calls import PARAMETERS, TOOLS, called, example_of, tools_of
from hypothesis import given
from hypothesis import strategies as st
from test_check_probes import identity, server_context, serving  # noqa: F401 - a fixture

from sovctl.compliance.verdict import Verdict
from sovctl.engine.checks.definitions.pool.tool_calls import LAB_MODES, declares_tools
from sovctl.engine.checks.model.check import Level, judge
from sovctl.engine.checks.model.check_context import CheckContext
from sovctl.engine.checks.model.target import CheckTarget
from sovctl.engine.checks.probes.commands import python_command
from sovctl.engine.checks.registry import BY_ID
from sovctl.engine.checks.runner.gate import CHECKS_OF, is_required
from sovctl.engine.checks.runner.targets import targets_of
from sovctl.engine.facts.benchmarks.tool_calls import (
    Fault,
    Mode,
    ToolAnswer,
    argument_fault,
    other_tool,
    parse_tool_calls,
    tool_call_faults,
)
from sovctl.engine.facts.benchmarks.tool_schemas import CASES
from sovctl.engine.facts.unreadable import Unreadable
from sovctl.engine.spec.serving.api_server import Tools

CHECK = BY_ID["pool.tool-calls"]
MODES = tuple(Mode)


class Server(http.server.BaseHTTPRequestHandler):
    """Calls the tools of a request with the smallest arguments, in the form of vLLM 0.32; a chunk has 3 letters."""

    protocol_version = "HTTP/1.1"
    asked: ClassVar[list[dict[str, Any]]] = []
    content: ClassVar[str] = ""
    is_cut: ClassVar[bool] = False
    refuses: ClassVar[bool] = False

    def do_GET(self) -> None:
        self._send(200, json.dumps({"data": [{"id": "echo", "max_model_len": 512}]}))

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["content-length"])))
        self.asked.append(body | {"path": self.path})
        names = [each["function"]["name"] for each in body["tools"]]
        count = 0 if body["tool_choice"] == "none" else 2 if body["parallel_tool_calls"] else 1
        calls = [(name, json.dumps(example_of(PARAMETERS[name]), ensure_ascii=False)) for name in names[:count]]
        if self.refuses and body["tool_choice"] == "auto":
            self._send(400, "{}")
        elif body.get("stream"):
            self._send(200, "".join(f"data: {event}\n\n" for event in self._events(calls)))
        else:
            listed = [{"type": "function", "function": {"name": name, "arguments": text}} for name, text in calls]
            message = {"role": "assistant", "content": self.content, "tool_calls": listed}
            self._send(200, json.dumps({"choices": [{"message": message, "finish_reason": "stop"}]}))

    def _events(self, calls: list[tuple[str, str]]) -> list[str]:
        deltas: list[dict[str, Any]] = [{"role": "assistant", "content": ""}]
        for index, (name, text) in enumerate(calls):
            deltas.append({"tool_calls": [{"index": index, "function": {"name": name, "arguments": ""}}]})
            for at in range(0, len(text), 3):
                part = {"index": index, "function": {"arguments": text[at : at + 3]}}
                deltas.append({"tool_calls": [part]})
        choices = [{"index": 0, "delta": each, "finish_reason": None} for each in deltas]
        ended = [] if self.is_cut else ["[DONE]"]
        return [json.dumps({"choices": [each]}) for each in choices] + ended

    def _send(self, status: int, text: str) -> None:
        data = text.encode()
        self.send_response(status)
        self.send_header("content-length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the base class's name
        pass


def printed(
    files: tuple[Path, Path, Path], modes: tuple[Mode, ...] = MODES, *, port: int | None = None, **changes: object
) -> str:
    Server.asked = []
    cases = json.dumps([asdict(each) for each in CASES])

    def run(at: int) -> str:
        words = ("127.0.0.1", str(at), *map(str, files), "echo", cases, ",".join(modes))
        command = python_command("tool_calls", *words, interpreter=sys.executable)
        done = subprocess.run(["sh", "-c", command], capture_output=True, text=True, timeout=120, check=True)
        return done.stdout

    if port is not None:
        return run(port)
    server = type("Changed", (Server,), changes)
    with serving(server, server_context(files, mutual=True, version=ssl.TLSVersion.TLSv1_3)) as opened:
        return run(opened)


def test_every_tool_is_requested_in_every_mode_and_streams_are_joined(identity: tuple[Path, Path, Path]) -> None:  # noqa: F811
    text = printed(identity)
    answers = parse_tool_calls(text, modes=MODES, tools=TOOLS)
    assert len(answers) == 120
    assert list(tool_call_faults(answers, tools=TOOLS, any_tool=False)) == []
    assert judge(CHECK, answer({"calls": text}), tools_of(POOL)).verdict is Verdict.PASS
    assert {(each["path"], each["model"], each["temperature"], each["max_tokens"]) for each in Server.asked} == {
        ("/v1/chat/completions", "echo", 0, 256)
    }
    named = [each["tool_choice"] for each in Server.asked if isinstance(each["tool_choice"], dict)]
    assert {each["function"]["name"] for each in named} == set(PARAMETERS)
    assert sum(bool(each.get("stream")) for each in Server.asked) == 20


def test_marks_of_a_call_in_the_text_are_found_and_the_text_is_not_printed(identity: tuple[Path, Path, Path]) -> None:  # noqa: F811
    text = printed(identity, (Mode.NONE,), content="secret <tool_call>")
    assert "secret" not in text
    answers = parse_tool_calls(text, modes=(Mode.NONE,), tools=TOOLS)
    found = list(tool_call_faults(answers, tools=TOOLS, any_tool=False))
    assert [(each.fault, len(each.tools)) for each in found] == [(Fault.LEAKED, 20)]


def test_a_refusal_is_a_fault_and_a_cut_stream_or_no_server_is_not_measured(
    identity: tuple[Path, Path, Path],  # noqa: F811
) -> None:
    modes = (Mode.AUTO, Mode.NAMED)
    refused = parse_tool_calls(printed(identity, modes, refuses=True), modes=modes, tools=TOOLS)
    faults = tool_call_faults(refused, tools=TOOLS, any_tool=False)
    assert [(each.mode, each.fault) for each in faults] == [(Mode.AUTO, Fault.REFUSED)]
    for text, reason in (
        (printed(identity, (Mode.STREAMING,), is_cut=True), "without its end"),
        (printed(identity, port=9), "ConnectionRefusedError"),
    ):
        with pytest.raises(Unreadable, match=reason):
            parse_tool_calls(text, modes=(Mode.STREAMING,), tools=TOOLS)


@pytest.mark.parametrize("name", sorted(PARAMETERS))
def test_every_schema_accepts_its_example_and_refuses_others(name: str) -> None:
    example = example_of(PARAMETERS[name])
    assert argument_fault(name, json.dumps(example)) is None
    assert argument_fault(name, json.dumps(example)[:-1]) is Fault.NOT_JSON
    assert argument_fault(name, json.dumps({**example, "more": 1})) is Fault.SCHEMA
    assert argument_fault(name, "{}") is Fault.SCHEMA
    assert argument_fault(name, json.dumps(json.dumps(example))) is Fault.SCHEMA, "JSON in a JSON text"


def test_twenty_tools_have_names_that_every_client_accepts() -> None:
    assert len({each.name for each in CASES}) == len(CASES) == 20
    assert all(each.name.isascii() and each.name.isidentifier() for each in CASES)


def test_the_model_of_a_lab_is_requested_only_where_the_server_decides(lab_context: CheckContext) -> None:
    (found,) = [each for each in targets_of(lab_context) if each.check.id == CHECK.id]
    expected = found.expectation
    assert (expected.modes, expected.any_tool, expected.is_declared) == (LAB_MODES, True, False)  # type: ignore[attr-defined]
    tools = tuple(each.name for each in expected.cases)  # type: ignore[attr-defined]
    assert tools == ("set_volume", "send_report", "set_timer")
    assert CHECK.level is Level.BURN_IN
    other = {"calls": [["set_volume", '{"percent": 40}']]}
    text = called(("required", "send_report", other), modes=LAB_MODES, tools=tools)
    assert judge(CHECK, answer({"calls": text}), expected).verdict is Verdict.PASS
    named = called(("named", "send_report", other), modes=LAB_MODES, tools=tools)
    assert judge(CHECK, answer({"calls": named}), expected).verdict is Verdict.FAIL


def test_apply_requires_tool_calls_of_pools_that_declare_them(lab_context: CheckContext) -> None:
    assert CHECK.id in CHECKS_OF["pool"]
    (pool,) = lab_context.context.spec.pools
    for tools, declared in (
        (Tools(), False),
        (Tools(tool_call_parser="none"), False),
        (Tools(tool_call_parser="hermes"), True),
        (Tools(enable_auto_tool_choice=True), True),
    ):
        assert declares_tools(pool.model_copy(update={"tools": tools})) is declared
    for declared in (False, True):
        expected = replace(tools_of(POOL), is_declared=declared)
        assert is_required(CheckTarget(CHECK, "n1", expected), {}) is declared
    assert is_required(CheckTarget(BY_ID["pool.evaluation"], "n1", EVALUATED), {})
    assert not is_required(CheckTarget(BY_ID["pool.chat-template"], "n1", TEMPLATE), {})


def test_without_a_limit_the_verdict_is_unknown() -> None:
    assert judge(CHECK, answer({"calls": called()}), replace(tools_of(POOL), least_called=None)).verdict is (
        Verdict.UNKNOWN
    )


NAMES = st.sampled_from(sorted(PARAMETERS))


@given(NAMES, st.sampled_from(MODES), st.lists(NAMES, max_size=3))
def test_an_answer_has_no_fault_exactly_with_the_calls_of_its_mode(tool: str, mode: Mode, names: list[str]) -> None:
    calls = tuple((name, json.dumps(example_of(PARAMETERS[name]))) for name in names)
    wanted = {Mode.NONE: [], Mode.PARALLEL: sorted([tool, other_tool(tool, TOOLS)])}.get(mode, [tool])
    faults = list(tool_call_faults([ToolAnswer(tool, mode, calls)], tools=TOOLS, any_tool=False))
    assert (not faults) == (sorted(names) == wanted)


@given(st.text(max_size=200))
def test_any_text_is_read_without_a_crash(text: str) -> None:
    with pytest.raises(Unreadable):
        parse_tool_calls(text, modes=MODES, tools=TOOLS)
