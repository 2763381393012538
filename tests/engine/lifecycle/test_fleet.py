"""A simulated site of 64 nodes on 8 leaves: one bad leaf, scattered faults, and a wrong check."""

from __future__ import annotations

import random
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from evidence_specimens import made

from sovctl.compliance.evidence.record import Evidence
from sovctl.compliance.ledger.reader import LedgerReader
from sovctl.engine.checks.registry import CHECKS
from sovctl.engine.lifecycle import store
from sovctl.engine.lifecycle.breaker import limit
from sovctl.engine.lifecycle.certification import obstacles
from sovctl.engine.lifecycle.evidence import HARDWARE, LEAST, SETTINGS, Sickness, is_hardware, sick_nodes
from sovctl.engine.lifecycle.leaves import leaf_faults
from sovctl.engine.lifecycle.records import Fleet, assess, quarantine, reset_breaker
from sovctl.engine.lifecycle.remedies import LADDER, Remedy
from sovctl.engine.lifecycle.states import Event, State
from sovctl.engine.spec import SiteSpec
from sovctl.support.errors import InputError

NOW = datetime(2026, 11, 27, 10, tzinfo=UTC)
LEAVES = {f"n{index}": f"leaf-{index // 8}" for index in range(64)}


@pytest.fixture
def spec(make_site) -> SiteSpec:  # type: ignore[no-untyped-def]
    """An example site with the nodes of the simulation."""
    site = make_site("bank-hybrid").spec
    group = site.node_groups[0]
    nodes = [
        group.nodes[0].model_copy(update={"name": name, "leaf": leaf, "address": f"10.9.0.{index + 1}"})
        for index, (name, leaf) in enumerate(LEAVES.items())
    ]
    return site.model_copy(update={"node_groups": [group.model_copy(update={"nodes": nodes})]})


def nodes_of(leaf: str) -> list[str]:
    return [node for node, each in LEAVES.items() if each == leaf]


def sick(nodes: list[str]) -> dict[str, Sickness]:
    return dict.fromkeys(nodes, Sickness("failed: ib.links"))


def test_a_bad_leaf_is_indicted_and_its_nodes_stay_in_service(spec: SiteSpec) -> None:
    found = assess(Fleet(), spec, sick([*nodes_of("leaf-3")[:6], "n60"]), now=NOW, operator="ops")
    assert [str(fault) for fault in found.leaves] == [
        "leaf leaf-3: 6 of 8 nodes are sick; examine the leaf, not the nodes"
    ]
    assert found.remedies == {"n60": Remedy.RESTART_APPLICATION}
    assert {found.fleet.state(node) for node in nodes_of("leaf-3")} == {State.IN_SERVICE}
    assert found.fleet.state("n60") is State.SUSPECT


@pytest.mark.parametrize("seed", range(20))
def test_scattered_faults_indict_no_leaf(seed: int) -> None:
    chosen = random.Random(seed).sample(sorted(LEAVES), 4)
    assert leaf_faults(chosen, LEAVES) == []


def test_a_fault_of_the_whole_site_indicts_no_leaf() -> None:
    assert leaf_faults(list(LEAVES), LEAVES) == []


def test_nodes_without_a_known_leaf_indict_none() -> None:
    assert leaf_faults(list(LEAVES), dict.fromkeys(LEAVES)) == []


def test_the_breaker_opens_before_too_many_nodes_are_isolated(spec: SiteSpec) -> None:
    fleet = Fleet()
    options = {"now": NOW, "reason": "Xid 79", "operator": "ops"}
    for node in ("n0", "n9", "n18", "n27", "n36", "n45"):
        fleet = quarantine(fleet, spec, [node], **options)  # type: ignore[arg-type]
    assert len(fleet.isolated()) == 6 == limit("10%", 64)
    opened = quarantine(fleet, spec, ["n50", "n51"], **options)  # type: ignore[arg-type]
    assert opened.breaker == "8 of 64 nodes would be isolated, lifecycle.max_quarantined permits 6"
    assert opened.isolated() == fleet.isolated()
    with pytest.raises(InputError, match="circuit breaker is open"):
        quarantine(opened, spec, ["n50"], **options)  # type: ignore[arg-type]
    again = quarantine(reset_breaker(opened), spec, ["n50"], **options)  # type: ignore[arg-type]
    assert again.state("n50") is State.QUARANTINED


@pytest.mark.parametrize(("text", "nodes", "allowed"), [("10%", 3, 1), ("10%", 64, 6), ("2", 64, 2), ("0", 9, 0)])
def test_the_limit_is_a_count_or_a_percentage(text: str, nodes: int, allowed: int) -> None:
    assert limit(text, nodes) == allowed


def test_records_are_stored_and_each_event_is_in_the_ledger(tmp_path: Path) -> None:
    fleet = Fleet()
    for event in (Event.SUSPECT, Event.QUARANTINE):
        fleet = fleet.after("n1", event, now=NOW, reason="Xid 79", operator="ops")
    store.save(tmp_path, "bank", Fleet(), fleet, reason="Xid 79", operator="ops", time="2026-11-27T10:00:00Z")
    assert store.load(tmp_path) == fleet
    records = [entry.record for entry in LedgerReader(tmp_path / "ledger").entries()]
    assert [(each["type"], each["before"], each["state"], each["reason"], each["operator"]) for each in records] == [
        ("node-event", "in-service", "suspect", "Xid 79", "ops"),
        ("node-event", "suspect", "quarantined", "Xid 79", "ops"),
    ]


@pytest.mark.parametrize("content", ["", "{", "[]", '{"nodes": {"n1": {"state": "fine", "history": []}}}'])
def test_unreadable_records_are_an_error_and_not_an_empty_fleet(tmp_path: Path, content: str) -> None:
    (tmp_path / store.FILE).write_text(content)
    with pytest.raises(InputError, match="unreadable node records"):
        store.load(tmp_path)


def evidence(check: str, node: str, verdict: str = "PASS", **fields: str):  # type: ignore[no-untyped-def]
    return made(check, node, verdict)[0].model_copy(update=fields)


def test_only_failed_hardware_checks_make_a_node_sick() -> None:
    found = [
        evidence("gpu.ecc", "n1", "FAIL"),
        evidence("ib.links", "n1/mlx5_0", "FAIL"),
        evidence("gpu.ecc", "n2", "UNKNOWN"),
        evidence("clock.synchronized", "n3", "FAIL"),
    ]
    assert sick_nodes(found) == {"n1": Sickness("failed: gpu.ecc, ib.links", Remedy.RESET_GPU)}


@pytest.mark.parametrize(
    ("check", "reason", "remedy"),
    [
        ("xid.none-since-boot", "expected no Xid 79 of GPU 0000:61:00, got 1, action RESTART_BM", Remedy.REBOOT),
        ("xid.none-since-boot", "expected no Xid 31 of GPU 0000:61:00, got 1, action RESTART_APP", LADDER[0]),
        ("xid.none-since-boot", "expected no Xid 142 of GPU 0000:61:00, got 1, action CONTACT_SUPPORT", Remedy.ISOLATE),
        ("nvlink.links-active", "expected 18 links, got 17", Remedy.RESET_GPU),
        ("nvlink.switches-present", "expected 4, got 3", Remedy.AC_CYCLE),
        ("vram.row-of-the-future", "expected 0, got 1", LADDER[0]),
    ],
)
def test_the_first_remedy_is_one_that_can_help(check: str, reason: str, remedy: Remedy, spec: SiteSpec) -> None:
    found = sick_nodes([evidence(check, "n1", "FAIL", reason=reason)])
    assert assess(Fleet(), spec, found, now=NOW, operator="ops").remedies == {"n1": remedy}


def test_every_check_of_hardware_is_known_as_one_or_as_a_setting() -> None:
    topics = {"gpu", "vram", "bus", "nvlink", "ib", "xid", "memory", "disk", "bmc", "diagnostic", "bandwidth", "nccl"}
    ids = {check.id for check in CHECKS}
    assert {each for each in ids if is_hardware(each)} == {
        each for each in ids - SETTINGS if each.partition(".")[0] in topics
    }
    assert ids >= {each for each in LEAST if not each.endswith(".")}
    assert all(each.startswith(HARDWARE) for each in (*LEAST, *SETTINGS))


def test_a_failed_setting_makes_no_node_sick() -> None:
    assert sick_nodes([evidence(each, "n1", "FAIL") for each in sorted(SETTINGS)]) == {}


def test_a_certification_needs_newer_evidence_without_obstacles() -> None:
    good = [evidence("gpu.ecc", "n1"), evidence("software.locked", "n1")]
    after = "2026-11-21T11:00:00Z"
    assert against("n1", good) == []
    assert against("n1", good, since=after) == [f"the evidence is older than the last event of {after}"]
    assert against("n2", good) == ["no evidence of this node"]
    assert against("n1", good[1:]) == ["no result of a hardware check, which level verify requires"]
    assert against("n1", good[:1]) == [
        "no result of a check of software, access or firewall, which level verify requires"
    ]
    unknown = [*good, evidence("nvlink.links", "n1", "UNKNOWN")]
    assert against("n1", unknown) == ["nvlink.links: UNKNOWN"]


def against(node: str, records: list[Evidence], **more: Any) -> list[str]:
    limits: dict[str, Any] = {"since": "2026-11-21T10:00:00Z", "level": "verify", "has_gpus": True}
    limits |= {"now": datetime(2026, 11, 21, 12, tzinfo=UTC), "max_age": timedelta(hours=24)}
    return obstacles(node, records, **(limits | more))


def test_a_node_without_gpus_needs_no_hardware_check() -> None:
    assert against("n1", [evidence("software.locked", "n1")], has_gpus=False) == []
    assert against("n1", [evidence("software.locked", "n1")], has_gpus=False, level="burn-in") == []


def test_old_evidence_certifies_no_node() -> None:
    good = [evidence("gpu.ecc", "n1"), evidence("software.locked", "n1")]
    late = datetime(2026, 11, 22, 11, tzinfo=UTC)
    expected = "the evidence of 2026-11-21T10:15:00Z is older than lifecycle.max_evidence_age_h: 24"
    assert against("n1", good, now=late) == [expected]
    assert against("n1", good, now=late, max_age=timedelta(hours=25)) == []


def test_the_level_burn_in_blocks_without_a_burn_in_result() -> None:
    good = [evidence("gpu.ecc", "n1"), evidence("software.locked", "n1")]
    assert against("n1", good, level="burn-in") == [
        "no result of a longest diagnostic of DCGM (diagnostic.dcgm-r4), which level burn-in requires",
        "no result of a soak (diagnostic.soak), which level burn-in requires",
    ]
    soak = evidence("diagnostic.soak", "n1")
    assert against("n1", [*good, soak, evidence("diagnostic.dcgm-r4", "n1")], level="burn-in") == []
    failed = [*good, soak, evidence("diagnostic.dcgm-r4", "n1", "FAIL")]
    assert against("n1", failed, level="burn-in") == ["diagnostic.dcgm-r4: FAIL"]
