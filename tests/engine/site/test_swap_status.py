"""Status of swap groups from the answers of their agents; `tests/engine/swap/test_swap_agent.py` has a real agent."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from swap_site import swap_site

from sovctl.engine.facts.swap_reports import parse_swap_report
from sovctl.engine.facts.unreadable import Unreadable
from sovctl.engine.site.swap_status import ServerStatus, not_serving, servers_of, sets_by_node

ENGINES = [{"pool": "chat", "state": "asleep", "held": 2}, {"pool": "code", "state": "awake", "held": 0}]
REPORT = {"reason": "requests of code wait", "engines": ENGINES}


def test_each_server_of_a_set_has_the_state_of_its_agent(tmp_path: Path) -> None:
    [(node, [first]), *_] = sets_by_node(swap_site(tmp_path / "site")).items()
    found = servers_of(node, first, parse_swap_report(json.dumps(REPORT)))
    assert found == [
        ServerStatus(first.name, node, "chat", "asleep", 2, "requests of code wait"),
        ServerStatus(first.name, node, "code", "awake", 0, "requests of code wait"),
    ]
    assert not_serving(found) == []


def test_a_set_without_a_report_or_with_two_awake_servers_does_not_serve(tmp_path: Path) -> None:
    [(node, [first]), *_] = sets_by_node(swap_site(tmp_path / "site")).items()
    silent = servers_of(node, first, "no answer")
    assert {(each.state, each.waiting, each.reason) for each in silent} == {("unknown", None, "no answer")}
    both = [{**each, "state": "awake"} for each in ENGINES]
    short = servers_of(node, first, {"reason": "", "engines": ENGINES[:1]})
    assert short[1].state == "unknown"
    for servers in (silent, short, servers_of(node, first, {"reason": "", "engines": both})):
        assert not_serving(servers) == [f"{node}/{first.name}"]


@pytest.mark.parametrize("text", ["", "{}", "[]", '{"error": "the agent starts"}', '{"reason": "", "engines": [{}]}'])
def test_another_form_is_no_report(text: str) -> None:
    with pytest.raises(Unreadable, match="expected a report of the agent"):
        parse_swap_report(text)
