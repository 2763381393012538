"""Tables and files of usage: sums by period, bounded rows, CSV that no spreadsheet reads as a formula."""

from __future__ import annotations

import csv
import io
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from examples import examples
from sovctl.gateway.admin.usage import Period, Span, budgets_csv, totals, usage_csv, usage_table, with_rest
from sovctl.gateway.quota.need import NANO, Usage
from sovctl.gateway.quota.usage import MAX_KEYS, OTHER, UsageCounts, UsageKey, UsageSums

NOON = 1_795_262_400.0  # 2026-11-21
DAY = int(NOON // 86_400)
NAMES = st.text(max_size=12)
ROWS = st.lists(
    st.tuples(
        st.builds(UsageKey, st.integers(DAY - 60, DAY), NAMES, NAMES, NAMES, NAMES, NAMES),
        st.builds(UsageSums, *(st.integers(0, 10**6) for _ in range(4)), st.integers(0, 10**12)),
    ),
    max_size=12,
)


def made(rows: Any, **options: Any) -> list[dict[str, Any]]:
    return usage_table(rows, **{"period": Period.DAY, "currency": "EUR", "includes": lambda _: True, **options})


@examples(200)
@given(ROWS, st.sampled_from(Period))
def test_no_period_loses_or_adds_usage(rows: Any, period: Period) -> None:
    table = made(rows, period=period)
    for name, column in (("requests", 0), ("unmeasured", 1), ("prompt_tokens", 2), ("completion_tokens", 3)):
        assert sum(row[name] for row in table) == sum(sums[column] for _, sums in rows)
    assert sum(row["cost"] for row in table) == pytest.approx(sum(sums.cost for _, sums in rows) / NANO)
    by_team = totals(table, by=("tenant", "team"))
    assert len(by_team) == len({(row["tenant"], row["team"]) for row in table})
    assert sum(row["requests"] for row in by_team) == sum(row["requests"] for row in table)
    assert [row["period"] for row in table] == sorted((row["period"] for row in table), reverse=True)


@examples(200)
@given(ROWS, st.sampled_from(["usage", "budgets"]))
def test_csv_is_read_as_written_and_contains_no_formula(rows: Any, which: str) -> None:
    table = made(rows)
    if which == "budgets":
        table = [{"subject": row["client"], "tenant": row["tenant"], "limit": "x", "used": 1.5} for row in table]
        data = budgets_csv(table)
    else:
        data = usage_csv(table)
    text = data.decode()
    assert text.replace("\r\n", "").count("\n") == sum(str(row).count("\\n") for row in table) or '"' in text
    head, *cells = csv.reader(io.StringIO(text, newline=""), strict=True)
    assert len(cells) == len(table)
    for row, written in zip(table, cells, strict=True):
        assert len(written) == len(head)
        for name, cell in zip(head, written, strict=True):
            assert not cell.startswith(("=", "+", "-", "@", "\t", "\r", "\n"))
            if isinstance(value := row.get(name, ""), str):
                assert cell in (value, f"'{value}")
            else:
                assert float(cell) == pytest.approx(value)


@pytest.mark.parametrize("text", ["=1+1", "+1", "-1", "@SUM(A1)", "\t=1", "\r=1", '=HYPERLINK("http://x.example")'])
def test_a_name_that_looks_like_a_formula_begins_with_an_apostrophe(text: str) -> None:
    key = UsageKey(DAY, "retail", "cards", text, "assistant", "chat")
    _, [*cells] = csv.reader(io.StringIO(usage_csv(made([(key, UsageSums(1))])).decode(), newline=""))
    assert cells[3] == f"'{text}"


def test_spans_are_days_or_the_current_month() -> None:
    assert Span.of({}, now=NOON) == Span(DAY - 20, DAY)
    assert Span.of({"from": "2026-11-20", "to": "2026-11-21"}, now=NOON) == Span(DAY - 1, DAY)
    for fields in ({"from": "yesterday"}, {"from": "2026-11-22"}, {"from": "2024-01-01"}, {"to": "2026-13-01"}):
        with pytest.raises(ValueError):
            Span.of(fields, now=NOON)


def test_counts_of_one_day_are_bounded() -> None:
    counts = UsageCounts(clock=lambda: NOON)
    for number in range(MAX_KEYS + 50):
        counts.add(UsageKey(DAY, "retail", "", f"person:{number}", "assistant", "chat"), Usage(2, 3), cost=5)
    rows = dict(counts.take())
    assert len(rows) == MAX_KEYS + 1
    assert rows[UsageKey(DAY, "retail", "", OTHER, "assistant", "chat")] == UsageSums(50, 0, 100, 150, 250)
    counts.add(UsageKey(DAY, "retail", "", "person:0", "assistant", "chat"), None, cost=0)
    counts.put_back([(UsageKey(DAY, "retail", "", "person:0", "assistant", "chat"), UsageSums(1, 0, 2, 3, 5))])
    assert counts.take() == [(UsageKey(DAY, "retail", "", "person:0", "assistant", "chat"), UsageSums(2, 1, 2, 3, 5))]


def test_budgets_have_a_remaining_amount_and_a_tenant() -> None:
    rows = [{"subject": "team:cards", "limit": "cost_per_day", "used": 0.75, "most": 0.5, "unit": "EUR a day"}]
    assert with_rest(rows, {"team:cards": "retail"}) == [{**rows[0], "tenant": "retail", "remaining": 0}]
