"""Rules about waivers and attestations: of limits in `verify`, and of failed checks in `compliance`."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import date

from sovctl.compliance.controls.deadlines import DEADLINES
from sovctl.compliance.controls.exceptions import MAX_DAYS, is_same_person
from sovctl.support.errors import Problem

from ...catalog.check_limits import load_check_limits
from .rule import SiteUnderValidation, duplicates, unknown_name


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
        yield from _one_person_problems(waiver.requested_by, waiver.approved_by, where)
        yield from _end_problems(waiver.expires, f"{where}.expires", site.today)


def check_control_waivers(site: SiteUnderValidation) -> Iterator[Problem]:
    """Yield problems of waivers that no day cures; an expired waiver is valid, and has no effect."""
    compliance = site.spec.compliance
    ids = ((f"compliance.waivers[{i}].id", each.id) for i, each in enumerate(compliance.waivers))
    yield from duplicates("waiver", ids)
    for index, waiver in enumerate(compliance.waivers):
        where = f"compliance.waivers[{index}]"
        yield from _one_person_problems(waiver.requested_by, waiver.approved_by, where)
        yield from _period_problems(waiver.approved, waiver.expires, f"{where}.approved", f"{where}.expires")
    for index, each in enumerate(compliance.attestations):
        where = f"compliance.attestations[{index}]"
        yield from _period_problems(each.attested, each.expires, f"{where}.attested", f"{where}.expires")


def check_deadlines(site: SiteUnderValidation) -> Iterator[Problem]:
    for severity, default in DEADLINES.items():
        value = getattr(site.spec.compliance.deadline_days, severity)
        if value is not None and value > default.value:
            yield Problem(
                f"expected at most {default.value} days, got {value}",
                where=f"compliance.deadline_days.{severity}",
                hint=f"a site can only shorten deadlines; source of the default: {default.source}",
            )


def _one_person_problems(requester: str, approver: str, where: str) -> Iterator[Problem]:
    if is_same_person(requester, approver):
        yield Problem(
            f"expected another person than `{requester}`, got the same",
            where=f"{where}.approved_by",
            hint="have a second person approve the waiver",
        )


def _period_problems(begin: str, end: str, begin_at: str, end_at: str) -> Iterator[Problem]:
    days = []
    for text, where in ((begin, begin_at), (end, end_at)):
        try:
            days.append(date.fromisoformat(text))
        except ValueError:
            yield Problem(f"expected a day that exists, got {text}", where=where, hint="YYYY-MM-DD")
    if len(days) == 2 and not 0 <= (days[1] - days[0]).days <= MAX_DAYS:
        yield Problem(
            f"expected a day 0 to {MAX_DAYS} days after {begin}, got {end}", where=end_at, hint="choose an earlier day"
        )


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
