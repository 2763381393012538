"""Applies the table of request fields: which fields of a request an upstream receives, and which ones refuse it.

tables = request_field_tables(settings)
table = tables["chat", SurfaceName.CHAT]
table.refused_field(body)     # "priority"; "" for a field that no table names; None if the request is accepted
table.removed(body)           # {"cache_salt"}: not sent to this upstream
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from ..settings import FieldAction, GatewaySettings, RequestFieldsRow, SurfaceName, UpstreamKind
from ..settings.traffic.request_fields import (
    PASSED,
    REFUSED,
    REMOVED,
    SWITCHES,
    TEMPLATE_SWITCHES,
    TRANSFER_FIELDS,
)

NO_FIELDS: frozenset[str] = frozenset()


class FieldTable(NamedTuple):
    """The fields of one API at one upstream."""

    passed: frozenset[str]
    """Fields that are sent as they are."""
    refused: frozenset[str]
    switches: frozenset[str] | None
    """Members of `chat_template_kwargs` that are sent; None if the field itself is not sent."""
    removed_fields: frozenset[str]
    unknown: FieldAction
    refused_anywhere: frozenset[str] = NO_FIELDS
    """Keys for which a request is refused in any object of its body."""

    def refused_field(self, body: Mapping[str, Any]) -> str | None:
        """Return a field for which the request is refused; "" if the table does not name it. None: accepted.

        A field whose value is null counts as absent.
        """
        if self.refused_anywhere and (name := _key_within(body, self.refused_anywhere)) is not None:
            return name
        if body.keys() <= self.passed:
            return None
        for name in body.keys() & self.refused:
            if body[name] is not None:
                return name
        if (switches := body.get(TEMPLATE_SWITCHES)) is not None and self.switches is not None:
            is_listed = isinstance(switches, dict) and switches.keys() <= self.switches
            if not is_listed or any(isinstance(value, dict | list) for value in switches.values()):
                return TEMPLATE_SWITCHES
        if self.unknown is FieldAction.REFUSE:
            known = self.passed | self.removed_fields | self.refused | {TEMPLATE_SWITCHES}
            if any(body[name] is not None for name in body.keys() - known):
                return ""
        return None

    def removed(self, body: Mapping[str, Any]) -> frozenset[str]:
        """Return the fields of the request that are not sent."""
        if body.keys() <= self.passed:
            return NO_FIELDS
        removed = body.keys() & (self.removed_fields | self.refused)
        if self.unknown is not FieldAction.PASS:
            removed |= body.keys() - self.passed
        if self.switches is not None:
            removed -= {TEMPLATE_SWITCHES}
        return frozenset(removed)


FieldTables = Mapping[tuple[str, SurfaceName], FieldTable]
"""Tables by the name of the upstream and the API."""


def request_field_tables(settings: GatewaySettings) -> FieldTables:
    """Return the table of each upstream and each of its APIs."""
    paired = {
        name for each in settings.upstreams if each.prefill is not None for name in (each.name, each.prefill.upstream)
    }
    return {
        (upstream.name, surface): _table(
            surface,
            [
                row
                for row in settings.request_fields
                if upstream.name in (row.upstreams or [upstream.name]) and surface in (row.surfaces or [surface])
            ],
            unknown=FieldAction.STRIP if upstream.kind is UpstreamKind.POOL else FieldAction.PASS,
            refused_anywhere=TRANSFER_FIELDS if upstream.name in paired else NO_FIELDS,
        )
        for upstream in settings.upstreams
        for surface in upstream.surfaces
    }


def _table(
    surface: SurfaceName,
    rows: Iterable[RequestFieldsRow],
    *,
    unknown: FieldAction,
    refused_anywhere: frozenset[str],
) -> FieldTable:
    actions = dict.fromkeys(PASSED[surface], FieldAction.PASS)
    actions |= dict.fromkeys(REFUSED, FieldAction.REFUSE)
    actions |= dict.fromkeys(REMOVED, FieldAction.STRIP)
    switches = set(SWITCHES)
    for row in rows:
        switches |= {name.partition(".")[2] for name in row.allow if "." in name}
        actions |= dict.fromkeys((name for name in row.allow if "." not in name), FieldAction.PASS)
        actions |= dict.fromkeys(row.strip, FieldAction.STRIP)
        actions |= dict.fromkeys(row.refuse, FieldAction.REFUSE)
        unknown = row.unknown or unknown
    by_action = {each: frozenset(name for name, action in actions.items() if action is each) for each in FieldAction}
    has_switches = actions.get(TEMPLATE_SWITCHES, unknown) is FieldAction.PASS
    return FieldTable(
        by_action[FieldAction.PASS] - {TEMPLATE_SWITCHES},
        by_action[FieldAction.REFUSE],
        frozenset(switches) if has_switches else None,
        by_action[FieldAction.STRIP],
        unknown,
        refused_anywhere,
    )


def _key_within(body: Mapping[str, Any], keys: frozenset[str]) -> str | None:
    """Return one of `keys` that an object of the body has, at any depth; None without one."""
    pending: list[Any] = [body]
    while pending:
        value = pending.pop()
        if isinstance(value, dict):
            if not keys.isdisjoint(value):
                return min(keys.intersection(value))
            pending += value.values()
        elif isinstance(value, list):
            pending += value
    return None
