"""The egress policy: a table of actions by entity type, tenant and route. Pure.

Rows are ordered from general to specific, and the last applicable row decides. An ambiguous table is rejected, so the
last applicable row is also the most specific one:

- A row may not be wider than a row above it, and no row may occur twice.
- Two rows that overlap without one containing the other must have the same action, unless a later row decides the
  overlap.
- Every row must decide at least one cell.
- On a route without a cloud, a row applies only if it names the route, and its action must be `block`.

An entity is an entity type (`TAX_ID`) or one rule of it (`TAX_ID/DE_TAX_ID`). An empty dimension of a row means all.
Special categories of personal data (`SPECIAL_CATEGORY`) are processed on-prem unless a row names them or blocks all
entity types, because a table that was written for identifiers must not permit them. They have no text to replace, so
`tokenize` and `mask` are rejected for them.

    table = table_of(policy, {"assistant": True}, where="policy")
    table.problems(entity_types=["PERSON", "IBAN"])                                 # [] if the table is unambiguous
    table.deciding("PERSON", tenant="retail", route="assistant").action      # "on-prem"
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any, Protocol

from sovctl.support.errors import Problem

BLOCK = "block"
"""The only action allowed on a route without a cloud."""
SPECIAL_CATEGORY = "SPECIAL_CATEGORY"
"""Entity type of special categories of personal data (GDPR Art. 9 and 10); its rules are the categories."""
_REPLACING = frozenset({"tokenize", "mask"})
_OTHER = ""  # represents all tenants without a row, or all routes; names cannot be empty


@dataclass(frozen=True, slots=True)
class Row:
    """One row. The table does not interpret actions, except `block`."""

    where: str
    """Path in the file, such as `policy.rules[0]`."""
    action: str
    entity_types: frozenset[str] = frozenset()
    tenants: frozenset[str] = frozenset()
    routes: frozenset[str] = frozenset()

    def is_inside(self, other: Row) -> bool:
        """Return whether `other` applies to every cell that this row applies to."""
        return (
            (
                not other.entity_types
                or (bool(self.entity_types) and all(_has(other.entity_types, each) for each in self.entity_types))
            )
            and (not other.tenants or (bool(self.tenants) and self.tenants <= other.tenants))
            and (not other.routes or (bool(self.routes) and self.routes <= other.routes))
        )


_SPECIAL_DEFAULT = Row(f"the default of {SPECIAL_CATEGORY}", "on-prem", frozenset({SPECIAL_CATEGORY}))


@dataclass(frozen=True, slots=True)
class Table:
    """Rows from general to specific. The first row has no conditions and applies to all cells."""

    rows: Sequence[Row]
    routes: Sequence[str] = ()
    """Routes with a cloud."""
    inner_routes: Sequence[str] = ()
    """Routes without a cloud."""

    def deciding(self, entity: str, *, tenant: str, route: str) -> Row:
        """Return the row that decides a cell: the last applicable one.

        Args:
            entity: an entity type, or `TYPE/RULE`.
        """
        return last(self.rows_for(tenant, route), entity)

    def rows_for(self, tenant: str, route: str) -> list[Row]:
        """Return the rows that apply to a tenant on a route."""
        return [row for row in self.rows if _is_of(row, tenant) and self._is_on(row, route)]

    def tenants(self) -> list[str]:
        """Return all tenants named in rows, sorted."""
        return sorted({each for row in self.rows for each in row.tenants})

    def entity_types(self) -> list[str]:
        """Return all `TYPE/RULE` named in rows, sorted."""
        return sorted({each for row in self.rows for each in row.entity_types if "/" in each})

    def problems(self, *, entity_types: Sequence[str]) -> list[Problem]:
        """Return every ambiguity of the table.

        Args:
            entity_types: all entity types.
        """
        found = [*self._idle(), *self._replacing(), *self._misplaced()]
        return found or [*self._ambiguous(entity_types)]  # requires that wider rows precede narrower ones

    def _idle(self) -> Iterator[Problem]:
        for row in self.rows:
            for route in sorted(row.routes.intersection(self.inner_routes)):
                if row.action != BLOCK:
                    yield Problem(
                        f"expected {BLOCK} on route {route}, got {row.action}: the route has no cloud",
                        where=row.where,
                        hint=f"remove {route} from the row",
                    )

    def _replacing(self) -> Iterator[Problem]:
        for row in self.rows:
            if row.action in _REPLACING and any(_is_special(entity) for entity in row.entity_types):
                message = f"expected on-prem, block or allow for {SPECIAL_CATEGORY}, got {row.action}"
                yield Problem(message, where=row.where, hint="its findings have no text that a token could replace")

    def _misplaced(self) -> Iterator[Problem]:
        for number, row in enumerate(self.rows):
            for above in self.rows[:number]:
                if not above.is_inside(row):
                    continue
                if not row.is_inside(above):
                    message = f"expected rows from general to specific, got a row wider than {above.where}"
                    hint = f"move it above {above.where}"
                elif row.action == above.action:
                    message, hint = f"duplicate of {above.where}", "remove one of the two"
                else:
                    message = f"expected {above.action} as in {above.where}, got {row.action} for the same cells"
                    hint = "remove one of the two"
                yield Problem(message, where=row.where, hint=hint)
                break

    def _ambiguous(self, entity_types: Sequence[str]) -> Iterator[Problem]:
        """Yield cells with two actions, then rows that decide no cell."""
        rows = self.rows
        disputed: dict[tuple[int, int], str] = {}  # by the numbers of two rows, the lower one first
        alive = {rows[0].where}
        inside = [_mask(each is not row and each.is_inside(row) for each in rows) for row in rows]
        for (of_entity, entity), (of_tenant, tenant), (of_route, route) in product(*self._axes(entity_types)):
            present = of_entity & of_tenant & of_route
            narrowest = [i for i in range(len(rows)) if present >> i & 1 and not inside[i] & present]
            alive.update(rows[i].where for i in narrowest)
            for i in narrowest[:-1]:
                if rows[i].action != rows[narrowest[-1]].action:
                    disputed.setdefault((narrowest[-1], i), _in_words(entity, tenant, route))
        for (lower, upper), cell in sorted(disputed.items()):
            row, other = rows[lower], rows[upper]
            yield Problem(
                f"ambiguous for {cell}: {row.action} here, {other.action} in {other.where}",
                where=row.where,
                hint="after both, add a row for their overlap",
            )
        for row in rows:
            if self.routes and row.where not in alive:
                message = "the row has no effect, because later rows override it everywhere"
                yield Problem(message, where=row.where, hint="remove it, or the later rows")

    def _axes(self, entity_types: Sequence[str]) -> list[list[tuple[int, str]]]:
        """Return for every dimension: bit masks of the applicable rows, each with one example name.

        Names with the same applicable rows are merged, so that a large table has few cells.
        """
        axes: list[tuple[list[str], Callable[[Row, str], bool]]] = [
            ([*entity_types, *self.entity_types()], lambda row, entity: _has(row.entity_types, entity)),
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
    """A rule of the policy in a settings file. An empty list means all."""

    @property
    def entity_types(self) -> Collection[str]:
        """Entity types and `TYPE/RULE`."""

    @property
    def tenants(self) -> Collection[str]:
        """Tenant names."""

    @property
    def routes(self) -> Collection[str]:
        """Model names."""

    @property
    def action(self) -> str:
        """Action of the row."""


class Policy(Protocol):
    """The policy in a settings file; site.yaml and gateway.yaml have the same keys."""

    @property
    def default(self) -> str:
        """The action of the first row."""

    @property
    def entity_types(self) -> Mapping[Any, str]:
        """Action by entity type."""

    @property
    def rules(self) -> Sequence[PolicyRule]:
        """Rules, from general to specific."""


def table_of(policy: Policy, has_cloud: Mapping[str, bool], *, where: str) -> Table:
    """Return the table of a policy.

    Args:
        has_cloud: whether a route has a cloud, by route.
        where: path of the policy in the file.
    """
    rows = [Row(f"{where}.default", policy.default)]
    rows += [
        Row(f"{where}.entity_types.{kind}", policy.entity_types[kind], frozenset({kind}))
        for kind in policy.entity_types
    ]
    rows += [
        Row(
            f"{where}.rules[{i}]",
            rule.action,
            frozenset(rule.entity_types),
            frozenset(rule.tenants),
            frozenset(rule.routes),
        )
        for i, rule in enumerate(policy.rules)
    ]
    routes = [route for route, has in has_cloud.items() if has]
    return Table(rows, routes, [route for route, has in has_cloud.items() if not has])


def last(rows: Sequence[Row], entity: str) -> Row:
    """Return the row that decides an entity, given the rows that apply to its tenant and route."""
    if not _is_special(entity):
        return next(row for row in reversed(rows) if _has(row.entity_types, entity))
    applicable = (row for row in reversed(rows) if _has(row.entity_types, entity))
    return next((row for row in applicable if row.entity_types or row.action == BLOCK), _SPECIAL_DEFAULT)


def _is_special(entity: str) -> bool:
    return entity.partition("/")[0] == SPECIAL_CATEGORY


def _has(entity_types: frozenset[str], entity: str) -> bool:
    return not entity_types or entity in entity_types or entity.partition("/")[0] in entity_types


def _is_of(row: Row, tenant: str) -> bool:
    return not row.tenants or tenant in row.tenants


def _mask(bits: Iterable[bool]) -> int:
    return sum(1 << i for i, bit in enumerate(bits) if bit)


def _in_words(entity: str, tenant: str, route: str) -> str:
    return entity + (f" of tenant {tenant}" if tenant else "") + (f" on route {route}" if route else "")
