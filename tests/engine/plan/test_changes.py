"""The difference is the plan: nothing where nothing differs, and every value that differs by its own name."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from planned_nodes import Handle, empty, planned, with_file, with_tree
from strategies import PRESETS, context, states

from examples import examples
from sovctl.engine.facts.node import NodeFacts
from sovctl.engine.plan.build import changes, desired_on
from sovctl.engine.plan.order import RESOURCE_TYPES
from sovctl.engine.resources.resource import CREATED_BY_APPLY, Change, Desired, Risk, Verb, difference
from sovctl.engine.resources.resource_type import ResourceType
from sovctl.engine.resources.software.environment import FOLDERS, TREES

RESTARTED = {"runs_what_is_written": "after a restart"}


@given(wanted=states(), seen=st.none() | states(min_size=0))
def test_what_a_difference_says_turns_one_state_into_the_other(wanted: dict[str, object], seen: object) -> None:
    observed = seen if isinstance(seen, dict) else None
    change = difference("n1", Desired("clock", "chrony", wanted, "why"), observed)
    after = {**(observed or {}), **((change.after or {}) if change else {})}
    assert {key: after[key] for key in wanted} == wanted
    if change is None:
        assert observed is not None
        return
    assert change.verb is (Verb.CREATE if observed is None else Verb.UPDATE)
    assert change.before is None or change.before.keys() == (change.after or {}).keys()
    assert difference("n1", Desired("clock", "chrony", wanted, "why"), after) is None


@given(seen=st.none() | states())
def test_what_is_not_wanted_is_deleted_once(seen: dict[str, object] | None) -> None:
    change = difference("n1", Desired("pool", "old", None, "why", risk=Risk.WORKLOAD), seen)
    if seen is None:
        assert change is None
        return
    assert change is not None
    assert (change.verb, change.before, change.after, change.risk) == (Verb.DELETE, seen, None, Risk.WORKLOAD)


@given(before=st.none() | states(), after=st.none() | states(), verb=st.sampled_from(Verb), risk=st.sampled_from(Risk))
def test_a_change_survives_the_plan_file(before: object, after: object, verb: Verb, risk: Risk) -> None:
    change = Change("n1", "pool", "chat", verb, before, after, "why", risk, 0.5)  # type: ignore[arg-type]
    assert Change.from_json(change.to_json()) == change


@pytest.mark.parametrize("preset", PRESETS)
def test_nodes_as_planned_need_no_change(preset: str) -> None:
    assert changes(context(preset), planned(preset)[0]) == []


@pytest.mark.parametrize("preset", PRESETS)
def test_an_empty_node_gets_everything_once_and_nothing_is_disturbed_but_the_wall(preset: str) -> None:
    site = context(preset)
    made = changes(site, {node.name: empty(node.name) for _, node in site.spec.nodes()})
    assert len({change.id for change in made}) == len(made)
    assert {change.verb for change in made if change.kind not in ("repository", "tuning")} <= {Verb.CREATE, Verb.UPDATE}
    assert {change.risk for change in made if change.verb is Verb.CREATE} <= {Risk.NONE, Risk.CONNECTION}
    for _, node in site.spec.nodes():
        # Boot options of a GPU server need one reboot; a service node needs none.
        wanted = {(each.kind, each.name) for each in desired_on(site, node, empty(node.name)) if each.kind != "reboot"}
        wanted |= {("reboot", "node")} if site.platform(node).has_gpus else set()
        of_absent = {(kind, name) for kind, name in wanted if kind in ("attributes", "unit")}  # of absent files
        assert {(each.kind, each.name) for each in made if each.node == node.name} == wanted - of_absent


def handles(preset: str) -> list[tuple[str, Handle]]:
    """One of every kind and key of a preset."""
    found: dict[tuple[str, ...], tuple[str, Handle]] = {}
    for node, handle in planned(preset)[1]:
        found.setdefault((handle.kind, handle.name, handle.key), (node, handle))
    return list(found.values())


def flipped(preset: str, node: str, handle: Handle) -> tuple[list[Change], list[Change]]:
    """Changes after one value was changed by hand: (what differs, what must start again because of it)."""
    facts = planned(preset)[0]
    made = changes(context(preset), {**facts, node: handle.change(facts[node])})
    real = [each for each in made if each.after != RESTARTED and each.kind != "reboot"]
    return real, [each for each in made if each.after == RESTARTED]


def assert_names_it(preset: str, node: str, handle: Handle) -> None:
    real, restarts = flipped(preset, node, handle)
    if handle.kind == "environment":  # a new folder supersedes the former one, and the pool runs from it
        real = [each for each in real if each.kind not in ("superseded_environment", "pool")]
    assert [each.id for each in real] == [f"{node}/{handle.kind}/{handle.name}"]
    assert list(real[0].after or {}) == [handle.key]
    assert real[0].verb is Verb.UPDATE
    assert (real[0].before or {})[handle.key] != (real[0].after or {})[handle.key]
    assert all(each.kind in ("service", "pool", "gateway", "clock") and each.why for each in restarts)


@pytest.mark.parametrize("number", range(len(handles("lab"))))
def test_every_value_changed_by_hand_is_named(number: int) -> None:
    assert_names_it("lab", *handles("lab")[number])


@examples(30)
@given(data=st.data())
def test_any_value_changed_by_hand_on_any_site_is_named(data: st.DataObject) -> None:
    preset = data.draw(st.sampled_from(PRESETS))
    assert_names_it(preset, *data.draw(st.sampled_from(planned(preset)[1])))


def restarts(preset: str, node: str, kind: str, name: str, key: str) -> set[str]:
    """What starts again when one value differs."""
    handle = next(
        each for where, each in planned(preset)[1] if (where, each.kind, each.name, each.key) == (node, kind, name, key)
    )
    return {each.id for each in flipped(preset, node, handle)[1]}


def test_what_a_change_makes_start_again() -> None:
    services = {f"n1/service/nvidia-{name}" for name in ("fabricmanager", "persistenced", "dcgm")}
    own = {"n1/service/nvidia-dcgm"}
    assert restarts("lab", "n1", "package", "nvidia-open", "version") == services | {"n1/pool/chat"}
    assert restarts("lab", "n1", "package", "datacenter-gpu-manager-4-cuda13", "version") == own
    assert restarts("lab", "n1", "package", "nvidia-container-toolkit", "version") == set()
    assert restarts("lab", "n1", "package", "nvidia-open", "is_held") == set()
    assert restarts("lab", "n1", "model", "echo", "changed_files") == {"n1/pool/chat"}
    assert restarts("lab", "n1", "credential", "node.key", "mode") == {"n1/pool/chat"}
    assert restarts("lab", "s1", "credential", "token.key", "fingerprint") == {"s1/gateway/gateway"}
    assert restarts("lab", "n1", "perimeter", "firewall", "rules") == set()


def test_ranks_of_a_replica_start_together_though_one_differs() -> None:
    assert restarts("superpod-b200", "dgx-02", "pool", "long-context", "max-num-seqs") == {"dgx-01/pool/long-context"}


def test_a_finding_of_verify_is_a_change_of_the_next_plan_until_a_new_manifest_is_recorded() -> None:
    facts, site = planned("lab")[0], context("lab")
    for tree, id_ in {"model/echo": "n1/model/echo", "environment/vllm": "n1/environment/vllm"}.items():
        record = site.trees["n1", tree]
        found = replace(site, trees={**site.trees, ("n1", tree): replace(record, findings=("a.bin: content",))})
        made = changes(found, facts)
        assert [each.id for each in made][:2] == [id_, "n1/pool/chat"]
        assert made[0].before == {"found_by_verify": ["a.bin: content"]}


def test_a_tree_that_no_apply_recorded_is_built_though_nothing_differs_on_the_node() -> None:
    facts, site = planned("lab")[0], context("lab")
    unrecorded = replace(site, trees={key: each for key, each in site.trees.items() if key[0] != "n1"})
    made = {each.id: each for each in changes(unrecorded, facts)}
    assert {"n1/model/echo", "n1/environment/vllm", "n1/environment/installer"} <= made.keys()
    assert made["n1/model/echo"].after == {"tree_sha256": CREATED_BY_APPLY}


def test_a_damaged_environment_is_built_in_another_folder_and_the_former_one_is_removed() -> None:
    facts, site = planned("lab")[0], context("lab")
    link, root = "/opt/sovctl/vllm", site.trees["n1", "environment/vllm"].root
    spoilt = facts["n1"]
    for path in (link, root):
        spoilt = with_tree(spoilt, TREES, path, changed=["lib/x.py: content"])
    made = changes(site, {**facts, "n1": spoilt})
    former = root.rpartition("/")[2]
    assert [each.id for each in made] == [
        "n1/environment/vllm",
        "n1/pool/chat",
        f"n1/superseded_environment/{former}",
    ]
    item = next(each for each in desired_on(site, site.spec.node("n1"), spoilt) if each.name == "vllm")
    assert (item.variables["folder"], item.variables["is_built"]) == (f"{root}.2", False)


def test_the_folder_of_another_version_is_superseded() -> None:
    facts, site = planned("lab")[0], context("lab")
    folders = {**facts["n1"].answers[FOLDERS]}
    folders["stdout"] += "vllm-0123456789ab\t\nsomething-else\t\n"
    old = replace(facts["n1"], answers={**facts["n1"].answers, FOLDERS: folders})
    [change] = changes(site, {**facts, "n1": old})
    assert (change.id, change.verb) == ("n1/superseded_environment/vllm-0123456789ab", Verb.DELETE)


def test_a_model_that_a_pool_does_not_serve_leaves_it_alone() -> None:
    site = context("bank-hybrid")
    on_node = {each.pool: site.pool(each.pool).model for each in site.replicas_on(site.spec.node("dgx-1"))}
    assert len(set(on_node.values())) > 1
    found = restarts("bank-hybrid", "dgx-1", "model", on_node["code"], "manifest_sha256")
    assert {each.split("/")[2].partition(".")[0] for each in found} == {"code"}


def test_a_driver_unpacked_under_a_running_pool_is_seen_though_its_version_is_right() -> None:
    facts = planned("lab")[0]
    path = "/var/lib/dpkg/info/nvidia-driver-cuda.list"
    newer = with_file(facts["n1"], path, mtime_ns=1_763_800_000 * 10**9)
    [change] = changes(context("lab"), {**facts, "n1": newer})
    assert (change.id, list(change.after or {})) == ("n1/pool/chat", ["runs_what_is_written"])


# Texts that the kernel writes are an error if they are not understood (tests/engine/facts/test_running.py).
@pytest.mark.parametrize("kind", [each for each in RESOURCE_TYPES if each.name != "reboot"], ids=lambda kind: kind.name)
def test_garbage_on_a_node_is_a_difference_and_never_a_crash(kind: ResourceType) -> None:
    facts: Mapping[str, NodeFacts] = planned("lab")[0]
    for name, each in facts.items():
        node = context("lab").spec.node(name)
        spoilt = replace(
            each,
            files={path: {"unreadable": True} for path in each.files},
            texts=dict.fromkeys(each.texts, "[[1, 2, 3], {}"),
        )
        for desired in kind.expect(context("lab"), node, spoilt):
            observed = kind.observed(spoilt, desired)
            same = {
                "package",
                "service",
                "service_account",
                "attributes",
                "unit",
                "gpu_modes",
            }  # they rest on the text of no file
            assert kind.name in same or difference(name, desired, observed) is not None
