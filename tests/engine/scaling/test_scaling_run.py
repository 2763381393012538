"""Moves inside a standing plan: recorded first, continued after a crash, none without metrics or plan."""

from __future__ import annotations

import subprocess
import sys
from datetime import datetime, timedelta
from pathlib import Path

import pytest
from standing_site import NOW, SimulatedMetrics, SimulatedNodes, approved_site, records, run_until_killed

from sovctl.compliance.audit.site import audit
from sovctl.engine.scaling.decision import Decision
from sovctl.engine.scaling.fleet import Phase, shared_gpus
from sovctl.engine.scaling.loads import Load
from sovctl.engine.scaling.positions import ReplicaId
from sovctl.engine.site.site import Site
from sovctl.engine.standing_plan import plan_file, state
from sovctl.engine.standing_plan.run import ScalingRun
from sovctl.engine.standing_plan.terms import rules
from sovctl.support.errors import InputError, PlanStale, SovctlError

IDLE, HALF, BUSY = Load(0.05, 0, 0), Load(0.5, 0, 4), Load(0.95, 9, 8)
LATER = NOW + timedelta(minutes=1)


def decide(site: Site, nodes: SimulatedNodes | None, now: datetime = LATER, **loads: Load) -> Decision:
    running = ScalingRun(site, metrics=SimulatedMetrics(loads), actuator=nodes, clock=lambda: now)
    return running.once().decision


def phases(site: Site) -> dict[str, Phase]:
    terms = plan_file.read(site.state.root).terms
    found = state.load(site.state.root, terms).fleet
    assert not shared_gpus(found, rules(terms).positions)
    return {str(each): phase for each, phase in found.phases.items()}


def test_gpus_move_between_pools_and_each_move_is_recorded(tmp_path: Path) -> None:
    site, nodes = approved_site(tmp_path), SimulatedNodes()
    decide(site, nodes, chat=IDLE, code=BUSY)
    assert nodes.calls == ["release chat/5", "release chat/7", "start code/4"]
    begun, ended = records(site)[-2:]
    assert (begun["type"], begun["releases"], begun["start"]) == ("scaling-move", ["chat/5", "chat/7"], "code/4")
    assert begun["reason"].startswith("saturation")
    assert (ended["type"], ended["steps"]) == (
        "scaling-moved",
        ["released chat/5", "released chat/7", "started code/4"],
    )
    found = phases(site)
    assert (found["chat/7"], found["code/4"]) == (Phase.IDLE, Phase.AWAKE)
    assert not audit(site.state.root).findings


def test_a_dry_run_decides_the_same_and_changes_nothing(tmp_path: Path) -> None:
    site = approved_site(tmp_path)
    before = records(site)
    step = decide(site, None, chat=IDLE, code=BUSY)
    assert [str(each) for each in step.moves] == ["release chat/5, release chat/7, start code/4"]
    assert records(site) == before
    assert not (site.state.root / state.FILE).exists()


def test_missing_metrics_move_nothing_and_alert_once(tmp_path: Path) -> None:
    site, nodes = approved_site(tmp_path), SimulatedNodes()
    for minutes in (1, 2):
        step = decide(site, nodes, NOW + timedelta(minutes=minutes), chat=IDLE)
        assert set(step.alerts) == {"code"}
    assert nodes.calls == ["release chat/7"]
    alerts = [each for each in records(site) if each["type"] == "scaling-alert"]
    assert [set(each["alerts"]) for each in alerts] == [{"code"}]
    decide(site, nodes, NOW + timedelta(minutes=3), chat=HALF, code=HALF)
    assert records(site)[-1]["alerts"] == {}


def test_without_prometheus_nothing_moves(tmp_path: Path) -> None:
    site, nodes = approved_site(tmp_path), SimulatedNodes()
    step = decide(site, nodes)
    assert not nodes.calls
    assert set(step.alerts) == {"metrics", "chat", "code"}


def test_nothing_moves_after_the_last_day(tmp_path: Path) -> None:
    site, nodes = approved_site(tmp_path), SimulatedNodes()
    with pytest.raises(PlanStale, match="expired"):
        decide(site, nodes, NOW + timedelta(days=40), chat=IDLE, code=BUSY)
    assert not nodes.calls


def test_a_step_that_is_not_confirmed_ends_the_run_and_holds_its_gpus(tmp_path: Path) -> None:
    site = approved_site(tmp_path)
    with pytest.raises(SovctlError, match="does not answer"):
        decide(site, SimulatedNodes(fails="release chat/7"), chat=IDLE, code=BUSY)
    assert records(site)[-1]["type"] == "scaling-failed"
    found = phases(site)
    assert (found["chat/7"], found["code/4"]) == (Phase.DRAINING, Phase.WAITING)
    nodes = SimulatedNodes()
    decide(site, nodes, LATER + timedelta(minutes=1), chat=IDLE, code=BUSY)
    assert nodes.calls[:2] == ["release chat/7", "start code/4"]


@pytest.mark.parametrize("dies", ["release chat/5", "release chat/7", "start code/4"])
def test_a_killed_run_leaves_a_state_that_the_next_run_completes(tmp_path: Path, dies: str) -> None:
    site = approved_site(tmp_path)
    code = f"from standing_site import run_until_killed; run_until_killed({str(tmp_path)!r}, {dies!r})"
    folders = [str(Path(__file__).parent), str(Path(__file__).parents[2]), str(Path(__file__).parents[3])]
    killed = subprocess.run([sys.executable, "-c", f"import sys; sys.path[:0] = {folders!r}; {code}"], check=False)
    assert killed.returncode == -9
    assert any(phase.is_pending for phase in phases(site).values())
    nodes = SimulatedNodes()
    decide(site, nodes, LATER + timedelta(minutes=1), chat=HALF, code=HALF)
    assert nodes.calls[0] == dies
    assert nodes.calls[-1] == "start code/4"
    found = phases(site)
    assert (found["chat/5"], found["chat/7"], found["code/4"]) == (Phase.IDLE, Phase.IDLE, Phase.AWAKE)
    assert not audit(site.state.root).findings


@pytest.mark.parametrize("text", ["", "{}", '{"phases": {"chat/0": "flying"}, "last": {}, "alerts": {}}'])
def test_an_unreadable_state_moves_nothing(tmp_path: Path, text: str) -> None:
    site, nodes = approved_site(tmp_path), SimulatedNodes()
    (site.state.root / state.FILE).write_text(text)
    with pytest.raises(InputError, match="unreadable state"):
        decide(site, nodes, chat=IDLE, code=BUSY)
    assert not nodes.calls


def test_a_state_with_two_holders_of_one_gpu_moves_nothing(tmp_path: Path) -> None:
    site = approved_site(tmp_path)
    terms = plan_file.read(site.state.root).terms
    found = state.initial(terms)
    state.save(site.state.root, state.with_fleet(found, found.fleet.with_phase(ReplicaId("code", 4), Phase.AWAKE)))
    with pytest.raises(InputError, match="two replicas hold GPU"):
        decide(site, SimulatedNodes(), chat=IDLE, code=BUSY)


def test_the_helper_of_the_crash_test_runs_to_its_end_without_a_kill(tmp_path: Path) -> None:
    site = approved_site(tmp_path)
    run_until_killed(str(tmp_path), "none")
    assert phases(site)["code/4"] is Phase.AWAKE
