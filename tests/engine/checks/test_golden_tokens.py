"""Recorded tokens: recorded if all answers agree, stored with a ledger record, void after a change."""

from __future__ import annotations

import http.server
import json
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any, ClassVar

import pytest
from check_cases.case import answer
from check_cases.pool import BINDING, COMPLETION, GOLDEN, GPU, RECORD, A, answers
from hypothesis import given
from hypothesis import strategies as st
from test_check_probes import identity, server_context, serving, sh  # noqa: F401 - a fixture

from sovctl.compliance.ledger.reader import LedgerReader
from sovctl.compliance.verdict import Verdict
from sovctl.engine.checks.model.check import judge
from sovctl.engine.checks.model.probe import Probe
from sovctl.engine.checks.model.result import result_of, utc_now
from sovctl.engine.checks.model.target import CheckTarget
from sovctl.engine.checks.probes.commands import python_command
from sovctl.engine.checks.registry import BY_ID
from sovctl.engine.checks.runner.golden import Answer, agreed, answer_of
from sovctl.engine.facts.benchmarks.golden_tokens import GoldenRecord, differences, parse_served
from sovctl.engine.facts.unreadable import Unreadable
from sovctl.engine.site import golden_tokens as store
from sovctl.support.errors import InputError, SovctlError

CHECK = BY_ID["pool.golden-tokens"]
GOOD = {"answers": answers(), "model": f"{A}  -\n", "gpus": f"{GPU}\n"}
ANSWER = Answer("n1/chat", BINDING, (COMPLETION,), 0.15)


def test_without_a_record_the_verdict_is_unknown_and_names_the_command() -> None:
    judgement = judge(CHECK, answer(GOOD), replace(GOLDEN, record=None))
    assert judgement.verdict is Verdict.UNKNOWN
    assert "sovctl golden record" in judgement.reason


def test_an_unrecorded_pool_without_an_answer_is_unknown_for_the_answer() -> None:
    judgement = judge(CHECK, answer({**GOOD, "answers": (1, "")}), replace(GOLDEN, record=None))
    assert judgement.verdict is Verdict.UNKNOWN
    assert "exit code 0 of answers" in judgement.reason


def test_a_record_is_stored_with_a_ledger_record_and_replaced_only_on_request(tmp_path: Path) -> None:
    (tmp_path / "keys").mkdir()
    store.save(tmp_path, "bank", RECORD, operator="ops@host", replace=False)
    assert store.load_all(tmp_path, ["chat", "other"]) == {"chat": RECORD}
    with pytest.raises(InputError, match="has recorded tokens"):
        store.save(tmp_path, "bank", RECORD, operator="ops@host", replace=False)
    store.save(tmp_path, "bank", RECORD, operator="ops@host", replace=True)
    records = [entry.record for entry in LedgerReader(tmp_path / "ledger").entries()]
    assert [record["replaced"] for record in records] == [False, True]
    assert store.file_of(tmp_path, "chat").stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize("content", ["", "{}", "[]", '{"pool": "chat"}', "null", "[" * 5000])
def test_a_damaged_record_counts_as_absent(tmp_path: Path, content: str) -> None:
    file = store.file_of(tmp_path, "chat")
    file.parent.mkdir()
    file.write_text(content)
    assert store.load_all(tmp_path, ["chat"]) == {}


def test_the_record_of_another_pool_counts_as_absent(tmp_path: Path) -> None:
    file = store.file_of(tmp_path, "other")
    file.parent.mkdir()
    file.write_text(json.dumps(RECORD.to_json()))
    assert store.load_all(tmp_path, ["other"]) == {}


def test_a_record_survives_json() -> None:
    assert GoldenRecord.from_json(json.loads(json.dumps(RECORD.to_json()))) == RECORD


def test_answers_of_replicas_and_runs_must_agree() -> None:
    other = replace(COMPLETION, token_ids=(11, 99, 13, 14))
    tie = replace(COMPLETION, token_ids=(11, 12, 13, 99))
    assert agreed("chat", []) is None
    assert agreed("chat", [ANSWER, replace(ANSWER, completions=(tie,))]) == ANSWER
    with pytest.raises(SovctlError, match="token 12 at 1"):
        agreed("chat", [ANSWER, ANSWER, replace(ANSWER, name="n2/chat.1", completions=(other,))])
    with pytest.raises(SovctlError, match="gpu"):
        agreed("chat", [ANSWER, replace(ANSWER, binding=replace(BINDING, gpu="NVIDIA H200"))])


def test_the_answer_of_a_result_is_read_again_and_a_failed_probe_is_an_error() -> None:
    target = CheckTarget(CHECK, "n1", GOLDEN)
    output = answer(GOOD)
    result = result_of(
        target, "x", output, judge(CHECK, output, GOLDEN), started=utc_now(), ended=utc_now(), simulated=False
    )
    found = answer_of("n1/chat", result, GOLDEN)
    assert (found.binding, found.tolerance) == (BINDING, 0.15)
    failed = replace(output, exit_code=None)
    lost = result_of(target, "x", failed, judge(CHECK, failed, GOLDEN), started="", ended="", simulated=False)
    with pytest.raises(SovctlError, match="n1/chat"):
        answer_of("n1/chat", lost, GOLDEN)


@given(st.integers(0, 3), st.floats(0.16, 5), st.booleans())
def test_any_changed_log_probability_beyond_the_tolerance_is_a_difference(place: int, by: float, up: bool) -> None:
    changed = list(COMPLETION.logprobs)
    changed[place] += by if up else -by
    found = list(differences((COMPLETION,), (replace(COMPLETION, logprobs=tuple(changed)),), tolerance=0.15))
    assert [each.is_near_tie for each in found] == [False]


@given(st.text(max_size=200))
def test_any_text_is_read_without_a_crash(text: str) -> None:
    try:
        parse_served(text)
    except Unreadable:
        return


class Server(http.server.BaseHTTPRequestHandler):
    """Completes every prompt with the same tokens, in the form of vLLM 0.32."""

    asked: ClassVar[list[dict[str, Any]]] = []

    def do_GET(self) -> None:
        self.reply({"version": "0.32.0"})

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["content-length"])))
        self.asked.append(body)
        top = [{" a": -0.1, " b": -3.1}, {" c": -0.7, " d": -0.71}]
        choice = {
            "text": " a c",
            "prompt_token_ids": [1, 2],
            "token_ids": [5, 6],
            "logprobs": {"tokens": [" a", " c"], "token_logprobs": [-0.1, -0.7], "top_logprobs": top},
        }
        self.reply({"choices": [choice]})

    def reply(self, document: dict[str, Any]) -> None:
        data = json.dumps(document).encode()
        self.send_response(200)
        self.send_header("content-length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the base class's name
        pass


def test_the_program_asks_for_greedy_tokens_over_mutual_tls_and_prints_no_text(
    identity: tuple[Path, Path, Path],  # noqa: F811
) -> None:
    import ssl

    with serving(Server, server_context(identity, mutual=True, version=ssl.TLSVersion.TLSv1_3)) as port:
        words = ("127.0.0.1", str(port), *map(str, identity), "echo")
        command = Probe.of(answers=python_command("golden_tokens", *words, interpreter=sys.executable)).command
        output = sh(command)
    text = output.stdout.split("=== sovctl begin answers\n")[1].split("\n=== sovctl end")[0]
    served = parse_served(text)
    assert (served.version, len(served.completions)) == ("0.32.0", 4)
    assert served.completions[0].margins == pytest.approx((3.0, 0.01))
    assert " a c" not in output.stdout
    assert {(body["temperature"], body["seed"], body["model"]) for body in Server.asked} == {(0, 20261128, "echo")}


def test_the_program_names_the_error_of_a_server_that_does_not_answer(identity: tuple[Path, Path, Path]) -> None:  # noqa: F811
    words = ("127.0.0.1", "9", *map(str, identity), "echo")
    output = sh(Probe.of(answers=python_command("golden_tokens", *words, interpreter=sys.executable)).command)
    assert output.stdout.count("ConnectionRefusedError") == 5
