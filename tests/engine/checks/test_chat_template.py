"""Messages as a chat template renders them: requested over mutual TLS, recorded, compared."""

from __future__ import annotations

import http.server
import json
import ssl
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any, ClassVar

import pytest
from check_cases.case import answer
from check_cases.pool import RECORD, SHAPES, TEMPLATE, A, rendered
from hypothesis import given
from hypothesis import strategies as st
from test_check_probes import identity, server_context, serving, sh  # noqa: F401 - a fixture

from sovctl.compliance.verdict import Verdict
from sovctl.engine.checks.model.check import Level, judge
from sovctl.engine.checks.model.check_context import CheckContext
from sovctl.engine.checks.model.probe import Probe, ProbeOutput
from sovctl.engine.checks.model.result import Result, result_of, utc_now
from sovctl.engine.checks.model.target import CheckTarget
from sovctl.engine.checks.probes.commands import python_command
from sovctl.engine.checks.registry import BY_ID
from sovctl.engine.checks.runner.golden import agreed_templates
from sovctl.engine.checks.runner.run import RunResult
from sovctl.engine.checks.runner.targets import targets_of
from sovctl.engine.facts.benchmarks.chat_template import Rendered, parse_rendered, template_differences
from sovctl.engine.facts.benchmarks.golden_tokens import GoldenRecord
from sovctl.engine.facts.unreadable import Unreadable
from sovctl.engine.resources.serving.routes import VARIABLE
from sovctl.support.errors import SovctlError

CHECK = BY_ID["pool.chat-template"]


class Server(http.server.BaseHTTPRequestHandler):
    """Answers `/tokenize` in the form of vLLM 0.32, and refuses tools as a template without them does."""

    asked: ClassVar[list[dict[str, Any]]] = []

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["content-length"])))
        self.asked.append(body | {"path": self.path})
        tokens = [1, *(ord(sign) for each in body["messages"] for sign in each["content"] or "")]
        data = json.dumps({"count": len(tokens), "max_model_len": 512, "tokens": tokens}).encode()
        self.send_response(400 if "tools" in body else 200)
        self.send_header("content-length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the base class's name
        pass


def command(port: int, files: tuple[Path, Path, Path]) -> str:
    words = ("127.0.0.1", str(port), *map(str, files), "echo")
    return Probe.of(shapes=python_command("chat_template", *words, interpreter=sys.executable)).command


def test_the_program_renders_12_shapes_over_mutual_tls_and_prints_no_text(
    identity: tuple[Path, Path, Path],  # noqa: F811
) -> None:
    with serving(Server, server_context(identity, mutual=True, version=ssl.TLSVersion.TLSv1_3)) as port:
        output = sh(command(port, identity))
    text = output.stdout.split("=== sovctl begin shapes\n")[1].split("\n=== sovctl end")[0]
    found = {each.shape: each.token_ids for each in parse_rendered(text)}
    assert len(found) == 12
    assert [name for name, tokens in found.items() if tokens is None] == ["tools", "tool-result"]
    assert found["empty"] == (1,)
    assert found["umlauts"] is not None
    assert ord("ß") in found["umlauts"]
    assert {(each["path"], each["model"]) for each in Server.asked} == {("/tokenize", "echo")}
    assert "Größe" not in output.stdout


def test_the_program_names_the_error_of_a_server_that_does_not_answer(identity: tuple[Path, Path, Path]) -> None:  # noqa: F811
    assert sh(command(9, identity)).stdout.count("ConnectionRefusedError") == 12


def test_a_record_of_an_earlier_release_has_no_messages_and_the_verdict_names_the_command() -> None:
    earlier = {name: value for name, value in RECORD.to_json().items() if name != "templates"}
    record = GoldenRecord.from_json(json.loads(json.dumps(earlier)))
    assert record == RECORD
    for each, option in ((record, " --replace`"), (None, "`")):
        judgement = judge(CHECK, answer({"shapes": rendered(), "model": f"{A}  -\n"}), replace(TEMPLATE, record=each))
        assert judgement.verdict is Verdict.UNKNOWN
        assert f"`sovctl golden record{option}" in judgement.reason


def test_a_record_with_messages_survives_json() -> None:
    record = replace(RECORD, templates=SHAPES)
    assert GoldenRecord.from_json(json.loads(json.dumps(record.to_json()))) == record


def result(output: ProbeOutput) -> Result:
    target = CheckTarget(CHECK, "n1", TEMPLATE)
    judgement = judge(CHECK, output, TEMPLATE)
    return result_of(target, "x", output, judgement, started=utc_now(), ended=utc_now(), simulated=False)


def run_of(*outputs: ProbeOutput) -> RunResult:
    targets = tuple(CheckTarget(CHECK, f"n{number}", TEMPLATE) for number, _ in enumerate(outputs))
    return RunResult(targets, tuple(result(each) for each in outputs), {}, interrupted=False)


def test_recorded_are_messages_that_all_replicas_and_runs_render_alike() -> None:
    good = answer({"shapes": rendered(), "model": f"{A}  -\n"})
    double = answer({"shapes": rendered([1, 1, 5, 6]), "model": f"{A}  -\n"})
    assert agreed_templates([run_of(good, good), run_of(good)], "chat") == SHAPES
    assert agreed_templates([run_of(good)], "other") == ()
    with pytest.raises(SovctlError, match="double BOS"):
        agreed_templates([run_of(good), run_of(double)], "chat")
    with pytest.raises(SovctlError, match="chat"):
        agreed_templates([run_of(replace(good, exit_code=None))], "chat")


def test_pools_of_a_lab_are_asked_for_the_messages_at_burn_in_only(lab_context: CheckContext) -> None:
    everything = [each for each in targets_of(lab_context) if each.check.id == CHECK.id]
    assert everything
    routes = [each.expectation.environment[VARIABLE].split(",") for each in everything]  # type: ignore[attr-defined]
    assert all("/tokenize" in each for each in routes)
    assert CHECK.level is Level.BURN_IN


@given(st.lists(st.integers(0, 9)), st.lists(st.integers(0, 9)))
def test_shapes_differ_exactly_if_their_tokens_do(old: list[int], new: list[int]) -> None:
    found = list(template_differences([Rendered("user", tuple(old))], [Rendered("user", tuple(new))]))
    assert bool(found) == (old != new)


@given(st.text(max_size=200))
def test_any_text_is_read_without_a_crash(text: str) -> None:
    try:
        parse_rendered(text)
    except Unreadable:
        return
