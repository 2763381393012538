"""A table of what may leave: rows over entity, tenant and route. Which row decides, and what is wrong with it; pure.

Rows stand from general to specific, and the last one that applies decides. A table in which that could be read in two
ways is refused, so the last row that applies is always the most specific one too:

- a row that is wider than one above it stands too low, and one that stands twice is a mistake or a contradiction;
- two rows that meet in a cell, neither of them inside the other, must agree there, or a row below settles the cell;
- a row that decides no cell is dead;
- on a route without a cloud nothing leaves, so a row applies there only when it names the route, and can only block.

An entity is a kind (`TAX_ID`) or one rule of it (`TAX_ID/DE_TAX_ID`). An empty dimension of a row means everything.

    table = table_of(policy, {"assistant": True}, where="policy")
    table.problems(kinds=["PERSON", "IBAN"])                                 # [] when it can be read in one way only
    table.deciding("PERSON", tenant="retail", route="assistant").action      # "on-prem"
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any, Protocol

from sovctl.support.errors import Problem

BLOCK = "block"
"""The only action that means something where nothing leaves."""
_OTHER = ""  # stands for all tenants that no row names, or for all routes; no name is empty


@dataclass(frozen=True, slots=True)
class Row:
    """One row. Actions are words: what they do is the business of whoever acts on them."""

    where: str
    """Its place in the file, such as `policy.rules[0]`."""
    action: str
    entities: frozenset[str] = frozenset()
    tenants: frozenset[str] = frozenset()
    routes: frozenset[str] = frozenset()

    def is_inside(self, other: Row) -> bool:
        """True when it speaks of nothing that `other` does not speak of as well."""
        return (
            (not other.entities or (bool(self.entities) and all(_has(other.entities, each) for each in self.entities)))
            and (not other.tenants or (bool(self.tenants) and self.tenants <= other.tenants))
            and (not other.routes or (bool(self.routes) and self.routes <= other.routes))
        )


@dataclass(frozen=True, slots=True)
class Table:
    """Rows from general to specific; the first one names nothing and so applies to everything."""

    rows: Sequence[Row]
    routes: Sequence[str] = ()
    """Those with a cloud."""
    inner_routes: Sequence[str] = ()
    """Those without one."""

    def deciding(self, entity: str, *, tenant: str, route: str) -> Row:
        """The row that decides a cell: the last one that applies.

        Args:
            entity: a kind, or `KIND/RULE`.
        """
        return last(self.rows_for(tenant, route), entity)

    def rows_for(self, tenant: str, route: str) -> list[Row]:
        """The rows that apply to a tenant on a route."""
        return [row for row in self.rows if _is_of(row, tenant) and self._is_on(row, route)]

    def tenants(self) -> list[str]:
        """Every tenant that a row names, sorted."""
        return sorted({each for row in self.rows for each in row.tenants})

    def entities(self) -> list[str]:
        """Every `KIND/RULE` that a row names, sorted."""
        return sorted({each for row in self.rows for each in row.entities if "/" in each})

    def problems(self, *, kinds: Sequence[str]) -> list[Problem]:
        """Everything that lets the table be read in two ways.

        Args:
            kinds: all there are.
        """
        found = [*self._idle(), *self._misplaced()]
        return found or [*self._unsettled(kinds)]  # that assumes wider rows above narrower ones

    def _idle(self) -> Iterator[Problem]:
        for row in self.rows:
            for route in sorted(row.routes.intersection(self.inner_routes)):
                if row.action != BLOCK:
                    yield Problem(
                        f"expected {BLOCK} on route {route}, got {row.action}: it names no cloud, so nothing leaves",
                        where=row.where,
                        hint=f"leave {route} out",
                    )

    def _misplaced(self) -> Iterator[Problem]:
        for number, row in enumerate(self.rows):
            for above in self.rows[:number]:
                if not above.is_inside(row):
                    continue
                if not row.is_inside(above):
                    message = f"expected rows from general to specific, got one that is wider than {above.where}"
                    hint = f"move it above {above.where}"
                elif row.action == above.action:
                    message, hint = f"expected every row once, got the one of {above.where} again", "remove one"
                else:
                    message = f"expected {above.action} as in {above.where}, got {row.action} for the same"
                    hint = "remove one of the two"
                yield Problem(message, where=row.where, hint=hint)
                break

    def _unsettled(self, kinds: Sequence[str]) -> Iterator[Problem]:
        """Cells with two answers, then rows that decide none."""
        rows = self.rows
        disputed: dict[tuple[int, int], str] = {}  # by the numbers of two rows, the lower one first
        alive = {rows[0].where}
        inside = [_mask(each is not row and each.is_inside(row) for each in rows) for row in rows]
        for (entities, entity), (tenants, tenant), (routes, route) in product(*self._axes(kinds)):
            present = entities & tenants & routes
            narrowest = [i for i in range(len(rows)) if present >> i & 1 and not inside[i] & present]
            alive.update(rows[i].where for i in narrowest)
            for i in narrowest[:-1]:
                if rows[i].action != rows[narrowest[-1]].action:
                    disputed.setdefault((narrowest[-1], i), _in_words(entity, tenant, route))
        for (lower, upper), cell in sorted(disputed.items()):
            row, other = rows[lower], rows[upper]
            yield Problem(
                f"expected one answer for {cell}, got {row.action} here and {other.action} in {other.where}",
                where=row.where,
                hint="below both, add a row for exactly what they share",
            )
        for row in rows:
            if self.routes and row.where not in alive:
                message = "expected a row that decides something, got one that rows below it replace everywhere"
                yield Problem(message, where=row.where, hint="remove it, or what replaces it")

    def _axes(self, kinds: Sequence[str]) -> list[list[tuple[int, str]]]:
        """Of every dimension: the rows that apply, as a bit mask, with one name that they apply to.

        Names with the same rows behave the same, so that a large table has few cells.
        """
        axes: list[tuple[list[str], Callable[[Row, str], bool]]] = [
            ([*kinds, *self.entities()], lambda row, entity: _has(row.entities, entity)),
            ([*self.tenants(), _OTHER], _is_of),
            ([*self.routes, *self.inner_routes] or [_OTHER], self._is_on),
        ]
        classes: list[dict[int, str]] = [{} for _ in axes]
        for seen, (names, applies) in zip(classes, axes, strict=True):
            for name in names:
                seen.setdefault(_mask(applies(row, name) for row in self.rows), name)
        return [list(seen.items()) for seen in classes]

    def _is_on(self, row: Row, route: str) -> bool:
        if not row.routes:
            return row is self.rows[0] or route not in self.inner_routes
        return route in row.routes


class PolicyRule(Protocol):
    """A further row as a file has it; an empty list means everything."""

    @property
    def entities(self) -> Collection[str]:
        """Kinds and `KIND/RULE`."""

    @property
    def tenants(self) -> Collection[str]:
        """Names."""

    @property
    def routes(self) -> Collection[str]:
        """Model names."""

    @property
    def action(self) -> str:
        """What to do."""


class Policy(Protocol):
    """A policy as a file has it: site.yaml and gateway.yaml use the same words."""

    @property
    def default(self) -> str:
        """The action of the first row."""

    @property
    def entities(self) -> Mapping[Any, str]:
        """Action by kind."""

    @property
    def rules(self) -> Sequence[PolicyRule]:
        """Further rows."""


def table_of(policy: Policy, has_cloud: Mapping[str, bool], *, where: str) -> Table:
    """The table of a policy.

    Args:
        has_cloud: by route.
        where: its place in the file.
    """
    rows = [Row(f"{where}.default", policy.default)]
    rows += [Row(f"{where}.entities.{kind}", policy.entities[kind], frozenset({kind})) for kind in policy.entities]
    rows += [
        Row(
            f"{where}.rules[{i}]",
            rule.action,
            frozenset(rule.entities),
            frozenset(rule.tenants),
            frozenset(rule.routes),
        )
        for i, rule in enumerate(policy.rules)
    ]
    routes = [route for route, has in has_cloud.items() if has]
    return Table(rows, routes, [route for route, has in has_cloud.items() if not has])


def last(rows: Sequence[Row], entity: str) -> Row:
    """The row that decides an entity, of the rows that apply to its tenant and route."""
    return next(row for row in reversed(rows) if _has(row.entities, entity))


def _has(entities: frozenset[str], entity: str) -> bool:
    return not entities or entity in entities or entity.partition("/")[0] in entities


def _is_of(row: Row, tenant: str) -> bool:
    return not row.tenants or tenant in row.tenants


def _mask(bits: Iterable[bool]) -> int:
    return sum(1 << i for i, bit in enumerate(bits) if bit)


def _in_words(entity: str, tenant: str, route: str) -> str:
    return entity + (f" of tenant {tenant}" if tenant else "") + (f" on route {route}" if route else "")
