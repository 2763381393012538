"""Problems of stored records and populations: absent, empty and contradictory fields.

Imports the standard library only: the verifier has no pydantic, so the rules of `record` are a table here. A test
compares both.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from .layout import EVIDENCE_FORMAT, NONE, NOT_MEASURED, is_run_id, is_sha256

_UTC = re.compile(r"\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}(\.\d+)?Z")
_VERDICTS = ("PASS", "WARN", "FAIL", "UNKNOWN", "N/A")
_WHOLE = "whole population"

Rule = Callable[[Any], bool]


def _is_text(value: object) -> bool:
    return isinstance(value, str) and bool(value.strip())


def _is_number(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _is_bool(value: object) -> bool:
    return isinstance(value, bool)


def _is_utc(value: object) -> bool:
    return isinstance(value, str) and _UTC.fullmatch(value) is not None


def _has(rules: Mapping[str, Rule]) -> Rule:
    """Return the rule of an object with exactly these fields."""

    def holds(value: object) -> bool:
        return isinstance(value, dict) and value.keys() == rules.keys() and all(r(value[n]) for n, r in rules.items())

    return holds


def _or(stated: str, rule: Rule) -> Rule:
    return lambda value: value == stated or rule(value)


RECORD: Mapping[str, Rule] = {
    "format": lambda value: value == EVIDENCE_FORMAT,
    "check_id": _is_text,
    "check_version": lambda value: _is_number(value) and value >= 1,
    "check_sha256": is_sha256,
    "title": _is_text,
    "method": lambda value: value in ("TEST", "EXAMINE", "INTERVIEW"),
    "target": _is_text,
    "population_sha256": is_sha256,
    "command": _is_text,
    "exit_code": lambda value: value is None or _is_number(value),
    "raw_sha256": is_sha256,
    "started": _is_utc,
    "ended": _is_utc,
    "expires": _is_utc,
    "verdict": lambda value: value in _VERDICTS,
    "rule": _is_text,
    "reason": _is_text,
    "simulated": _is_bool,
    "previous": _or(
        NONE,
        _has(
            {
                "verdict": lambda value: value in _VERDICTS,
                "run_id": is_run_id,
                "sha256": is_sha256,
                "leaf_index": lambda value: _is_number(value) and value >= 0,
            }
        ),
    ),
    "actor": _has({"user": _is_text, "account": _is_text, "host": _is_text}),
    "tool": _has({"version": _is_text, "record_sha256": is_sha256, "is_editable": _is_bool}),
    "clock": _has({"measured": _is_utc, "offset_us": _or(NOT_MEASURED, _is_number), "source": _is_text}),
    "spec_sha256": is_sha256,
    "plan_sha256": _or(NONE, is_sha256),
    "apply_run": _or(NONE, is_run_id),
}
"""Rule by field of a record. Every field is required."""
_TEXTS = ("query", "sample_rule", "discovery")
_LISTS = ("declared", "sampled", "discovered", "not_discovered", "not_declared")


def record_problems(record: Mapping[str, Any]) -> Iterator[str]:
    """Yield the problems of a record, each with its field."""
    for name in RECORD.keys() - record.keys():
        yield f"{name}: required, but absent"
    for name in sorted(record.keys() - RECORD.keys()):
        yield f"{name}: unknown field"
    invalid = [name for name, rule in RECORD.items() if name in record and not rule(record[name])]
    yield from (f"{name}: empty or invalid" for name in invalid)
    if invalid or RECORD.keys() != record.keys():
        return
    if not record["started"][:19] <= record["ended"][:19] <= record["expires"][:19]:
        yield "ended: expected a time from `started` to `expires`"
    if record["exit_code"] is None and record["verdict"] != "UNKNOWN":
        yield "exit_code: expected a number, because the verdict is not UNKNOWN"
    if (record["plan_sha256"] == NONE) != (record["apply_run"] == NONE):
        yield "apply_run: expected `none` exactly if plan_sha256 is `none`"


def population_problems(population: object) -> Iterator[str]:
    """Yield the problems of a population, each with its field."""
    if not isinstance(population, dict) or population.keys() != {*_TEXTS, *_LISTS}:
        yield f"expected the fields {', '.join((*_TEXTS, *_LISTS))}"
        return
    invalid = [name for name in _TEXTS if not _is_text(population[name])]
    invalid += [name for name in _LISTS if not _is_list_of_names(population[name])]
    invalid += [name for name in ("declared", "sampled") if not population[name]]
    yield from (f"{name}: empty or invalid" for name in invalid)
    if invalid:
        return
    declared, sampled, discovered = ({*population[name]} for name in ("declared", "sampled", "discovered"))
    if not sampled <= declared or (population["sample_rule"] == _WHOLE and sampled != declared):
        yield "sampled: expected declared targets, and all of them for the whole population"
    if population["not_discovered"] != sorted(sampled - discovered):
        yield "not_discovered: expected the sampled targets without the discovered ones"
    if population["not_declared"] != sorted(discovered - declared):
        yield "not_declared: expected the discovered targets without the declared ones"


def _is_list_of_names(value: object) -> bool:
    return isinstance(value, list) and all(map(_is_text, value)) and value == sorted({*value})
