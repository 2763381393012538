"""Usage and spend by day or month, over all workers: pure, from the rows of the store, as page, JSON and CSV.

    table = usage_table(rows, period=Period.MONTH, currency="EUR", includes=scope.includes)
    usage_csv(table)

CSV follows RFC 4180. A cell that a spreadsheet would read as a formula begins with an apostrophe (OWASP, CSV Injection,
read 2026-11).
"""

from __future__ import annotations

import calendar
import csv
import io
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any
from urllib.parse import urlencode

from ..quota.need import NANO
from ..quota.usage import UsageRow, UsageSums
from ..quota.window import Window

_FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n")
_DAY_S = 86_400
MAX_DAYS = 400
_COLUMNS = ("period", "tenant", "team", "client", "model", "upstream")
_FIGURES = ("requests", "unmeasured", "prompt_tokens", "completion_tokens")
_BUDGET_COLUMNS = ("tenant", "subject", "limit", "used", "most", "remaining", "unit")


class Period(StrEnum):
    """Length of time that a row of the table counts."""

    DAY = "day"
    MONTH = "month"

    def name_of(self, day: int) -> str:
        """Return the name of the period with a day: `2026-11-23`, `2026-11`."""
        return time.strftime("%Y-%m-%d" if self is Period.DAY else "%Y-%m", time.gmtime(day * _DAY_S))


@dataclass(frozen=True)
class Span:
    """Days of a table, in days since 1970, both included."""

    first: int
    last: int

    @classmethod
    def of(cls, fields: Mapping[str, str], *, now: float) -> Span:
        """Return the span of `from` and `to`; by default, the current month.

        Raises:
            ValueError: a day is invalid, or the span is longer than `MAX_DAYS`.
        """
        today = Window.DAY.slot(now)
        month = Window.DAY.slot(Window.MONTH.starts(Window.MONTH.slot(now)))
        span = cls(_day(fields.get("from", ""), month), _day(fields.get("to", ""), today))
        if not 0 <= span.last - span.first < MAX_DAYS:
            raise ValueError("expected `from` before `to`, and at most 400 days")
        return span


def _day(text: str, default: int) -> int:
    return calendar.timegm(time.strptime(text, "%Y-%m-%d")) // _DAY_S if text else default


def query_of(span: Span, period: Period) -> str:
    """Return the query of an address with this table."""
    first, last = Period.DAY.name_of(span.first), Period.DAY.name_of(span.last)
    return urlencode({"from": first, "to": last, "by": period.value})


def usage_table(
    rows: Iterable[UsageRow], *, period: Period, currency: str, includes: Callable[[str], bool]
) -> list[dict[str, Any]]:
    """Return a row for every period, tenant, team, client, model and upstream, the newest period first.

    Args:
        currency: of the prices; empty without prices.
        includes: whether the operator may see a tenant.
    """
    sums: dict[tuple[str, ...], UsageSums] = {}
    for key, each in rows:
        if includes(key.tenant):
            place = (period.name_of(key.day), key.tenant, key.team, key.client, key.model, key.upstream)
            sums[place] = sums.get(place, UsageSums()).plus(each)
    ordered = sorted(sums.items(), key=lambda item: item[0][1:])
    ordered.sort(key=lambda item: item[0][0], reverse=True)
    return [_row(place, each, currency) for place, each in ordered]


def _row(place: tuple[str, ...], sums: UsageSums, currency: str) -> dict[str, Any]:
    row: dict[str, Any] = dict(zip(_COLUMNS, place, strict=True))
    row |= dict(zip(_FIGURES, (sums.requests, sums.unmeasured, sums.prompt, sums.completion), strict=True))
    if currency:
        row |= {"cost": sums.cost / NANO, "currency": currency}
    return row


def totals(table: Sequence[Mapping[str, Any]], *, by: Sequence[str]) -> list[dict[str, Any]]:
    """Return the sums of a table by some of its columns, the largest first.

    Args:
        by: names of columns, such as `("tenant", "team")`.
    """
    found: dict[tuple[str, ...], dict[str, Any]] = {}
    for row in table:
        total = found.setdefault(
            tuple(row[name] for name in by), {**{name: row[name] for name in by}, **dict.fromkeys(_FIGURES, 0)}
        )
        for name in _FIGURES:
            total[name] += row[name]
        if "cost" in row:
            total["cost"], total["currency"] = total.get("cost", 0.0) + row["cost"], row["currency"]
    return sorted(
        found.values(),
        key=lambda row: (-row.get("cost", 0), -row["prompt_tokens"] - row["completion_tokens"], *(row[n] for n in by)),
    )


def with_rest(budgets: Iterable[Mapping[str, Any]], tenants: Mapping[str, str]) -> list[dict[str, Any]]:
    """Return the rows of `budgets.budgets` with tenant and remaining amount."""
    return [
        {**row, "tenant": tenants.get(row["subject"], ""), "remaining": max(0, row["most"] - row["used"])}
        for row in budgets
    ]


def usage_csv(table: Sequence[Mapping[str, Any]]) -> bytes:
    """Return a table of usage as CSV, UTF-8."""
    has_cost = any("cost" in row for row in table)
    return _csv((*_COLUMNS, *_FIGURES, *(("cost", "currency") if has_cost else ())), table)


def budgets_csv(rows: Sequence[Mapping[str, Any]]) -> bytes:
    """Return limits with their usage as CSV, UTF-8."""
    return _csv(_BUDGET_COLUMNS, rows)


def _csv(columns: Sequence[str], rows: Iterable[Mapping[str, Any]]) -> bytes:
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\r\n")  # RFC 4180, 2.1
    writer.writerow(columns)
    writer.writerows([_cell(row.get(name, "")) for name in columns] for row in rows)
    return out.getvalue().encode()


def _cell(value: object) -> str:
    if isinstance(value, float):
        return f"{value:.9f}".rstrip("0").rstrip(".")
    text = str(value)
    return f"'{text}" if text.startswith(_FORMULA) else text
