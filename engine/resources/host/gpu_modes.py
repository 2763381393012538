"""Modes of the GPUs: persistence mode enabled, MIG disabled.

sovctl plans whole GPUs only, and `plan` rejects a site with `node_groups[].mig`. A GPU that was cut into MIG slices by
hand has no device that a pool can use, so that the plan shows it and apply disables MIG. A GPU in use keeps its mode,
and apply fails.
"""

from __future__ import annotations

from collections.abc import Iterator

from ...facts.node import NodeFacts
from ...spec import Node
from ..context import Context
from ..resource import Desired, Risk, State
from ..resource_type import Query, ResourceType

COMMAND = ["nvidia-smi", "--query-gpu=index,persistence_mode,mig.mode.current", "--format=csv,noheader"]
_WITHOUT_MIG = ("[N/A]", "N/A", "[Not Supported]")


def _expect(context: Context, node: Node, _facts: NodeFacts | None) -> Iterator[Desired]:
    if context.platform(node).has_gpus:
        yield Desired(
            kind="gpu_modes",
            name="all",
            state={"persistence": "Enabled", "mig": "Disabled"},
            why="the driver stays loaded, and pools use whole GPUs",
            risk=Risk.WORKLOAD,
        )


def modes(text: str) -> dict[str, str | None]:
    """Return the common value of each mode; the values with their GPUs if they differ; None without a GPU."""
    rows = [[word.strip() for word in line.split(",")] for line in text.splitlines() if line.strip()]
    if not rows or any(len(row) != 3 for row in rows):
        return {"persistence": None, "mig": None}
    mig = ["Disabled" if row[2] in _WITHOUT_MIG else row[2] for row in rows]
    indices = [row[0] for row in rows]
    return {"persistence": _common(indices, [row[1] for row in rows]), "mig": _common(indices, mig)}


def _common(indices: list[str], values: list[str]) -> str:
    if len(set(values)) == 1:
        return values[0]
    return ", ".join(f"GPU {index} {value}" for index, value in zip(indices, values, strict=True))


def _observe(facts: NodeFacts, _desired: Desired) -> State | None:
    answer = facts.answers.get("gpu_modes", {})
    if answer.get("exit_code") != 0:  # no driver yet, or it does not answer
        return None
    return modes(str(answer["stdout"]))


def _query(context: Context, node: Node) -> Query:
    return Query(commands={"gpu_modes": COMMAND}) if context.platform(node).has_gpus else Query()


RESOURCE_TYPE = ResourceType("gpu_modes", _expect, _observe, _query)
