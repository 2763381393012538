"""A changed pool gets traffic only after it has answered the questions of the site: apply, evaluate, resume.

The model repeats the user's text, so a question whose answer is its own text is answered correctly.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from lab_site import LabSite

from examples import IS_COMPLETE
from sovctl.support.errors import ExitCode

pytestmark = [
    pytest.mark.lab,
    pytest.mark.skipif(not IS_COMPLETE, reason="changes the pool three times; runs with `make test-all`"),
]

COUNT = 50
CHECK = "pool.evaluation"


def questions(answer: str) -> str:
    """Return a file of questions. `answer` is a template of the number."""
    rows = [
        {"id": f"q{n}", "question": f"Account number {n}", "answer": answer.format(n), "match": "exact"}
        for n in range(COUNT)
    ]
    return "".join(f"{json.dumps(each)}\n" for each in rows)


RIGHT, WRONG = questions("Account number {}"), questions("Customer number {}")


@pytest.fixture(scope="module")
def gated(site: LabSite) -> Iterator[LabSite]:
    """Return the site, whose pool requires an evaluation; afterwards it does not."""
    file = site.folder / "questions.jsonl"
    file.write_text(RIGHT)

    def change(values: dict[str, Any]) -> None:
        (pool,) = values["pools"]
        pool |= {"max_num_seqs": 7, "evaluation": {"questions_file": file.name, "pass_mark": 0.9, "max_tokens": 64}}

    with site.edited(change):
        yield site
    site.mend()
    site.wait_for_pool()
    assert answers(site)
    file.unlink()


def answers(site: LabSite) -> bool:
    """Return whether the gateway sends a request to the pool."""
    return site.post("private", "Account number 1")[0] == 200


def verdict(site: LabSite, check: str, *options: str) -> tuple[str, str]:
    """Return verdict and reason of a check of the pool."""
    report = site.run_json("verify", str(site.file), "--check", check, *options, accept=(ExitCode.OK, ExitCode.FAILURE))
    (found,) = [each for each in report["results"] if each["target"].startswith("n1")]
    return found["verdict"], found["reason"]


def apply(site: LabSite, *options: str) -> int:
    """Apply the saved plan; return the exit code."""
    return site.run("apply", str(site.file), "--yes", *options).returncode


def evaluate(site: LabSite) -> int:
    """Ask the questions on the node; return the exit code."""
    return site.run("evaluate", str(site.file), "--pool", "chat", "--on-node").returncode


def test_without_an_evaluation_apply_ends_and_the_pool_gets_no_request(gated: LabSite) -> None:
    assert gated.changes()
    assert apply(gated) == ExitCode.FAILURE
    assert verdict(gated, CHECK)[0] == "UNKNOWN"
    assert not answers(gated)
    assert apply(gated, "--resume") == ExitCode.FAILURE
    assert not answers(gated)


def test_after_the_evaluation_resume_gives_it_traffic(gated: LabSite) -> None:
    assert evaluate(gated) == ExitCode.OK
    assert not answers(gated)
    assert apply(gated, "--resume") == ExitCode.OK
    assert answers(gated)
    assert verdict(gated, CHECK)[0] == "PASS"
    assert gated.changes() == {}


def test_wrong_answers_keep_the_next_change_without_traffic(gated: LabSite) -> None:
    def change(values: dict[str, Any]) -> None:
        values["pools"][0]["max_num_seqs"] = 6

    file = gated.folder / "questions.jsonl"
    with gated.edited(change):
        file.write_text(WRONG)
        assert gated.changes()
        assert apply(gated) == ExitCode.FAILURE
        assert evaluate(gated) == ExitCode.FAILURE
        assert apply(gated, "--resume") == ExitCode.FAILURE
        found, reason = verdict(gated, CHECK)
        assert found == "FAIL", reason
        assert not answers(gated)
        file.write_text(RIGHT)
        assert apply(gated, "--rollback") == ExitCode.OK
    assert answers(gated)
    assert gated.changes() == {}


def test_no_question_is_kept(gated: LabSite) -> None:
    kept = [each for each in Path(gated.state).rglob("*") if each.is_file()]
    assert [each for each in kept if "evaluations" in each.parts]
    assert not [each for each in kept if b"Account number" in each.read_bytes()]


def test_tools_are_called_by_their_schemas(gated: LabSite) -> None:
    found, reason = verdict(gated, "pool.tool-calls", "--level", "burn-in")
    assert found == "PASS", reason
