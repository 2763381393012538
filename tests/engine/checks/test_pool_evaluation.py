"""Admission of a pool by the site's questions: asked on its node before a gateway routes to it, judged by the check."""

from __future__ import annotations

import http.server
import json
import ssl
import subprocess
import sys
from dataclasses import replace
from datetime import date
from pathlib import Path
from typing import Any, ClassVar

import pytest
from check_cases.case import A, B, answer
from check_cases.pool import EVALUATED, MARK, POOL, pool_api
from hypothesis import given
from hypothesis import strategies as st
from strategies import EXAMPLES
from test_check_probes import identity, server_context, serving  # noqa: F401 - a fixture

from sovctl.compliance.verdict import Verdict
from sovctl.engine.checks.model.check import Judgement, judge
from sovctl.engine.checks.model.check_context import PoolEvaluations
from sovctl.engine.checks.model.probe import ProbeOutput
from sovctl.engine.checks.model.target import CheckTarget
from sovctl.engine.checks.registry import BY_ID
from sovctl.engine.checks.runner.build_context import build_context
from sovctl.engine.checks.runner.gate import CHECKS_OF
from sovctl.engine.checks.runner.pool_replica import NodeReplica, connected
from sovctl.engine.checks.runner.targets import targets_of
from sovctl.engine.evaluation import records
from sovctl.engine.evaluation.marks import Evaluation, binomial_error, shortfall
from sovctl.engine.evaluation.run import evaluate, settings_of
from sovctl.engine.site.site import Site
from sovctl.support.errors import InputError, NodeUnreachable, SovctlError, SpecError

CHECK = BY_ID["pool.evaluation"]
DAY = date(2026, 11, 29)
RUNS = answer({"model": f"{A}  -\n", "api": pool_api()})
EVALUATION = "\n    evaluation: {questions_file: questions.jsonl, pass_mark: 0.8, max_tokens: 8}\n    port: 8000\n"


def judged(*marks: Evaluation, questions: str | None = B, pass_mark: float = 0.9) -> Judgement:
    expected = replace(EVALUATED, pass_mark=pass_mark, evaluations=PoolEvaluations(questions, marks))
    return judge(CHECK, RUNS, expected)


def test_only_the_newest_evaluation_on_a_node_by_these_questions_counts() -> None:
    assert judged(MARK).verdict is Verdict.PASS
    assert judged().verdict is Verdict.UNKNOWN
    assert "sovctl evaluate --pool chat --on-node" in judged().reason
    through = judged(replace(MARK, asked="gateway"))
    assert (through.verdict, "on its node" in through.reason) == (Verdict.UNKNOWN, True)
    other = replace(MARK, questions_sha256=A, time="2026-11-30T08:00:00Z")
    others = judged(other)
    assert (others.verdict, "by questions" in others.reason) == (Verdict.UNKNOWN, True)
    assert judged(MARK, other).verdict is Verdict.PASS
    assert judged(MARK, questions=None).verdict is Verdict.UNKNOWN
    assert judged(replace(MARK, model_sha256=B), MARK).verdict is Verdict.PASS


def test_the_evaluation_of_an_earlier_model_admits_its_rollback() -> None:
    newer = replace(MARK, model_sha256=B, wrong=("x",) * 50, time="2026-11-30T08:00:00Z")
    assert judged(MARK, newer).verdict is Verdict.PASS
    assert judged(MARK, replace(MARK, wrong=("x",) * 50, time="2026-11-30T08:00:00Z")).verdict is Verdict.FAIL


def test_a_mark_below_the_pass_mark_of_the_site_or_the_baseline_fails() -> None:
    low = judged(MARK, pass_mark=0.93)
    assert (low.verdict, "at least 93.0%" in low.reason) == (Verdict.FAIL, True)
    best = replace(MARK, wrong=(), model_sha256=B, time="2026-11-01T00:00:00Z")
    fell = judged(best, replace(MARK, wrong=MARK.wrong[:1] * 10))
    assert (fell.verdict, "baseline 100.0%" in fell.reason) == (Verdict.FAIL, True)
    assert judged(replace(best, wrong=("a", "b", "c", "d")), MARK).verdict is Verdict.PASS, "within the binomial error"
    assert judged(replace(best, asked="gateway"), replace(MARK, wrong=("x",) * 10)).verdict is Verdict.PASS


@given(st.integers(0, 100), st.integers(0, 100))
def test_a_worse_mark_passes_exactly_within_the_binomial_error(one: int, other: int) -> None:
    best = replace(MARK, wrong=("x",) * one, pass_mark=0.01)
    found = replace(MARK, wrong=("x",) * other, pass_mark=0.01)
    fell = found.score < 0.01 or found.score < best.score - binomial_error(best.score, 100)
    assert (shortfall(found, baseline=best) is not None) == fell


def target(site: Site) -> CheckTarget:
    (found,) = [each for each in targets_of(build_context(site, today=DAY)) if each.check.id == CHECK.id]
    return found


def test_a_pool_without_the_field_has_no_target_and_apply_checks_one_with_it(site: Site) -> None:
    assert CHECK.id in CHECKS_OF["pool"]
    assert CHECK.id in CHECKS_OF["model"]
    assert (target(site).node, target(site).expectation.subject) == ("n1", "chat")
    file = site.folder / "site.yaml"
    file.write_text("\n".join(line for line in file.read_text().splitlines() if "questions_file" not in line))
    plain = Site.open(file, touches_nodes=False)
    assert not [each for each in targets_of(build_context(plain, today=DAY)) if each.check.id == CHECK.id]


@pytest.fixture
def site(tmp_path: Path) -> Site:
    """The lab's site.yaml with 50 questions for its pool."""
    text = (EXAMPLES / "lab" / "site.yaml").read_text()
    assert "\n    port: 8000\n" in text
    kept = [
        line for line in text.replace("\n    port: 8000\n", EVALUATION, 1).splitlines() if "cabling_file" not in line
    ]
    (tmp_path / "site.yaml").write_text("\n".join(kept) + "\n")
    rows = [{"id": f"q{n}", "question": f"Say {n}", "answer": f"Say {n}", "match": "exact"} for n in range(50)]
    (tmp_path / "questions.jsonl").write_text("".join(json.dumps(each) + "\n" for each in rows))
    found = Site.open(tmp_path / "site.yaml", touches_nodes=False)
    found.state.prepare()
    return found


class Server(http.server.BaseHTTPRequestHandler):
    """Repeats the question in the form of vLLM 0.32; other answers by question."""

    answers: ClassVar[dict[str, str]] = {}
    asked: ClassVar[list[dict[str, Any]]] = []
    status: ClassVar[int] = 200

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["content-length"])))
        self.asked.append(body | {"path": self.path})
        question = body["messages"][0]["content"]
        message = {"role": "assistant", "content": self.answers.get(question, question)}
        data = json.dumps({"choices": [{"message": message}], "usage": {"completion_tokens": 3}}).encode()
        self.send_response(self.status)
        self.send_header("content-length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the base class's name
        pass


def run_here(command: str, stdin: bytes, timeout_s: int) -> ProbeOutput:
    done = subprocess.run(["sh", "-c", command], input=stdin, capture_output=True, timeout=timeout_s, check=False)
    assert b"Say" not in command.encode(), "no log of commands contains a question"
    return ProbeOutput(done.returncode, done.stdout.decode(), done.stderr.decode())


@pytest.fixture
def tls(identity: tuple[Path, Path, Path], tmp_path: Path) -> str:  # noqa: F811
    """Folder of certificates with the names of a node."""
    for name, file in zip(("ca.pem", "node.pem", "node.key"), identity, strict=True):
        (tmp_path / name).write_bytes(file.read_bytes())
    return str(tmp_path)


def replica(port: int, tls: str) -> NodeReplica:
    return NodeReplica("n1", "127.0.0.1", port, "echo", A, "0.32.0", run_here, interpreter=sys.executable, tls=tls)


def test_a_pool_that_is_not_admitted_is_evaluated_and_then_passes(
    site: Site,
    identity: tuple[Path, Path, Path],  # noqa: F811
    tls: str,
) -> None:
    assert judge(CHECK, RUNS, target(site).expectation).verdict is Verdict.UNKNOWN
    wanted = settings_of(site, "chat", None, None, None)
    assert (wanted.pass_mark, wanted.max_tokens) == (0.8, 8)
    Server.asked, Server.answers, Server.status = [], {"Say 1": "no"}, 200
    with serving(Server, server_context(identity, mutual=True, version=ssl.TLSVersion.TLSv1_3)) as port:
        found = evaluate(
            site,
            pool="chat",
            questions=wanted.questions,
            key_file=None,
            pass_mark=wanted.pass_mark,
            max_tokens=wanted.max_tokens,
            operator="op",
            replica=replica(port, tls),
        )
    assert (found.evaluation.asked, found.evaluation.model_sha256, found.evaluation.wrong) == ("node", A, ("q1",))
    assert {(each["path"], each["model"], each["max_tokens"]) for each in Server.asked} == {
        ("/v1/chat/completions", "echo", 8)
    }
    assert records.evaluations_of(site.state.root, "chat") == [found.evaluation]
    expected = target(site).expectation
    assert judge(CHECK, RUNS, expected).verdict is Verdict.PASS
    other = answer({"model": f"{B}  -\n", "api": pool_api()})
    assert judge(CHECK, other, expected).verdict is Verdict.UNKNOWN, "the next model needs its own evaluation"
    (site.folder / "questions.jsonl").write_text("changed")
    assert "by questions" in judge(CHECK, RUNS, target(site).expectation).reason


def test_an_error_of_the_replica_has_its_status_and_no_text(
    identity: tuple[Path, Path, Path],  # noqa: F811
    tls: str,
) -> None:
    Server.status = 503
    with (
        serving(Server, server_context(identity, mutual=True, version=ssl.TLSVersion.TLSv1_3)) as port,
        pytest.raises(SovctlError, match="http 503") as caught,
    ):
        replica(port, tls).answer("Say secret", max_tokens=1)
    assert "secret" not in str(caught.value)
    with pytest.raises(SovctlError, match="ConnectionRefusedError"):
        replica(9, tls).answer("Say secret", max_tokens=1)
    lost = replace(replica(9, tls), run=lambda *_: ProbeOutput(None, "", "timeout"))
    with pytest.raises(NodeUnreachable):
        lost.answer("Say secret", max_tokens=1)
    garbled = replace(replica(9, tls), run=lambda *_: ProbeOutput(0, "secret", ""))
    with pytest.raises(SovctlError, match="another output") as caught:
        garbled.answer("?", max_tokens=1)
    assert "secret" not in str(caught.value)


def test_model_and_engine_of_the_node_are_those_of_the_site(site: Site) -> None:
    planned = site.spec.models[0].manifest_sha256

    def found(model: str = planned, version: str = "0.32.0+cpu") -> NodeReplica:
        output = answer({"model": f"{model}  -\n", "api": pool_api(version)})
        return connected(site, "chat", "n1", POOL, lambda *_: output)

    assert (found().model_sha256, found().engine_version, found().model) == (planned, "0.32.0", "echo")
    with pytest.raises(SovctlError, match="expected model") as caught:
        found(model=B)
    assert "apply site.yaml before the evaluation" in caught.value.hint
    with pytest.raises(SovctlError, match=r"got 0\.31\.0"):
        found(version="0.31.0")
    with pytest.raises(NodeUnreachable):
        connected(site, "chat", "n1", POOL, lambda *_: ProbeOutput(None, "", ""))


def test_questions_come_from_the_option_or_the_site(site: Site, tmp_path: Path) -> None:
    assert settings_of(site, "chat", tmp_path / "other", 0.5, 9).questions == tmp_path / "other"
    plain = Site.open(EXAMPLES / "lab" / "site.yaml", state=tmp_path / "s", touches_nodes=False)
    with pytest.raises(InputError, match="expected a file with questions"):
        settings_of(plain, "chat", None, None, None)
    with pytest.raises(InputError, match="expected one of the pools chat"):
        settings_of(plain, "none", None, None, None)


def test_a_pool_for_embeddings_has_no_questions(tmp_path: Path) -> None:
    text = (EXAMPLES / "bank-hybrid" / "site.yaml").read_text()
    assert "    max_model_len: 8192\n" in text
    field = "    max_model_len: 8192\n    evaluation: {questions_file: q.jsonl}\n"
    (tmp_path / "site.yaml").write_text(text.replace("    max_model_len: 8192\n", field, 1))
    with pytest.raises(SpecError) as caught:
        Site.open(tmp_path / "site.yaml", touches_nodes=False)
    assert [each.message for each in caught.value.problems] == [
        "expected a model that answers questions, got one for embedding"
    ]
