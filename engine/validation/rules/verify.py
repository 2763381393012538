"""Rules about `verify`: limits of checks are known, and a looser value has a waiver that is valid today."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import date

from sovctl.support.errors import Problem

from ...catalog.check_limits import load_check_limits
from .rule import SiteUnderValidation, duplicates, unknown_name

MAX_DAYS = 365  # chosen, as for waivers of failed checks: a long acceptance is indistinguishable from neglect


def check_limits(site: SiteUnderValidation) -> Iterator[Problem]:
    known = {name: each for name, each in load_check_limits().items() if each.stricter is not None}
    waived = {each.limit for each in site.spec.verify.waivers}
    for name, value in site.spec.verify.limits.items():
        where = f"verify.limits.{name}"
        yield from unknown_name("limit of a check", name, known, where)
        if name in known and known[name].is_loosened_by(value) and name not in waived:
            side = "at most" if known[name].stricter == "lower" else "at least"
            yield Problem(
                f"expected {side} {known[name].value} {known[name].unit} without a waiver, got {value}",
                where=where,
                hint=f"add a waiver for `{name}` to verify.waivers, with its approver, reference and last day",
            )


def check_waivers(site: SiteUnderValidation) -> Iterator[Problem]:
    limits, waivers = site.spec.verify.limits, site.spec.verify.waivers
    yield from duplicates("limit", ((f"verify.waivers[{i}].limit", each.limit) for i, each in enumerate(waivers)))
    for index, waiver in enumerate(waivers):
        where, value = f"verify.waivers[{index}]", limits.get(waiver.limit)
        known = load_check_limits().get(waiver.limit)
        if value is None or (known is not None and not known.is_loosened_by(value)):
            got = "none" if value is None else str(value)
            yield Problem(
                f"expected a looser value of `{waiver.limit}` in verify.limits, got {got}",
                where=f"{where}.limit",
                hint="remove the waiver, which has no effect",
            )
        if waiver.requested_by.strip().casefold() == waiver.approved_by.strip().casefold():
            yield Problem(
                f"expected another person than `{waiver.requested_by}`, got the same",
                where=f"{where}.approved_by",
                hint="have a second person approve the waiver",
            )
        yield from _end_problems(waiver.expires, f"{where}.expires", site.today)


def _end_problems(text: str, where: str, today: date) -> Iterator[Problem]:
    try:
        last = date.fromisoformat(text)
    except ValueError:
        yield Problem(f"expected a day that exists, got {text}", where=where, hint="YYYY-MM-DD")
        return
    if last < today:
        yield Problem(
            f"expected a day not before {today}, got {last}: the waiver has expired",
            where=where,
            hint="have it approved again with a later day, or remove it and its value in verify.limits",
        )
    elif (last - today).days > MAX_DAYS:
        yield Problem(
            f"expected a day at most {MAX_DAYS} days after {today}, got {last}",
            where=where,
            hint="choose an earlier day",
        )
