"""Log probabilities of fixed tokens: requested over mutual TLS, recorded, compared, and required by `apply`."""

from __future__ import annotations

import http.server
import json
import ssl
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any, ClassVar

import pytest
from check_cases.case import A, B, answer
from check_cases.pool import BINDING, FINGERPRINT, FORCED, GPU, RECORD, SHAPES, fingerprint
from hypothesis import given
from hypothesis import strategies as st
from test_check_probes import identity, server_context, serving, sh  # noqa: F401 - a fixture

from bench.corrupted.folders import CORRUPTIONS, make
from sovctl.compliance.verdict import Verdict
from sovctl.engine.catalog.benchmarks import load_benchmarks
from sovctl.engine.checks.model.check import judge
from sovctl.engine.checks.model.probe import Probe, ProbeOutput
from sovctl.engine.checks.model.result import result_of, utc_now
from sovctl.engine.checks.model.target import CheckTarget
from sovctl.engine.checks.probes.commands import python_command
from sovctl.engine.checks.registry import BY_ID
from sovctl.engine.checks.runner.gate import CHECKS_OF, is_recorded
from sovctl.engine.checks.runner.golden import agreed_fingerprint
from sovctl.engine.checks.runner.run import RunResult
from sovctl.engine.facts.benchmarks.fingerprint import ForcedTokens, distance, other_tokens, parse_fingerprint
from sovctl.engine.facts.benchmarks.golden_tokens import GoldenRecord
from sovctl.engine.facts.unreadable import Unreadable
from sovctl.support.errors import SovctlError
from sovctl.support.package_files import package_folder

CHECK = BY_ID["pool.logprob-fingerprint"]
LIMIT = 40


class Server(http.server.BaseHTTPRequestHandler):
    """Answers in the form of vLLM 0.32: a token is a character, and its log probability its negative number."""

    asked: ClassVar[list[list[int]]] = []

    def do_GET(self) -> None:
        self.reply({"version": "0.32.0"} if self.path == "/version" else {"data": [{"max_model_len": LIMIT}]})

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["content-length"])))
        if self.path == "/tokenize":
            self.reply({"tokens": [*([1] if body["add_special_tokens"] else []), *map(ord, body["prompt"])]})
            return
        self.asked.append(body["prompt"])
        rows = [None, *({str(each): {"logprob": -float(each), "rank": 1}} for each in body["prompt"][1:])]
        self.reply({"choices": [{"text": "secret", "prompt_logprobs": rows}]})

    def reply(self, document: dict[str, Any]) -> None:
        data = json.dumps(document).encode()
        self.send_response(200)
        self.send_header("content-length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the base class's name
        pass


def command(port: int, files: tuple[Path, Path, Path]) -> str:
    words = ("127.0.0.1", str(port), *map(str, files), "echo")
    return Probe.of(answers=python_command("logprob_fingerprint", *words, interpreter=sys.executable)).command


def test_the_program_asks_for_16_fixed_tokens_after_each_of_32_prompts_and_prints_no_text(
    identity: tuple[Path, Path, Path],  # noqa: F811
) -> None:
    with serving(Server, server_context(identity, mutual=True, version=ssl.TLSVersion.TLSv1_3)) as port:
        output = sh(command(port, identity))
    version, found = parse_fingerprint(
        output.stdout.split("=== sovctl begin answers\n")[1].split("\n=== sovctl end")[0]
    )
    assert (version, len(found), {len(each.logprobs) for each in found}) == ("0.32.0", 32, {16})
    assert found[0].logprobs == tuple(-float(ord(sign)) for sign in " The answer depends"[:16])
    assert max(map(len, Server.asked)) == LIMIT - 1
    assert len({each.ids_sha256 for each in found}) == 32
    assert "secret" not in output.stdout
    assert "answer" not in output.stdout.replace("answers", "")


def test_the_program_names_the_error_of_a_server_that_does_not_answer(identity: tuple[Path, Path, Path]) -> None:  # noqa: F811
    assert sh(command(9, identity)).stdout.count("ConnectionRefusedError") == 2


def output(text: str, model: str = A) -> ProbeOutput:
    return answer({"answers": text, "model": f"{model}  -\n", "gpus": f"{GPU}\n"})


def test_a_record_of_an_earlier_release_is_replaced_and_survives_json() -> None:
    for record, option in ((RECORD, " --replace`"), (None, "`")):
        judgement = judge(CHECK, output(fingerprint()), replace(FINGERPRINT, record=record))
        assert judgement.verdict is Verdict.UNKNOWN
        assert f"`sovctl golden record{option}" in judgement.reason
    record = replace(RECORD, fingerprint=FORCED)
    assert GoldenRecord.from_json(json.loads(json.dumps(record.to_json()))) == record


def test_a_record_of_another_engine_is_compared_within_the_wide_band() -> None:
    moved = fingerprint("0.31.0", logprobs=[-2.0, -0.37])
    assert judge(CHECK, output(moved), FINGERPRINT).verdict is Verdict.PASS
    assert judge(CHECK, output(moved.replace("0.31.0", "0.32.0")), FINGERPRINT).verdict is Verdict.FAIL


def run_of(*texts: str) -> RunResult:
    targets = tuple(CheckTarget(CHECK, f"n{number}", FINGERPRINT) for number, _ in enumerate(texts))
    found = []
    for target, text in zip(targets, texts, strict=True):
        judgement = judge(CHECK, output(text), FINGERPRINT)
        times = {"started": utc_now(), "ended": utc_now()}
        found.append(result_of(target, "x", output(text), judgement, **times, simulated=False))
    return RunResult(targets, tuple(found), {}, interrupted=False)


def test_recorded_are_log_probabilities_that_all_replicas_and_runs_share() -> None:
    assert agreed_fingerprint([run_of(fingerprint(), fingerprint()), run_of(fingerprint())], "chat") == FORCED
    assert agreed_fingerprint([run_of(fingerprint())], "other") == ()
    with pytest.raises(SovctlError, match="two answers of pool chat differ"):
        agreed_fingerprint([run_of(fingerprint(), fingerprint(logprobs=[-2.0, -0.5]))], "chat")
    with pytest.raises(SovctlError, match="http 404"):
        agreed_fingerprint([run_of(fingerprint(error="ValueError: http 404"))], "chat")


def test_a_pool_is_admitted_by_a_record_of_the_planned_model_only() -> None:
    complete = replace(RECORD, fingerprint=FORCED, templates=SHAPES)
    assert CHECK.id in CHECKS_OF["model"]
    assert is_recorded(replace(FINGERPRINT, record=complete), {"echo": BINDING.model_sha256})
    assert not is_recorded(replace(FINGERPRINT, record=complete), {"echo": B})
    assert not is_recorded(replace(FINGERPRINT, record=RECORD), {"echo": BINDING.model_sha256})
    assert not is_recorded(replace(FINGERPRINT, record=None), {"echo": BINDING.model_sha256})


def test_every_band_has_source_and_unit_and_the_wide_one_is_wider() -> None:
    for processor in ("cpu", "gpu"):
        same, other = (load_benchmarks().fingerprint_band(processor, same_build=each) for each in (True, False))
        assert same is not None
        assert other is not None
        assert float(str(same.mean.value)) < float(str(other.mean.value))
        assert {each.unit for each in (same.mean, same.largest, other.mean, other.largest)} == {"nats"}


@given(st.lists(st.floats(-20, 0), min_size=1, max_size=4), st.integers(0, 3), st.floats(0.01, 9))
def test_the_distance_is_that_of_the_token_that_moved_most(values: list[float], at: int, by: float) -> None:
    moved = list(values)
    moved[at % len(values)] -= by
    found = distance([ForcedTokens(A, tuple(values))], [ForcedTokens(A, tuple(moved))])
    assert found.largest == pytest.approx(by)
    assert found.mean == pytest.approx(by / len(values))


def test_fingerprints_of_other_tokens_are_not_compared() -> None:
    assert other_tokens(FORCED, (FORCED[1], FORCED[1])) == [0]
    assert other_tokens(FORCED, FORCED[:1]) == [0, 1]
    with pytest.raises(ValueError, match="same tokens"):
        distance(FORCED, FORCED[:1])


@given(st.text(max_size=200))
def test_any_text_is_read_without_a_crash(text: str) -> None:
    with pytest.raises(Unreadable):
        parse_fingerprint(text)


@pytest.mark.parametrize("name", sorted(CORRUPTIONS))
def test_a_corruption_changes_one_file_of_the_folder_and_not_its_size(name: str, tmp_path: Path) -> None:
    source = package_folder("engine/lab/echo_model/model")
    make(name, source, tmp_path / name)
    changed = [
        each.name
        for each in sorted(source.iterdir())
        if each.read_bytes() != (tmp_path / name / each.name).read_bytes()
    ]
    assert changed == ["chat_template.jinja" if name == "template" else "model.safetensors"]
    if name != "template":
        assert (source / changed[0]).stat().st_size == (tmp_path / name / changed[0]).stat().st_size
