"""Measures all items of a site.

found = diagnose(Path("site.yaml"))
found.is_plan_possible
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from sovctl.support.errors import SovctlError

from ..site import network_namespace
from ..site.site import Site
from ..site.state_folder import SiteState
from .answers import ask
from .controller import measure_network
from .item import Finding, Item, Need, State, later, missing, not_measured
from .items import ITEMS, SITE_YAML
from .situation import Situation

_ORDER = tuple(State)


@dataclass(frozen=True)
class Measured:
    """An item and its findings, at least one."""

    item: Item
    findings: tuple[Finding, ...]

    @property
    def state(self) -> State:
        """The worst state of a finding."""
        return max((each.state for each in self.findings), key=_ORDER.index)


@dataclass(frozen=True)
class Diagnosis:
    """State of all items of a site.

    Args:
        site: name of the site; None without a valid site.yaml.
        contacted: whether the nodes were asked to answer.
    """

    site: str | None
    contacted: bool
    items: tuple[Measured, ...]

    def lacking(self, need: Need) -> list[Measured]:
        """Return the items that a command needs and that are not done, in order.

        Nodes that were not contacted are omitted, unless they were asked to answer.
        """
        accepted = {State.DONE} if self.contacted else {State.DONE, State.NOT_MEASURED}
        return [each for each in self.items if each.item.needed_for is need and each.state not in accepted]

    @property
    def is_plan_possible(self) -> bool:
        """Whether nothing is missing that `sovctl plan` needs."""
        return not self.lacking(Need.PLAN)

    def as_json(self) -> dict[str, Any]:
        """Return plain values."""
        return {
            "site": self.site,
            "contacted": self.contacted,
            "plan_possible": self.is_plan_possible,
            "items": [
                {
                    "item": each.item.name,
                    "title": each.item.title,
                    "day": each.item.day,
                    "place": each.item.place,
                    "person": str(each.item.person),
                    "needed_for": str(each.item.needed_for),
                    "after": list(each.item.after),
                    "state": str(each.state),
                    "findings": [
                        {"state": str(f.state), "subject": f.subject, "reason": f.reason, "remedy": f.remedy}
                        for f in each.findings
                    ],
                }
                for each in self.items
            ],
        }


def diagnose(
    path: Path,
    *,
    state: Path | None = None,
    locks: Path | None = None,
    trust: Path | None = None,
    contacts_nodes: bool = False,
    report: Callable[[str], None] = lambda _: None,
) -> Diagnosis:
    """Measure all items.

    Args:
        path: site.yaml; may be absent or invalid.
        locks, trust: default: `locks` and `trust` next to site.yaml.
        contacts_nodes: also contact nodes and mirror, if the ssh key and the host keys are complete.
        report: called with a line of progress for each node.
    """
    site, error = _opened(path, state)
    situation = Situation(
        path=path,
        site=site,
        error=error,
        state=SiteState.of_site(path, state),
        locks=locks or path.parent / "locks",
        trust=trust or path.parent / "trust",
        now=datetime.now(UTC),
        environ=os.environ,
    )
    if contacts_nodes and site is not None and _can_contact(situation):
        network_namespace.enter(site.spec.access.network_namespace)
        situation = replace(situation, answers=ask(site.spec, site.folder, report=report))
    measured: list[Measured] = []
    for item in ITEMS:
        if not (item.is_replaced_by_lab and situation.is_lab):
            measured.append(_measured(item, situation, measured))
    return Diagnosis(site.spec.site.name if site else None, contacts_nodes, tuple(measured))


def _opened(path: Path, state: Path | None) -> tuple[Site | None, SovctlError | None]:
    try:
        return Site.open(path, state=state, touches_nodes=False), None
    except SovctlError as error:
        return None, error


def _can_contact(situation: Situation) -> bool:
    """Return whether the namespace and the files of `access` are usable, without which no node can be contacted."""
    if any(each.state is not State.DONE for each in measure_network(situation)):
        return False
    return not any(reference.place.startswith("access.") for reference, _ in situation.file_problems)


def _measured(item: Item, situation: Situation, earlier: Sequence[Measured]) -> Measured:
    """Return the findings of an item. MISSING becomes NOT_YET if an earlier item of `after` is not done."""
    if situation.site is None and SITE_YAML in item.after:
        return Measured(item, (later(str(situation.path), "needs a valid site.yaml", ""),))
    try:
        findings = tuple(item.measure(situation))
    except SovctlError as error:
        findings = (missing(error.where or item.title, error.message, error.hint),)
    except ModuleNotFoundError as error:
        findings = (not_measured(str(error.name), "not installed", "pip install 'sovctl[bundle]'"),)
    except OSError as error:
        reason = (error.strerror or "unreadable").lower()
        findings = (missing(str(error.filename or item.title), reason, "grant access to the user that runs sovctl"),)
    before = [each.item.title for each in earlier if each.item.name in item.after and each.state is not State.DONE]
    if before:
        findings = tuple(
            replace(each, state=State.NOT_YET, reason=f"{each.reason}; after: {', '.join(before)}")
            if each.state is State.MISSING
            else each
            for each in findings
        )
    return Measured(item, findings)
