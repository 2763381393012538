"""Choice of a remedy by state and history, and the isolation of a node."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from example_sites import MakeSite

from sovctl.engine.apply.remedy import chosen_remedy, isolate
from sovctl.engine.lifecycle import store
from sovctl.engine.lifecycle.records import Fleet
from sovctl.engine.lifecycle.remedies import Remedy
from sovctl.engine.lifecycle.states import Event, State
from sovctl.engine.site.site import Site
from sovctl.support.errors import InputError

NOW = datetime(2026, 11, 27, 10, tzinfo=UTC)


@pytest.fixture
def site(make_site: MakeSite) -> Site:
    made = make_site("bank-hybrid")
    made.state.prepare()
    return made


def node_of(site: Site) -> str:
    return site.spec.nodes()[0][1].name


def record(site: Site, event: Event, remedy: str = "") -> None:
    before = store.load(site.state.root)
    after = before.after(node_of(site), event, now=NOW, reason="Xid 79", operator="ops", remedy=remedy)
    store.save(
        site.state.root, site.spec.site.name, before, after, reason="", operator="ops", time="2026-11-27T10:00:00Z"
    )


def test_a_suspect_node_gets_the_assessed_remedy_or_a_named_one(site: Site) -> None:
    record(site, Event.SUSPECT, Remedy.RESET_GPU)
    assert chosen_remedy(site, node_of(site), None) is Remedy.RESET_GPU
    assert chosen_remedy(site, node_of(site), "reboot") is Remedy.REBOOT
    with pytest.raises(InputError, match="expected one of restart-application, reset-gpu"):
        chosen_remedy(site, node_of(site), "hammer")


def test_a_node_in_repair_without_an_assessment_needs_a_named_remedy(site: Site) -> None:
    record(site, Event.QUARANTINE)
    record(site, Event.REPAIR)
    assert chosen_remedy(site, node_of(site), "reboot") is Remedy.REBOOT
    with pytest.raises(InputError, match="no assessment chose a remedy"):
        chosen_remedy(site, node_of(site), None)


@pytest.mark.parametrize("events", [[], [Event.QUARANTINE], [Event.DRAIN]])
def test_a_node_in_another_state_gets_no_remedy(site: Site, events: list[Event]) -> None:
    for event in events:
        record(site, event)
    with pytest.raises(InputError, match="expected suspect or repair"):
        chosen_remedy(site, node_of(site), "reboot")


def test_an_unknown_node_is_an_error(site: Site) -> None:
    with pytest.raises(InputError, match="got 'no-such'"):
        chosen_remedy(site, "no-such", None)


def test_isolation_is_a_quarantine_with_its_reason(site: Site) -> None:
    record(site, Event.SUSPECT, Remedy.ISOLATE)
    isolate(site, node_of(site), reason="Xid 79")
    fleet = store.load(site.state.root)
    assert fleet.state(node_of(site)) is State.QUARANTINED
    assert fleet.nodes[node_of(site)].history[-1].reason == "isolate: Xid 79"
    assert fleet != Fleet()
