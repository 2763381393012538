"""The table of states: every node can serve again, and out of quarantine only through a certification."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sovctl.engine.lifecycle.records import Fleet
from sovctl.engine.lifecycle.remedies import LADDER, REPEAT_WINDOW, Remedy, next_remedy
from sovctl.engine.lifecycle.states import TRANSITIONS, Event, State, next_state
from sovctl.support.errors import InputError

NOW = datetime(2026, 11, 27, 10, tzinfo=UTC)


def send(fleet: Fleet, *events: Event) -> Fleet:
    for event in events:
        fleet = fleet.after("n1", event, now=NOW, reason="ticket 1", operator="ops")
    return fleet


@given(st.lists(st.sampled_from(list(Event)), max_size=30))
def test_a_quarantined_node_serves_again_only_after_a_certification(events: list[Event]) -> None:
    fleet, is_proven = Fleet(), True
    for event in events:
        try:
            fleet = send(fleet, event)
        except InputError:
            continue
        state = fleet.state("n1")
        is_proven = (is_proven and state is not State.QUARANTINED) or event is Event.CERTIFY
        assert is_proven or not state.may_serve


def test_every_state_can_lead_back_to_service() -> None:
    for state in State:
        reached, todo = {state}, [state]
        while todo:
            for after in TRANSITIONS[todo.pop()].values():
                if after not in reached:
                    reached.add(after)
                    todo.append(after)
        assert State.IN_SERVICE in reached, state


def test_an_event_that_the_table_lacks_is_refused_with_the_allowed_ones() -> None:
    with pytest.raises(InputError, match="node n1 is quarantined: expected repair or replace, got release"):
        next_state("n1", State.QUARANTINED, Event.RELEASE)


def test_a_node_that_was_suspect_is_not_released_after_its_drain() -> None:
    with pytest.raises(InputError, match="needs a certification"):
        send(Fleet(), Event.SUSPECT, Event.DRAIN, Event.RELEASE)


def test_a_node_drained_for_maintenance_is_released() -> None:
    assert send(Fleet(), Event.DRAIN, Event.RELEASE).state("n1") is State.IN_SERVICE


def test_a_certificate_is_renewed_in_service_and_not_while_suspect() -> None:
    assert send(Fleet(), Event.CERTIFY).state("n1") is State.IN_SERVICE
    with pytest.raises(InputError, match="got certify"):
        send(Fleet(), Event.SUSPECT, Event.CERTIFY)


def test_a_repeated_fault_needs_the_next_remedy_until_isolation() -> None:
    earlier: list[tuple[datetime, Remedy]] = []
    found = []
    for hours in range(6):
        now = NOW + timedelta(hours=hours)
        found.append(next_remedy(earlier, now))
        earlier.append((now, found[-1]))
    assert found == [*LADDER, Remedy.ISOLATE]


def test_a_fault_after_the_window_begins_at_the_first_remedy() -> None:
    earlier = [(NOW, Remedy.REBOOT)]
    assert next_remedy(earlier, NOW + REPEAT_WINDOW) is Remedy.AC_CYCLE
    assert next_remedy(earlier, NOW + REPEAT_WINDOW + timedelta(seconds=1)) is Remedy.RESTART_APPLICATION
    assert next_remedy([], NOW, least=Remedy.REBOOT) is Remedy.REBOOT
