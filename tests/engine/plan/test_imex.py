"""IMEX: the nodes of an NVLink domain are in its settings, restart it, reach each other, and are known."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import golden_nodes
import pytest
from golden_nodes import capture
from strategies import EXAMPLES, TODAY

from sovctl.engine.facts.node import parse_node
from sovctl.engine.plan.build import changes, context_of
from sovctl.engine.plan.support import refusals
from sovctl.engine.resources.context import Context, render
from sovctl.engine.resources.host import imex
from sovctl.engine.resources.perimeter import rules_for
from sovctl.engine.validation.load import load

CASE: dict[str, Any] = json.loads((EXAMPLES.parent / "tests/cases/plans/gb200_tray_ubuntu.json").read_text())


def rack(folder: Path, trays: int) -> Context:
    """A site with this number of trays in its node group."""
    text = golden_nodes.SITE.format(platform=CASE["platform"], lock=CASE["lock"], zeros="0" * 64)
    nodes = ", ".join(f"{{name: node-{each}, address: 192.0.2.{10 + each}}}" for each in range(1, trays + 1))
    text = text.replace("[{name: node-1, address: 192.0.2.11}]", f"[{nodes}]")
    (folder / "site.yaml").write_text(text)
    return context_of(load(folder / "site.yaml", today=TODAY).spec, folder)


def with_file(text: str | None) -> Any:
    given = capture(CASE)
    given["texts"][imex.FILE] = text
    return {"node-1": parse_node(given)}


def test_every_tray_has_the_addresses_of_its_rack_in_one_order(tmp_path: Path) -> None:
    context = rack(tmp_path, 3)
    change = next(each for each in changes(context, with_file(None)) if each.kind == "imex")
    assert (change.before, change.after) == (None, {"nodes": ["192.0.2.11", "192.0.2.12", "192.0.2.13"]})
    written = render("imex", "nodes_config.cfg.j2", nodes=list((change.after or {})["nodes"]))
    assert [each for each in changes(context, with_file(written)) if each.kind == "imex"] == []


def test_another_order_or_number_is_a_difference(tmp_path: Path) -> None:
    context = rack(tmp_path, 2)
    for text in ("192.0.2.12\n192.0.2.11\n", "192.0.2.11\n", ""):
        assert [each.id for each in changes(context, with_file(text)) if each.kind == "imex"] == ["node-1/imex/domain"]


def test_trays_of_a_rack_reach_the_port_of_imex_on_each_other(tmp_path: Path) -> None:
    context = rack(tmp_path, 2)
    rules = rules_for(context, context.spec.node("node-1"))
    assert "ip saddr 192.0.2.12 tcp dport 50000 accept" in rules.inbound
    assert "ip daddr 192.0.2.12 tcp dport 50000 accept" in rules.outbound
    assert "192.0.2.11 tcp dport 50000" not in " ".join(rules.inbound)


@pytest.mark.parametrize(("trays", "is_refused"), [(18, False), (19, True)])
def test_a_group_of_more_nodes_than_a_rack_is_refused(tmp_path: Path, trays: int, is_refused: bool) -> None:
    context = rack(tmp_path, trays)
    found = [each.message for each in refusals(context, with_file(None)) if "NVLink domain" in each.message]
    assert bool(found) is is_refused
    assert bool(imex.domain_of(context, context.spec.node("node-1"))) is not is_refused


def test_boards_without_imex_have_no_domain(tmp_path: Path) -> None:
    case = json.loads((EXAMPLES.parent / "tests/cases/plans/hgx_b200_ubuntu.json").read_text())
    context = golden_nodes.site(case, tmp_path)
    assert imex.domain_of(context, context.spec.node("node-1")) == []
