"""A policy table has one reading, or is refused with the place where it has two."""

from __future__ import annotations

from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sovctl.compliance.egress_policy import BLOCK, Row, Table

ENTITY_TYPES = ("IBAN", "PERSON", "TAX_ID")
ENTITIES = (*ENTITY_TYPES, "TAX_ID/DE_TAX_ID")
TENANTS = ("hr", "retail")
ROUTES = ("assistant", "research")


def table(*rows: tuple[str, dict[str, list[str]]], inner: tuple[str, ...] = ()) -> Table:
    """Rows below a default of `tokenize`, named by their number."""
    further = [
        Row(f"rules[{i}]", action, **{name: frozenset(words) for name, words in scope.items()})
        for i, (action, scope) in enumerate(rows)
    ]
    return Table([Row("default", "tokenize"), *further], ROUTES, inner)


def problems(*rows: tuple[str, dict[str, list[str]]], inner: tuple[str, ...] = ()) -> list[tuple[str, str]]:
    return [(each.where, each.message) for each in table(*rows, inner=inner).problems(entity_types=ENTITY_TYPES)]


_PERSON, _HR, _RESEARCH = {"entity_types": ["PERSON"]}, {"tenants": ["hr"]}, {"routes": ["research"]}


def test_the_most_specific_row_decides() -> None:
    rules = table(
        ("on-prem", _PERSON),
        ("mask", {**_PERSON, **_HR}),
        ("block", {**_PERSON, **_HR, **_RESEARCH}),
        ("allow", {"entity_types": ["TAX_ID"]}),
        ("mask", {"entity_types": ["TAX_ID/DE_TAX_ID"]}),
    )
    assert not rules.problems(entity_types=ENTITY_TYPES)
    for cell, action in {
        ("IBAN", "hr", "research"): "tokenize",
        ("PERSON", "retail", "research"): "on-prem",
        ("PERSON", "hr", "assistant"): "mask",
        ("PERSON", "hr", "research"): "block",
        ("TAX_ID", "hr", "research"): "allow",
        ("TAX_ID/FR_NIR", "hr", "research"): "allow",
        ("TAX_ID/DE_TAX_ID", "hr", "research"): "mask",
    }.items():
        assert rules.deciding(cell[0], tenant=cell[1], route=cell[2]).action == action


@pytest.mark.parametrize(
    ("rows", "where", "message"),
    [
        ([("mask", {**_PERSON, **_HR}), ("on-prem", _PERSON)], "rules[1]", "wider than rules[0]"),
        ([("mask", _PERSON), ("tokenize", {})], "rules[1]", "duplicate of default"),
        ([("mask", {}), ("mask", _PERSON)], "rules[0]", "expected tokenize as in default, got mask"),
        ([("mask", _PERSON), ("mask", _PERSON)], "rules[1]", "duplicate of rules[0]"),
        ([("mask", _PERSON), ("block", _PERSON)], "rules[1]", "expected mask as in rules[0], got block"),
        (
            [("on-prem", _PERSON), ("allow", _HR)],
            "rules[1]",
            "ambiguous for PERSON of tenant hr on route assistant: allow here, on-prem in rules[0]",
        ),
        (
            [("on-prem", _HR), ("allow", {"entity_types": ["TAX_ID/DE_TAX_ID"]})],
            "rules[1]",
            "ambiguous for TAX_ID/DE_TAX_ID of tenant hr",
        ),
        (
            [("on-prem", _PERSON), ("mask", {**_PERSON, "routes": ["assistant"]}), ("block", {**_PERSON, **_RESEARCH})],
            "rules[0]",
            "because later rows override it everywhere",
        ),
    ],
)
def test_two_readings_are_refused_with_their_place(
    rows: list[tuple[str, dict[str, list[str]]]], where: str, message: str
) -> None:
    found = problems(*rows)
    assert found[0][0] == where
    assert message in found[0][1]


def test_a_row_for_what_two_others_share_settles_it() -> None:
    disputed = [("on-prem", _PERSON), ("allow", _HR)]
    assert problems(*disputed)
    assert not problems(*disputed, ("on-prem", {**_PERSON, **_HR}))


def test_where_nothing_leaves_only_block_means_something_and_only_by_name() -> None:
    rules = table(("block", _PERSON), ("block", {**_PERSON, "routes": ["inside"]}), inner=("inside",))
    assert not rules.problems(entity_types=ENTITY_TYPES)
    assert rules.deciding("PERSON", tenant="hr", route="inside").where == "rules[1]"
    assert rules.deciding("IBAN", tenant="hr", route="inside").where == "default"
    assert problems(("mask", {"routes": ["inside"]}), inner=("inside",)) == [
        ("rules[0]", "expected block on route inside, got mask: the route has no cloud")
    ]


def test_a_site_without_a_cloud_may_keep_its_rows() -> None:
    rows = [Row("default", "tokenize"), Row("rules[0]", "block", entity_types=frozenset({"PERSON"}))]
    assert not Table(rows, (), ("inside",)).problems(entity_types=ENTITY_TYPES)


def test_a_large_table_is_checked_in_the_number_of_its_kinds_of_cells() -> None:
    rows = [
        (action, {"entity_types": [kind], "tenants": [f"t{i}"], "routes": [f"r{i}"]})
        for i in range(150)
        for kind, action in (("IBAN", "mask"), ("PERSON", "block"))
    ]
    routes = [f"r{i}" for i in range(150)]
    big = Table(table(*rows).rows, routes)
    assert not big.problems(entity_types=ENTITY_TYPES)


_ROWS = st.lists(
    st.tuples(
        st.sampled_from(["mask", "on-prem", BLOCK]),
        st.fixed_dictionaries(
            {
                "entity_types": st.lists(st.sampled_from(ENTITIES), max_size=2, unique=True),
                "tenants": st.lists(st.sampled_from(TENANTS), max_size=2, unique=True),
                "routes": st.lists(st.sampled_from(ROUTES), max_size=2, unique=True),
            }
        ),
    ),
    max_size=5,
)


@given(_ROWS)
def test_in_a_table_without_problems_every_order_of_reading_gives_the_same(
    rows: list[tuple[str, dict[str, list[str]]]],
) -> None:
    """Of the rows that apply, those with no other one inside them agree, and the last row is one of them."""
    rules = table(*rows)
    found = rules.problems(entity_types=ENTITY_TYPES)
    decided = set()
    for entity, tenant, route in product(ENTITIES, (*TENANTS, "other"), ROUTES):
        applying = [
            row
            for row in rules.rows
            if (not row.entity_types or {entity, entity.partition("/")[0]} & row.entity_types)
            and (not row.tenants or tenant in row.tenants)
            and (not row.routes or route in row.routes)
        ]
        narrowest = [a for a in applying if not any(b is not a and b.is_inside(a) for b in applying)]
        decided |= {row.where for row in narrowest}
        if not found:
            deciding = rules.deciding(entity, tenant=tenant, route=route)
            assert deciding in narrowest
            assert {row.action for row in narrowest} == {deciding.action}
    if not found:
        assert decided | {"default"} == {row.where for row in rules.rows}
