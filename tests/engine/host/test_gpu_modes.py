"""GPU modes and CDI: a GPU that differs is named, and a tool that does not answer is not measured."""

from __future__ import annotations

from dataclasses import replace

import pytest
from planned_nodes import planned
from strategies import context

from sovctl.engine.plan.build import changes
from sovctl.engine.resources.host.gpu_modes import modes


def test_a_gpu_that_differs_is_named() -> None:
    assert modes("0, Enabled, Disabled\n1, Enabled, Enabled\n") == {
        "persistence": "Enabled", "mig": "GPU 0 Disabled, GPU 1 Enabled",
    }  # fmt: skip
    assert modes("0, Enabled, [N/A]\n") == {"persistence": "Enabled", "mig": "Disabled"}


@pytest.mark.parametrize("text", ["", "No devices were found\n", "0, Enabled\n"])
def test_another_output_is_not_measured(text: str) -> None:
    assert modes(text) == {"persistence": None, "mig": None}


def test_a_driver_that_does_not_answer_is_a_difference() -> None:
    facts = planned("lab")[0]
    failed = {"exit_code": 9, "stdout": "NVIDIA-SMI has failed", "stderr": ""}
    node = replace(facts["n1"], answers={**facts["n1"].answers, "gpu_modes": failed})
    [change] = changes(context("lab"), {**facts, "n1": node})
    assert (change.id, change.before) == ("n1/gpu_modes/all", None)


def test_a_specification_of_another_driver_is_a_difference() -> None:
    facts = planned("bank-hybrid")[0]
    path = "/var/run/cdi/nvidia.yaml"
    node = replace(facts["dgx-1"], texts={**facts["dgx-1"].texts, path: "/usr/lib64/libcuda.so.570.1.2\n"})
    [change] = changes(context("bank-hybrid"), {**facts, "dgx-1": node})
    assert (change.id, change.before) == ("dgx-1/container_toolkit/cdi", {"driver": "570.1.2"})
