"""The site's own questions: read, asked over TLS, judged, compared, recorded without text, and continued."""

from __future__ import annotations

import http.server
import json
import ssl
from dataclasses import replace
from pathlib import Path
from typing import Any, ClassVar

import pytest
from hypothesis import given
from hypothesis import strategies as st
from strategies import EXAMPLES
from test_check_probes import identity, serving  # noqa: F401 - a fixture

from sovctl.engine.evaluation import records
from sovctl.engine.evaluation.ask import Gateway
from sovctl.engine.evaluation.marks import Evaluation, binomial_error, obstacle
from sovctl.engine.evaluation.questions import Question, is_correct, read_questions
from sovctl.engine.evaluation.run import evaluate
from sovctl.engine.facts.unreadable import Unreadable
from sovctl.engine.site.site import Site
from sovctl.support.errors import InputError, NodeUnreachable, SovctlError, SpecError

RESULT = Evaluation("chat", "echo", "a" * 64, "0.32.0", "b" * 64, 100, tuple(map(str, range(10))), 0.8, 9, 1.0, "2026")


def questions(count: int = 50) -> list[dict[str, Any]]:
    return [{"id": f"q{n}", "question": f"Say {n}", "answer": f"Say {n}", "match": "exact"} for n in range(count)]


def written(path: Path, rows: list[Any]) -> Path:
    path.write_text("".join((each if isinstance(each, str) else json.dumps(each)) + "\n" for each in rows))
    return path


def test_all_faulty_lines_are_named_together_without_their_text(tmp_path: Path) -> None:
    rows = [
        *questions(),
        questions()[0],
        "{secret",
        {"id": "x", "question": "secret?", "answer": [], "match": "exact"},
        {"id": "y", "question": "secret?", "answer": "(", "match": "regex"},
        {"id": "z", "question": "secret?", "answer": "secret", "match": "choice"},
        {"id": "v", "question": "secret?", "answer": "secret", "match": "secret"},
    ]
    with pytest.raises(SpecError) as caught:
        read_questions(written(tmp_path / "q", rows))
    assert [each.where.rpartition(" ")[2] for each in caught.value.problems] == ["51", "52", "53", "54", "55", "56"]
    assert "secret" not in "".join(each.message for each in caught.value.problems)


@pytest.mark.parametrize("count", [0, 49, 201])
def test_too_few_and_too_many_questions_are_refused(count: int, tmp_path: Path) -> None:
    with pytest.raises(SpecError) as caught:
        read_questions(written(tmp_path / "q", questions(count)))
    assert f"got {count}" in caught.value.problems[0].message


def test_a_missing_file_is_a_bad_input(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="cannot read"):
        read_questions(tmp_path / "none")


@pytest.mark.parametrize(
    ("match", "answers", "given_answer", "correct"),
    [
        ("exact", ("Zürich",), " zürich. ", True),
        ("exact", ("Zürich",), "in Zürich", False),
        ("contains", ("12 450",), "It is 12  450 in total", True),
        ("contains", ("12 450",), "It is 12450", False),
        ("regex", (r"\b42\b",), "the sum is 42.", True),
        ("regex", (r"\b42\b",), "the sum is 420", False),
        ("choice", ("B",), "(b) because A is wrong", True),
        ("choice", ("B",), "A, not B", False),
        ("choice", ("B",), "Because", False),
    ],
)
def test_an_answer_is_judged_by_the_rule_of_its_question(
    match: str, answers: tuple[str, ...], given_answer: str, correct: bool
) -> None:
    assert is_correct(Question("q", "?", answers, match), given_answer) is correct


def test_an_evaluation_passes_at_its_mark_and_not_below_the_baseline_by_more_than_the_error() -> None:
    assert binomial_error(0.9, 100) == pytest.approx(0.06, abs=0.005)
    assert obstacle(replace(RESULT, pass_mark=0.9), baseline=None) is None
    assert "at least 91.0%" in str(obstacle(replace(RESULT, pass_mark=0.91), baseline=None))
    best = replace(RESULT, wrong=("a", "b", "c"))
    assert "baseline 97.0%" in str(obstacle(RESULT, baseline=best))
    assert obstacle(RESULT, baseline=replace(best, wrong=("x",) * 8)) is None
    assert obstacle(RESULT, baseline=replace(best, questions_sha256="c" * 64)) is None


@given(st.integers(1, 200), st.floats(0, 1))
def test_the_error_is_a_part_of_the_whole(total: int, score: float) -> None:
    assert 0 < binomial_error(score, total) < 0.5


def test_a_result_survives_json_and_others_are_refused() -> None:
    value = json.loads(json.dumps(RESULT.to_json()))
    assert Evaluation.from_json(value) == RESULT
    for change in ({"total": 0}, {"total": 9}, {"pass_mark": 0}, {"pool": ""}, {"more": 1}):
        with pytest.raises(Unreadable):
            Evaluation.from_json({**value, **change})


class Server(http.server.BaseHTTPRequestHandler):
    """Repeats the question, in the form of the gateway; refuses another key; stops after some answers."""

    left: ClassVar[int] = 10**6
    wrong: ClassVar[frozenset[str]] = frozenset()
    asked: ClassVar[list[dict[str, Any]]] = []

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["content-length"])))
        self.asked.append(body)
        type(self).left -= 1
        status = 401 if self.headers["authorization"] != "Bearer k-1" else 200 if self.left >= 0 else 503
        text = body["messages"][0]["content"]
        message = {"role": "assistant", "content": "no" if text in self.wrong else text}
        data = json.dumps({"choices": [{"message": message}], "usage": {"completion_tokens": 3}}).encode()
        self.send_response(status)
        self.send_header("content-length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the base class's name
        pass


def context_of(files: tuple[Path, Path, Path]) -> ssl.SSLContext:
    found = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    found.load_cert_chain(files[1], files[2])
    return found


def test_an_interrupted_evaluation_is_continued_and_recorded_without_text(
    identity: tuple[Path, Path, Path],  # noqa: F811
    tmp_path: Path,
) -> None:
    site = Site.open(EXAMPLES / "lab" / "site.yaml", state=tmp_path / "state", touches_nodes=False)
    pool = "chat"
    authority = site.state.prepare().root / "pki" / "ca.pem"
    authority.parent.mkdir(parents=True)
    authority.write_bytes(identity[0].read_bytes())
    key = tmp_path / "key"
    key.write_text("k-1\n")
    file = written(tmp_path / "q", questions(60))
    given_options: dict[str, Any] = {"pool": pool, "questions": file, "key_file": key, "operator": "op"}
    given_options |= {"pass_mark": 0.9, "max_tokens": 8}
    with serving(Server, context_of(identity)) as port:
        given_options["address"] = f"127.0.0.1:{port}"
        Server.left, Server.wrong, Server.asked = 20, frozenset(), []
        with pytest.raises(SovctlError, match="got 503"):
            evaluate(site, **given_options)
        Server.left = 10**6
        found = evaluate(site, **given_options)
        assert (found.resumed, len(Server.asked), found.obstacle) == (20, 61, None)
        assert {(each["temperature"], each["max_tokens"]) for each in Server.asked} == {(0, 8)}
        assert (found.evaluation.correct, found.evaluation.tokens, found.baseline) == (60, 180, None)
        Server.wrong = frozenset(f"Say {n}" for n in range(5))
        second = evaluate(site, **{**given_options, "pass_mark": 0.8})
        assert second.resumed == 0
        assert second.evaluation.wrong == ("q0", "q1", "q2", "q3", "q4")
        assert second.baseline == found.evaluation
        assert "baseline 100.0%" in str(second.obstacle)
        key.write_text("other")
        with pytest.raises(SovctlError, match="got 401"):
            evaluate(site, **given_options)
    assert "Say" not in "".join(each.read_text() for each in (site.state.root / records.FOLDER).rglob("*.json"))
    assert not (found.file.parent / "partial.json").exists()
    with pytest.raises(InputError, match="expected one of the pools"):
        evaluate(site, **{**given_options, "pool": "none"})


def test_a_gateway_that_does_not_answer_is_unreachable(identity: tuple[Path, Path, Path], tmp_path: Path) -> None:  # noqa: F811
    key = tmp_path / "key"
    key.write_text("secret-key")
    gateway = Gateway("127.0.0.1", 9, identity[0], key, "echo")
    with pytest.raises(NodeUnreachable, match="ConnectionRefusedError"):
        gateway.answer("?", max_tokens=1)
    assert "secret-key" not in repr(gateway)
