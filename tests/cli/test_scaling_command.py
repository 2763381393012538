"""`sovctl scaling`: simulation, standing plans of two persons, dry run over recorded metrics, and bad inputs."""

from __future__ import annotations

import json
import os
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
import warm_processes
from scaled_sites import write_site

from sovctl.compliance.signing import load_or_create
from sovctl.engine.scaling.loads import Load, Sample
from sovctl.engine.scaling.positions import ReplicaId
from sovctl.engine.standing_plan.metrics import encode_line
from sovctl.support.errors import ExitCode

LAST_DAY = f"{datetime.now(UTC) + timedelta(days=30):%Y-%m-%d}"


def sovctl(*arguments: str | Path, cwd: Path) -> tuple[int, str, str]:
    done = warm_processes.sovctl("scaling", *arguments, cwd=cwd, env=os.environ)
    return done.returncode, done.stdout, done.stderr


@pytest.fixture
def site(tmp_path: Path) -> Path:
    officer = load_or_create(tmp_path / "officer.key").public.vkey("officer.example")
    write_site(tmp_path, approvers=[officer], interval_s=60, window_s=120)
    return tmp_path


def requested(site: Path) -> tuple[int, str, str]:
    return sovctl("plan", "--expires", LAST_DAY, "--key", "anna.key", "--name", "anna.example", cwd=site)


def test_simulate_prints_one_row_for_each_policy_and_pool(site: Path) -> None:
    code, out, err = sovctl("simulate", "--load", "0.01", cwd=site)
    assert (code, len(out.splitlines())) == (0, 1 + 5 * 3)
    assert "nothing was measured" in err
    code, out, _ = sovctl("simulate", "--load", "0.01", "--shape", "chat=coding", "--json", cwd=site)
    found = json.loads(out)
    assert (code, found["shapes"]["chat"]) == (0, "coding")
    assert {each["policy"] for each in found["rows"]} >= {"static", "reactive, stopped", "sovctl, asleep"}


def test_two_persons_put_a_plan_in_effect_and_one_revokes_it(site: Path) -> None:
    assert sovctl("status", cwd=site)[0] == ExitCode.BAD_INPUT
    code, out, _ = requested(site)
    assert (code, "chat: 2 to 10 replicas, 8 deployed" in out) == (0, True)
    code, out, _ = sovctl("status", cwd=site)
    assert (code, "the plan is not approved" in out) == (ExitCode.STALE, True)
    code, _, err = sovctl("approve", "--key", "anna.key", cwd=site)
    assert (code, "not in scaling.approvers" in err) == (ExitCode.BAD_INPUT, True)
    code, out, _ = sovctl("approve", "--key", "officer.key", cwd=site)
    assert (code, "approved by officer.example" in out) == (0, True)
    code, out, _ = sovctl("status", "--json", cwd=site)
    found = json.loads(out)
    assert (code, found["in_effect"], found["phases"]["chat/7"], found["phases"]["chat/8"]) == (
        0,
        True,
        "awake",
        "idle",
    )
    assert sovctl("revoke", "--reason", "maintenance", cwd=site)[0] == 0
    assert sovctl("status", cwd=site)[0] == ExitCode.BAD_INPUT


def test_a_dry_run_prints_the_moves_of_a_recording(site: Path) -> None:
    serving = [ReplicaId("chat", index) for index in range(8)] + [ReplicaId("code", index) for index in range(4)]
    light, busy = Load(0.02, 0, 0), Load(0.9, 9, 8)
    with (site / "day.jsonl").open("w") as file:
        for number in range(30):
            code_load = busy if number >= 10 else Load(0.5, 0, 4)
            loads = {each: light if each.pool == "chat" else code_load for each in serving}
            file.write(encode_line(serving, Sample(1_800_000_000.0 + 60 * number, loads)))
    code, out, _ = sovctl("run", "--dry-run", "--metrics", "day.jsonl", "--json", cwd=site)
    decisions = [json.loads(line) for line in out.splitlines()]
    assert (code, len(decisions)) == (0, 30)
    moves = [move for each in decisions for move in each["moves"]]
    assert moves[0]["move"].startswith("release chat/")
    assert any("start code/4" in move["move"] and move["reason"].startswith("saturation") for move in moves)
    assert not (site / ".sovctl" / "scaling").exists()


def test_a_live_dry_run_without_prometheus_moves_nothing(site: Path) -> None:
    text = (site / "site.yaml").read_text().replace("http://10.20.0.9:9090", "http://127.0.0.1:9")
    (site / "site.yaml").write_text(text)
    requested(site)
    assert sovctl("run", "--dry-run", "--decisions", "1", cwd=site)[0] == ExitCode.STALE
    sovctl("approve", "--key", "officer.key", cwd=site)
    code, out, _ = sovctl("run", "--dry-run", "--decisions", "1", cwd=site)
    assert code == 0
    assert "ALERT metrics: Prometheus: no answer" in out


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("simulate", "--shape", "chat"), "expected POOL=SHAPE"),
        (("simulate", "--shape", "chat=voice"), "expected one of conversation, coding"),
        (("simulate", "--shape", "voice=coding"), "expected one of the pools"),
        (("plan", "--expires", "soon", "--key", "a.key", "--name", "a"), "expected a day"),
        (("plan", "--expires", "2001-01-01", "--key", "a.key", "--name", "a"), "expected a day from"),
        (("plan", "--expires", "2001-01-01", "--key", "a.key", "--name", "a b"), "expected a key name"),
        (("approve", "--key", "absent.key"), "absent.key"),
        (("run", "--metrics", "day.jsonl"), "recorded metrics move no replicas"),
        (("run", "--dry-run", "--metrics", "absent.jsonl"), "unreadable recording"),
    ],
)
def test_bad_input_changes_nothing(site: Path, arguments: tuple[str, ...], message: str) -> None:
    code, out, err = sovctl(*arguments, cwd=site)
    assert (code, out) == (ExitCode.BAD_INPUT, "")
    assert message in err
    assert not (site / ".sovctl" / "scaling").exists()


def test_a_site_without_the_section_is_bad_input(site: Path) -> None:
    path = site / "site.yaml"
    text = path.read_text()
    begin = text.index("scaling:\n  approvers")
    path.write_text(text[:begin] + text[text.index("site:\n", begin) :])
    for arguments in (("simulate",), ("status",), ("run", "--dry-run")):
        code, _, err = sovctl(*arguments, cwd=site)
        assert (code, "no section `scaling`" in err) == (ExitCode.BAD_INPUT, True)
