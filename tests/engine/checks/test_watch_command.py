"""`sovctl verify --watch` over nodes that do not answer: runs repeat, and store no evidence."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from sovctl.cli.commands.verify_watch import watch
from sovctl.engine.site.state_folder import SiteState
from sovctl.support.errors import ExitCode


def test_runs_repeat_with_pauses_and_store_no_evidence(quiet_site: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pauses: list[float] = []
    code = watch(
        quiet_site,
        state=None,
        nodes=["a1"],
        checks=["clock.*"],
        jobs=1,
        every_s=3600,
        as_json=True,
        rounds=2,
        pause=pauses.append,
    )
    assert code == ExitCode.FAILURE
    rows = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [row["changes"] for row in rows] == [[], []]
    assert all(row["counts"] == {"UNKNOWN": len(row["blocking"])} for row in rows)
    assert len(pauses) == 1
    assert 3000 < pauses[0] <= 3600
    assert not (SiteState.of_site(quiet_site, None).root / "evidence").exists()


def test_a_run_waits_for_another_sovctl_and_goes_on(quiet_site: Path, capsys: pytest.CaptureFixture[str]) -> None:
    state = SiteState.of_site(quiet_site, None)
    with state.exclusive("apply"):
        code = watch(
            quiet_site,
            state=None,
            nodes=["a1"],
            checks=["clock.*"],
            jobs=1,
            every_s=1,
            as_json=False,
            rounds=1,
            pause=lambda _: None,
        )
    assert code == ExitCode.OK
    assert "no run: " in capsys.readouterr().err
