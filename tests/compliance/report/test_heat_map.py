"""The heat map and the register: the same rules as the assessment, and no record without a row."""

from __future__ import annotations

from datetime import UTC, date, datetime, time
from typing import Any

import pytest
from evidence_specimens import control_map, made, stored
from hypothesis import given
from hypothesis import strategies as st
from page_specimen import EXCEPTIONS, WAIVED

from sovctl.compliance.controls.assessment import assess
from sovctl.compliance.controls.pack import Control, Pack
from sovctl.compliance.evidence.freshness import is_stale
from sovctl.compliance.report.heat_map import HeatMap, heat_map, natural_order, nodes_of
from sovctl.compliance.report.register import check_blocks

NODES = ["gpu-1", "gpu-03", "services"]
DAY = date(2026, 11, 21)
CONTROL = Control(id="cm-11", title="T", family="F", mapping=control_map(WAIVED, "a.two"))
PACK = Pack(name="p", title="t", source="s", licence="l", controls=(CONTROL,))
VERDICTS = st.sampled_from(["PASS", "PASS", "WARN", "FAIL", "UNKNOWN", "N/A", None])
EXPIRIES = st.sampled_from(["2026-11-21T11:00:00Z", "2036-12-21T10:15:01Z"])


def shown(items: list[Any]) -> tuple[str, HeatMap, dict[str, list[dict[str, Any]]], dict[str, int]]:
    """The state of the control, the heat map, the items by check, and the numbers of the records."""
    records, at = stored(items), datetime.combine(DAY, time(12), UTC)
    (result,) = assess(PACK, records, on=DAY, at=at, exceptions=EXCEPTIONS).results
    control = {
        "id": "cm-11",
        "family": "F",
        "state": result.state.value,
        "mapping": {"checks": [WAIVED, "a.two"]},
        "waivers": [waiver.model_dump(mode="json") for waiver in result.waivers],
    }
    by_check: dict[str, list[dict[str, Any]]] = {}
    for each in records:
        record, population = each.evidence.as_record(), each.evidence.population.model_dump(mode="json")
        stale = is_stale(record["expires"], record["verdict"], "2026-11-21T12:00:00Z")
        item = {"sha256": each.sha256, "record": record, "leaf_index": each.leaf_index, "proof": [], "stale": stale}
        item["population"] = population
        by_check.setdefault(record["check_id"], []).append(item)
    numbers = {each.sha256: number for number, each in enumerate(records, start=1)}
    return result.state.value, heat_map([control], by_check, numbers), by_check, numbers


@given(st.lists(st.tuples(VERDICTS, EXPIRIES), min_size=6, max_size=6))
def test_the_cells_of_a_control_agree_with_its_state(answers: list[tuple[str | None, str]]) -> None:
    asked = [(check, node) for check in (WAIVED, "a.two") for node in NODES]
    items = [
        made(check, node, verdict, others=NODES, expires=expires)
        for (check, node), (verdict, expires) in zip(asked, answers, strict=True)
        if verdict
    ]
    state, heat, by_check, numbers = shown(items)
    cells = {cell.state for cell in heat.families[0].rows[0].cells}
    assert (state == "fail") == ("fail" in cells)
    if state == "error":
        assert cells & {"error", "not-run"}
    if state in ("pass", "n-a", "waived"):
        assert state in cells
        assert cells <= {"pass", "n-a", "waived"}
    if state == "not-run":
        assert cells <= {"not-run"}
    columns = [node for column in heat.columns for node in column.nodes]
    assert sorted(columns) == sorted(NODES if items else [])
    rows = [row.number for block in check_blocks(by_check, numbers).values() for g in block.groups for row in g.rows]
    assert sorted(rows) == sorted(numbers.values())


def test_a_check_that_never_ran_leaves_no_cell_passed() -> None:
    state, heat, _, _ = shown([made(WAIVED, node, others=NODES) for node in NODES])
    assert state == "error"
    assert {cell.state for cell in heat.families[0].rows[0].cells} == {"error"}


def test_records_that_differ_in_the_node_only_share_their_command_and_reason() -> None:
    items = [made("a.two", n, others=NODES, command=f"ssh {n} id", reason=f"{n} is right") for n in NODES]
    _, _, by_check, numbers = shown(items)
    (group,) = check_blocks(by_check, numbers)["a.two"].groups
    assert (group.command, group.reason, len(group.rows)) == ("ssh {node} id", "{node} is right", 3)


def test_reasons_with_own_measurements_stay_in_the_rows() -> None:
    items = [made("a.two", node, others=NODES, reason=f"got {at} W") for at, node in enumerate(NODES)]
    _, _, by_check, numbers = shown(items)
    (group,) = check_blocks(by_check, numbers)["a.two"].groups
    assert group.reason == ""
    assert {row.item["record"]["target"]: row.reason for row in group.rows} == {
        node: f"got {at} W" for at, node in enumerate(NODES)
    }


def test_another_verdict_or_command_is_a_group_of_its_own() -> None:
    items = [made("a.two", "gpu-1", "FAIL", others=NODES), made("a.two", "gpu-03", others=NODES, command="other")]
    _, _, by_check, numbers = shown([*items, made("a.two", "services", others=NODES)])
    block = check_blocks(by_check, numbers)["a.two"]
    assert [(group.verdict, len(group.rows)) for group in block.groups] == [("FAIL", 1), ("PASS", 1), ("PASS", 1)]
    assert block.counts == [("FAIL", 1), ("PASS", 2)]


@pytest.mark.parametrize(
    ("target", "nodes"), [("n1", ["n1"]), ("n1/chat", ["n1"]), ("n1+n2", ["n1", "n2"]), ("site", ["site"])]
)
def test_a_target_belongs_to_its_nodes(target: str, nodes: list[str]) -> None:
    assert nodes_of(target) == nodes


def test_nodes_are_in_the_order_of_their_numbers() -> None:
    assert sorted(["n10", "site", "n2"], key=natural_order) == ["n2", "n10", "site"]
