"""A plan has at most one reboot for each node: with all causes, with what starts again, and never without a cause."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from planned_nodes import BOOT_ID, BOOTED_S, answer, planned, with_file
from strategies import context

from sovctl.engine.facts import running
from sovctl.engine.facts.node import InstalledPackage, NodeFacts
from sovctl.engine.plan.build import changes
from sovctl.engine.plan.reboots import chosen, planned_causes
from sovctl.engine.resources.context import Context
from sovctl.engine.resources.resource import Change, Risk, Verb
from sovctl.engine.resources.services.reboot import KNOWN_AFTER_REBOOT, STRENGTH, RebootKind, pending

LOCK, OTHER = "580.126.20", "580.173.02"
DRIVER, NODE, AC = RebootKind.DRIVER_RELOAD, RebootKind.REBOOT, RebootKind.AC_CYCLE


def on_node(**fields: Any) -> NodeFacts:
    """Facts of n1 of the lab as planned, with other values."""
    facts = planned("lab")[0]["n1"]
    made = replace(
        facts,
        is_container=fields.get("is_container", False),
        texts={
            **facts.texts,
            running.MODULE_VERSION: fields.get("module"),
            running.REBOOT_REQUIRED: "" if "requested" in fields else None,
            running.REBOOT_PACKAGES: fields.get("requested"),
        },
        packages={**facts.packages, **{name: InstalledPackage("1", False) for name in fields.get("kernels", ())}},
        answers={
            **facts.answers,
            "kernel": answer(f"{fields.get('kernel', '6.1.0-28-amd64')}\n"),
            "firmware": answer(json.dumps(fields.get("firmware", []))),
        },
    )
    for name, written_s in fields.get("lists", {}).items():
        made = with_file(made, f"/var/lib/dpkg/info/{name}.list", mtime_ns=written_s * 10**9)
    return made


WRITTEN = "new firmware of {} is written and not active"
OLD, NEW = "linux-image-6.1.0-28-amd64", "linux-image-6.1.0-31-amd64"
PENDING: dict[str, tuple[dict[str, Any], dict[RebootKind, list[str]]]] = {
    "a new node": ({}, {}),
    "the module of the lock": ({"module": LOCK}, {}),
    "another module": ({"module": OTHER}, {DRIVER: [f"NVIDIA module {OTHER} is loaded, the lock has {LOCK}"]}),
    "the newest kernel": ({"kernels": [OLD]}, {}),
    "an old kernel": (
        {"kernels": [OLD, NEW]},
        {NODE: ["kernel 6.1.0-28-amd64 runs, 6.1.0-31-amd64 is installed"]},
    ),
    "an old kernel in a container": ({"kernels": [OLD, NEW], "is_container": True}, {}),
    "a kernel of another flavour": ({"kernels": [NEW], "kernel": "6.1.0-28-cloud-amd64"}, {}),
    "a kernel that was removed": (
        {"kernels": [NEW], "kernel": "6.1.0-40-amd64"},
        {NODE: ["kernel 6.1.0-40-amd64 runs, 6.1.0-31-amd64 is installed"]},
    ),
    "the running kernel was replaced": (
        {"kernels": [OLD], "lists": {OLD: BOOTED_S + 1}},
        {NODE: ["the package of the running kernel 6.1.0-28-amd64 was replaced after the start of the node"]},
    ),
    "the running kernel is older than the start": ({"kernels": [OLD], "lists": {OLD: BOOTED_S}}, {}),
    "a request": ({"requested": "libc6\n"}, {NODE: ["/run/reboot-required exists for libc6"]}),
    "a request without packages": ({"requested": None}, {NODE: ["/run/reboot-required exists"]}),
    "a request in a container": (
        {"requested": "dbus\n", "is_container": True},
        {NODE: ["/run/reboot-required exists for dbus"]},
    ),
    "firmware for a reboot": ({"firmware": [["NIC", 4, 256, BOOTED_S]]}, {NODE: [WRITTEN.format("NIC")]}),
    "firmware for a power cycle": ({"firmware": [["BMC", 4, 131072 | 2, BOOTED_S]]}, {AC: [WRITTEN.format("BMC")]}),
    "firmware of before the start": ({"firmware": [["BMC", 4, 131072, BOOTED_S - 1]]}, {}),
    "firmware that is active": ({"firmware": [["BMC", 2, 131072, BOOTED_S + 9]]}, {}),
    "all": (
        {"module": OTHER, "kernels": [NEW], "requested": "libc6\n"},
        {
            DRIVER: [f"NVIDIA module {OTHER} is loaded, the lock has {LOCK}"],
            NODE: [
                "kernel 6.1.0-28-amd64 runs, 6.1.0-31-amd64 is installed",
                "/run/reboot-required exists for libc6",
            ],
        },
    ),
}


@pytest.mark.parametrize("case", PENDING)
def test_a_pending_action_has_its_causes(case: str) -> None:
    fields, expected = PENDING[case]
    assert pending(on_node(**fields), driver_version=LOCK) == expected


def test_a_module_on_a_node_without_gpus_is_no_cause() -> None:
    assert pending(on_node(module=OTHER), driver_version=None) == {}


@given(st.sets(st.sampled_from(RebootKind), min_size=1), st.booleans())
def test_the_chosen_action_covers_every_cause_and_no_weaker_one_does(kinds: set[RebootKind], reloads: bool) -> None:
    found = chosen(kinds, reloads_driver=reloads)
    assert all(STRENGTH.index(found) >= STRENGTH.index(kind) for kind in kinds)
    assert found in kinds or (found is NODE and kinds == {DRIVER} and not reloads)


def with_driver_change(change: str) -> Context:
    site = context("lab")
    software = site.spec.software.model_copy(update={"driver_change": change})
    return replace(site, spec=site.spec.model_copy(update={"software": software}))


def plan(site: Context, **fields: Any) -> list[Change]:
    return changes(site, {**planned("lab")[0], "n1": on_node(**fields)})


def test_a_pending_reboot_is_a_change_by_itself_and_restarts_the_pool() -> None:
    reboot, pool = plan(context("lab"), module=OTHER, kernels=[OLD, NEW])
    assert (reboot.id, reboot.verb, reboot.risk) == ("n1/reboot/node", Verb.UPDATE, Risk.REBOOT)
    causes = [
        "kernel 6.1.0-28-amd64 runs, 6.1.0-31-amd64 is installed",
        f"NVIDIA module {OTHER} is loaded, the lock has {LOCK}",
    ]
    assert reboot.before == {"boot_id": BOOT_ID, "causes": causes}
    assert reboot.after == {"boot_id": KNOWN_AFTER_REBOOT, "causes": []}
    assert reboot.why == "; ".join(causes)
    assert (pool.id, pool.why) == ("n1/pool/chat", "the node reboots")


def test_a_driver_is_reloaded_only_if_site_yaml_permits_it() -> None:
    [reload, pool] = plan(with_driver_change("reload"), module=OTHER)
    assert (reload.id, reload.risk) == ("n1/reboot/driver", Risk.WORKLOAD)
    assert reload.before == {"driver": OTHER, "causes": [reload.why]}
    assert reload.after == {"driver": LOCK, "causes": []}
    assert (pool.id, pool.why) == ("n1/pool/chat", "the driver is reloaded")
    assert [each.id for each in plan(context("lab"), module=OTHER)] == ["n1/reboot/node", "n1/pool/chat"]


def test_a_reboot_for_another_cause_also_changes_the_driver() -> None:
    ids = [each.id for each in plan(with_driver_change("reload"), module=OTHER, requested="libc6\n")]
    assert ids == ["n1/reboot/node", "n1/pool/chat"]


def upgraded(facts: NodeFacts, version: str) -> NodeFacts:
    """The same with another version of all driver packages, of which none was loaded since."""
    names = [name for name, each in facts.packages.items() if each.version == f"{LOCK}-1"]
    return replace(
        facts, packages=facts.packages | {name: InstalledPackage(f"{version}-1", is_held=True) for name in names}
    )


def test_a_change_of_the_driver_plans_its_packages_then_one_reboot_then_the_pool() -> None:
    facts = upgraded(on_node(module=OTHER), OTHER)
    made = changes(context("lab"), {**planned("lab")[0], "n1": facts})
    kinds = [each.kind for each in made]
    assert set(kinds[:-2]) == {"package"}
    assert [each.id for each in made[-2:]] == ["n1/reboot/node", "n1/pool/chat"]


@pytest.mark.parametrize(("enabled", "services"), [("enabled", []), ("disabled", ["n1/service/nvidia-fabricmanager"])])
def test_a_failed_service_starts_with_the_node_and_a_disabled_one_is_enabled_before(
    enabled: str, services: list[str]
) -> None:
    facts = on_node(module=OTHER)
    unit = replace(facts.units["nvidia-fabricmanager"], active="failed", enabled=enabled)
    failed = replace(facts, units={**facts.units, "nvidia-fabricmanager": unit})
    made = changes(context("lab"), {**planned("lab")[0], "n1": failed})
    assert [each.id for each in made] == [*services, "n1/reboot/node", "n1/pool/chat"]


def test_the_first_driver_needs_no_reboot_because_its_installation_loads_it() -> None:
    assert all(each.kind != "reboot" for each in changes(context("lab"), planned("lab")[0]))
    no_driver = upgraded(on_node(module=None), OTHER)
    made = changes(context("lab"), {**planned("lab")[0], "n1": no_driver})
    assert {"package", "service", "pool"} == {each.kind for each in made}


def test_an_ac_cycle_covers_a_reboot_and_a_driver() -> None:
    [cycle, pool] = plan(context("lab"), module=OTHER, firmware=[["BMC", 4, 131072, BOOTED_S]], requested="libc6\n")
    assert (cycle.id, pool.why) == ("n1/reboot/ac-cycle", "the node is powered off")
    assert cycle.before is not None
    assert len(cycle.before["causes"]) == 3
    assert cycle.before["causes"][0] == WRITTEN.format("BMC")


def test_a_reboot_of_the_gateways_node_restarts_the_gateway() -> None:
    facts = planned("lab")[0]["s1"]
    rebooting = replace(facts, texts={**facts.texts, running.REBOOT_REQUIRED: ""})
    made = changes(context("lab"), {**planned("lab")[0], "s1": rebooting})
    assert [(each.id, each.why) for each in made] == [
        ("s1/reboot/node", "/run/reboot-required exists"),
        ("s1/gateway/gateway", "the node reboots"),
    ]


@pytest.mark.parametrize(
    ("kind", "name", "after", "needed"),
    [
        ("package", "chrony", {"status": "installed"}, None),
        ("package", NEW, {"version": "1"}, NODE),
        ("kernel", "boot-options", {"file_sha256": "a", "at_boot": ["iommu=pt"]}, None),
        ("kernel", "boot-options", {"running": ["iommu=pt"]}, NODE),
        ("kernel", "modules", {"blocked": ["nouveau"]}, NODE),
        ("kernel", "modules", {"loaded": ["ib_umad"]}, None),
        ("kernel", "modules", {"running NVreg_EnableStreamMemOPs": "1"}, DRIVER),
        ("pool", "chat", {"running": True}, None),
    ],
)
def test_a_planned_change_is_a_cause_if_only_a_reboot_activates_it(
    kind: str, name: str, after: dict[str, object], needed: RebootKind | None
) -> None:
    made = Change("n1", kind, name, Verb.UPDATE, dict.fromkeys(after), after, "why", Risk.NONE, 1.0)
    assert planned_causes([made]) == ({needed: [f"{kind} {name} changes"]} if needed else {})


def test_minutes_are_those_of_a_server_or_of_a_container() -> None:
    minutes = {
        is_container: [
            each.minutes
            for each in plan(context("lab"), requested="libc6\n", is_container=is_container)
            if each.kind == "reboot"
        ]
        for is_container in (False, True)
    }
    assert minutes == {False: [15.0], True: [0.1]}
