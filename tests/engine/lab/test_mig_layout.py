"""MIG layouts: golden plans and refusals, and the role's program on a simulated GPU board."""

from __future__ import annotations

import json
import subprocess
from dataclasses import replace
from datetime import date
from functools import cache
from importlib.machinery import SourceFileLoader
from importlib.util import module_from_spec, spec_from_loader
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from lab_specimens import Disk
from node_edits import with_answer, with_file, with_text, with_unit
from planned_nodes import empty
from preset_values import preset_values

from sovctl.engine.catalog import load_catalog
from sovctl.engine.catalog.mig_layout import place
from sovctl.engine.facts.hardware.mig import parse_gpu_instances, parse_uuids
from sovctl.engine.facts.node import NodeFacts
from sovctl.engine.lab.standins import nvidia_smi
from sovctl.engine.placement import assign_gpus
from sovctl.engine.plan.build import context_of, desired_on
from sovctl.engine.resources.context import ROLES, Context
from sovctl.engine.resources.host import gpu_modes
from sovctl.engine.resources.pool import variables_of
from sovctl.engine.resources.resource import Change, difference
from sovctl.engine.validation.load import LoadedSpec, parse
from sovctl.support.canonical_json import sha256_hex
from sovctl.support.errors import SpecError

BALANCED = [
    {"devices": [0], "mig_devices": {"3g.40gb": 2}},
    {"devices": [1], "mig_devices": {"4g.40gb": 1, "1g.10gb": 3}},
]
PROGRAM = ROLES / "gpu_modes" / "files" / "mig"
# NVIDIA MIG User Guide, "Creating GPU Instances", with the names of an 80 GB board.
LISTED = """\
+-------------------------------------------------------+
| GPU instances:                                        |
| GPU   Name             Profile  Instance   Placement  |
|                          ID       ID       Start:Size |
|=======================================================|
|   0  MIG 3g.40gb          9        2          4:4     |
+-------------------------------------------------------+
|   0  MIG 3g.40gb          9        1          0:4     |
+-------------------------------------------------------+
|   1  MIG 1g.10gb         19       13          6:1     |
+-------------------------------------------------------+
"""


def site(layout: list[dict[str, Any]], *pools: dict[str, Any], **group: Any) -> LoadedSpec:
    """The lab with divided GPUs."""
    value = {key: item for key, item in preset_values("lab").items() if key not in ("gateway", "perimeter")}
    value["site"] = {**value["site"], "placement": "on-prem"}
    value["perimeter"] = {"management": ["10.77.0.1/32"]}
    value["node_groups"] = [dict(each) for each in value["node_groups"]]
    value["node_groups"][0] |= {"mig_layout": layout, **group}
    base = {**value["pools"][0], "tensor_parallel_size": 1}
    value["pools"] = [{**base, "port": 8000 + 10 * index, **each} for index, each in enumerate(pools)]
    text = json.dumps(value).encode()  # YAML without anchors
    return parse(text, path=Path("site.yaml"), today=date(2026, 11, 29), catalog=load_catalog())


def context(layout: list[dict[str, Any]], *pools: dict[str, Any]) -> Context:
    return context_of(site(layout, *pools).spec, Path("/nonexistent"))


@cache
def planned() -> Context:
    """The lab with the layout and one pool."""
    return context(BALANCED, CHAT)


CHAT = {"name": "chat", "mig_profile": "3g.40gb", "replicas": 2}
SMALL = {"name": "small", "mig_profile": "1g.10gb"}
WHOLE = {"name": "whole", "tensor_parallel_size": 2}


def test_a_layout_gives_each_pool_its_instances_and_the_other_gpus_stay_whole() -> None:
    made = context(BALANCED, CHAT, SMALL, WHOLE)
    found = {
        (each.pool, each.index): variables_of(made, made.spec.node("n1"), each)["environment"].get(
            "SOVCTL_MIG_INSTANCE", made.gpu_indices(each.ranks[0])
        )
        for each in made.replicas
    }
    assert found == {
        ("chat", 0): "0/3g.40gb@0",
        ("chat", 1): "0/3g.40gb@4",
        ("small", 0): "1/1g.10gb@4",
        ("whole", 0): [2, 3],
    }


def test_the_plan_names_the_instances_of_every_gpu() -> None:
    made = planned()
    [mig] = [each for each in desired_on(made, made.spec.node("n1"), empty("n1")) if each.name == "mig"]
    state = dict(mig.state or {})
    assert {key: value for key, value in state.items() if key.startswith("GPU")} == {
        "GPU 0": ["3g.40gb@0", "3g.40gb@4"],
        "GPU 1": ["4g.40gb@0", "1g.10gb@4", "1g.10gb@5", "1g.10gb@6"],
        **{f"GPU {index}": [] for index in range(2, 8)},
    }
    assert mig.risk.value == "stops a pool"


def change(facts: NodeFacts) -> Change | None:
    made = planned()
    [mig] = [each for each in desired_on(made, made.spec.node("n1"), facts) if each.name == "mig"]
    return difference("n1", mig, gpu_modes.RESOURCE_TYPE.observed(facts, mig))


def divided(disk: Disk) -> NodeFacts:
    """Facts of a node on which the role's program divided simulated GPUs."""
    made = planned()
    text = gpu_modes.layout_text(made, made.spec.node("n1"))
    facts = with_answer(empty("n1"), "gpu_modes", "0, Enabled, Enabled\n")
    for path, content in {
        gpu_modes.LAYOUT: text.encode(),
        gpu_modes.PROGRAM: PROGRAM.read_bytes(),
        gpu_modes.UNIT_FILE: PROGRAM.with_name("sovctl-mig.service").read_bytes(),
    }.items():
        facts = with_file(facts, path, sha256_hex(content))
    facts = with_text(with_unit(facts, gpu_modes.UNIT), gpu_modes.DEVICES, run(disk, text).read_text())
    for name, argv in gpu_modes.INSTANCES.items():
        facts = with_answer(facts, name, "\n".join(nvidia_smi.answer(disk.board, argv[1:])[1]))
    return facts


def run(disk: Disk, layout: str, *, fails: str = "") -> Path:
    """Run the role's program with the simulated nvidia-smi in this process; return the file of UUIDs."""
    program = SourceFileLoader("mig_program", str(PROGRAM))
    module = module_from_spec(spec_from_loader("mig_program", program) or pytest.fail("no program"))
    program.exec_module(module)

    def answer(words: list[str], **_options: Any) -> subprocess.CompletedProcess[str]:
        code, lines = nvidia_smi.answer(disk.board, words[1:])
        return subprocess.CompletedProcess(words, code, "\n".join(lines) + "\n", "")

    module.subprocess = SimpleNamespace(run=answer)  # type: ignore[attr-defined]
    given, devices = disk.root / "layout.json", disk.root / "devices.json"
    given.write_text(layout)
    if fails:
        with pytest.raises(SystemExit, match=fails):
            module.apply(given, devices)
    else:
        module.apply(given, devices)
    return devices


def test_the_program_divides_gpus_and_a_second_run_keeps_the_uuids(disk: Disk) -> None:
    facts = divided(disk)
    assert change(facts) is None
    for key, edited in {
        "GPU 0": with_answer(facts, "mig_instances", "No GPU instances found: Not Found"),
        "uuids_are_current": with_text(facts, gpu_modes.DEVICES, '{"0/3g.40gb@0": "MIG-of-before"}'),
        "active": with_unit(facts, gpu_modes.UNIT, active="failed"),
        "layout_sha256": with_file(facts, gpu_modes.LAYOUT),
    }.items():
        found = change(edited)
        assert found is not None
        assert key in (found.after or {})
    before = gpu_modes.devices(facts)
    assert sorted(before) == [
        "0/3g.40gb@0", "0/3g.40gb@4", "1/1g.10gb@4", "1/1g.10gb@5", "1/1g.10gb@6", "1/4g.40gb@0",
    ]  # fmt: skip
    made = planned()
    assert json.loads(run(disk, gpu_modes.layout_text(made, made.spec.node("n1"))).read_text()) == before


def test_another_layout_gives_new_uuids_and_whole_gpus_have_none(disk: Disk) -> None:
    before = set(json.loads(run(disk, '{"gpus": {"0": ["3g.40gb@0"], "1": ["4g.40gb@0"]}}').read_text()).values())
    after = json.loads(run(disk, '{"gpus": {"0": ["3g.40gb@0", "3g.40gb@4"], "1": []}}').read_text())
    assert sorted(after) == ["0/3g.40gb@0", "0/3g.40gb@4"]
    assert not before & set(after.values())
    modes = gpu_modes.modes("\n".join(nvidia_smi.answer(disk.board, gpu_modes.COMMAND[1:])[1]))
    assert str(modes["mig"]).startswith("GPU 0 Enabled, GPU 1 Disabled")


def test_the_program_fails_for_instances_that_the_board_refuses(disk: Disk) -> None:
    run(disk, '{"gpus": {"0": ["3g.40gb@0", "4g.40gb@0"]}}', fails="Insufficient Resources")


def test_nvidia_smi_is_read_by_gpu_and_place() -> None:
    assert parse_gpu_instances(LISTED) == {0: ["3g.40gb@0", "3g.40gb@4"], 1: ["1g.10gb@6"]}
    assert parse_gpu_instances("No MIG-enabled devices found.\n") == {}
    text = (
        "GPU 0: NVIDIA H100 80GB HBM3 (UUID: GPU-5f0d1d34-2b0c-4b7e-9e1f-0d5a5d6f7a80)\n"
        "  MIG 3g.40gb     Device  0: (UUID: MIG-1c4b2d6a-7c8e-5f90-9a1b-2c3d4e5f6071)\n"
    )
    assert parse_uuids(text) == ["MIG-1c4b2d6a-7c8e-5f90-9a1b-2c3d4e5f6071"]


def test_a_driver_that_does_not_answer_is_not_measured() -> None:
    answers = {name: each for name, each in empty("n1").answers.items() if name != "gpu_modes"}
    found = change(replace(empty("n1"), answers=answers))
    assert found is not None
    assert found.before is None


@pytest.mark.parametrize(
    ("wanted", "fits"),
    [
        ({"1g.10gb": 7}, True),
        ({"1g.10gb": 2, "2g.20gb": 1, "3g.40gb": 1}, True),  # `all-balanced` of mig-parted
        ({"3g.40gb": 2, "1g.10gb": 1}, False),
        ({"4g.40gb": 2}, False),
        ({"1g.10gb": 8}, False),
        ({"7g.80gb": 1}, False),
    ],
)
def test_instances_fit_by_their_places(wanted: dict[str, int], fits: bool) -> None:
    assert (place("H100-80GB-SXM", wanted) is not None) is fits


REFUSALS = {
    "unknown profile": ([{"mig_devices": {"3g.41gb": 1}}], [CHAT], "got 3g.41gb"),
    "too many": ([{"mig_devices": {"3g.40gb": 3}}], [CHAT], "expected instances that fit one H100-80GB-SXM together"),
    "twice": ([{"mig_devices": {"3g.40gb": 2}}, {"devices": [1], "mig_enabled": False}], [CHAT], "in one entry"),
    "beyond": ([{"devices": [8], "mig_devices": {"3g.40gb": 2}}], [CHAT], "from 0 to 7, got 8"),
    "empty": ([{"devices": [0]}], [WHOLE], "expected instances"),
    "both": (BALANCED, [CHAT], "expected mig or mig_layout, got both"),
    "no profile": ([{"mig_devices": {"4g.40gb": 1, "1g.10gb": 3}}], [{"name": "chat"}], "has 4g.40gb and 1g.10gb"),
    "absent profile": (BALANCED, [{**CHAT, "mig_profile": "2g.20gb"}], "of node group gpu, got 2g.20gb"),
    "two slices": (BALANCED, [{**CHAT, "tensor_parallel_size": 2}], "no NVLink and no peer-to-peer"),
    "memory": (BALANCED, [{**CHAT, "kv_cache_memory_bytes": None}], "expected kv_cache_memory_bytes on a MIG slice"),
    "pinned": (BALANCED, [{**CHAT, "gpus": [0]}], "expected no pinned GPUs"),
    "too few": (BALANCED, [{**CHAT, "replicas": 3}], "expected room for 3"),
}


@pytest.mark.parametrize("name", REFUSALS)
def test_a_layout_is_refused_for_its_reason(name: str) -> None:
    layout, pools, message = REFUSALS[name]
    with pytest.raises(SpecError) as caught:
        site(layout, *pools, **({"mig": "3g.40gb"} if name == "both" else {}))
    assert any(message in each.message for each in caught.value.problems), caught.value.problems


def test_a_slice_has_adapters_of_one_tenant() -> None:
    adapters = [
        {"name": name, "tenant": name, "manifest_sha256": "ab" * 32, "licence": "Apache-2.0",
         "licence_approved_by": "head of IT", "licence_approved_because": "trained on our own texts"}
        for name in ("legal", "sales")
    ]  # fmt: skip
    pool = {**CHAT, "lora": {"max_loras": 2, "adapters": adapters}}
    with pytest.raises(SpecError) as caught:
        site(BALANCED, pool)
    assert "adapters of one tenant on a slice, got those of legal and sales" in str(caught.value.problems)


def test_an_instance_has_one_replica_of_one_pool() -> None:
    replicas = assign_gpus(site(BALANCED, CHAT, SMALL, WHOLE).spec)
    taken = [(rank.node, device) for each in replicas for rank in each.ranks for device in rank.gpus]
    assert len(taken) == len(set(taken)) == 5
