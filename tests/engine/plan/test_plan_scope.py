"""A plan covers exactly the nodes and resources of its scope."""

from __future__ import annotations

import pytest
from planned_nodes import empty
from strategies import context

from sovctl.engine.plan.build import changes
from sovctl.engine.plan.order import RESOURCE_TYPES
from sovctl.engine.plan.scope import Scope, chosen, with_replicas
from sovctl.engine.resources.context import Context
from sovctl.support.errors import InputError

KINDS = [kind.name for kind in RESOURCE_TYPES]


def scope(preset: str, *, limit: tuple[str, ...] = (), targets: tuple[str, ...] = ()) -> Scope:
    return chosen(context(preset), limit=limit, targets=targets, kinds=KINDS)


def everything_new(site: Context, chosen_scope: Scope) -> set[tuple[str, str, str]]:
    facts = {node.name: empty(node.name) for _, node in site.spec.nodes() if chosen_scope.has_node(node.name)}
    return {(each.node, each.kind, each.name) for each in changes(site, facts, scope=chosen_scope)}


def test_patterns_of_nodes_follow_the_order_of_the_site() -> None:
    assert scope("superpod-b200", limit=("gw-*,dgx-31", "dgx-32")).nodes == (
        "dgx-31",
        "dgx-32",
        "gw-1",
        "gw-2",
        "gw-3",
        "gw-4",
    )


def test_a_limit_plans_nothing_of_other_nodes() -> None:
    site = context("superpod-b200")
    found = everything_new(site, scope("superpod-b200", limit=("dgx-31",)))
    assert found
    assert {node for node, _, _ in found} == {"dgx-31"}


def test_a_target_plans_only_its_resources() -> None:
    site = context("lab")
    found = everything_new(site, scope("lab", targets=("package/nvidia-*", "clock")))
    assert {kind for _, kind, _ in found} == {"package", "clock"}
    assert all(name.startswith("nvidia-") for _, kind, name in found if kind == "package")


def test_the_nodes_of_a_replica_are_not_separated() -> None:
    with pytest.raises(InputError, match="dgx-02 has ranks of the same replicas") as error:
        scope("superpod-b200", limit=("dgx-01",))
    assert error.value.where == "--limit"
    assert scope("superpod-b200", limit=("dgx-0[12]",)).nodes == ("dgx-01", "dgx-02")


def test_unknown_names_are_refused_with_a_suggestion() -> None:
    with pytest.raises(InputError) as error:
        scope("superpod-b200", limit=("dgx-33",))
    assert "did you mean" in (error.value.hint or "")
    with pytest.raises(InputError, match="no resource type matches `packages`"):
        scope("superpod-b200", targets=("packages/nvidia-open",))


def test_an_unobserved_node_takes_the_other_ranks_of_its_replicas_with_it() -> None:
    assert with_replicas(context("superpod-b200"), ["dgx-02"]) == {"dgx-02": "", "dgx-01": "long-context"}


def test_a_scope_is_read_back_from_the_plan_file() -> None:
    made = scope("superpod-b200", limit=("dgx-31",), targets=("package",))
    assert Scope.from_json(made.to_json()) == made
