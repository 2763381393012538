"""Status of ranks from the answers of their nodes; `tests/end_to_end/test_9_groups.py` reads real agents."""

from __future__ import annotations

import json
from dataclasses import replace

from strategies import context

from sovctl.engine.gather.gather import Gathered
from sovctl.engine.resources.pool import instance
from sovctl.engine.resources.serving.group import is_group
from sovctl.engine.site.group_status import RankStatus, _rank_status, not_running

REPLICA = next(filter(is_group, context("superpod-b200").replicas))
NAME = instance(REPLICA)
HEAD, OTHER = REPLICA.ranks[:2]


def answered(*rows: dict[str, object]) -> Gathered:
    """Only the node of the head answers, with these rows."""
    stdout = json.dumps({"ranks": list(rows)})
    capture = {"node": HEAD.node, "commands": {NAME: {"exit_code": 0, "stdout": stdout}}}
    return Gathered({HEAD.node: capture}, {OTHER.node: ("unreachable", "no answer")})


def test_a_rank_has_the_report_of_its_own_node() -> None:
    row = {"rank": 0, "state": "running", "generation": 7, "digest": "ab", "reason": "ready"}
    found = answered(row, {"rank": 1, "state": "running", "generation": 7})
    assert _rank_status(found, REPLICA, HEAD) == RankStatus(NAME, 0, HEAD.node, "running", 7, "ready")
    # The head may answer for rank 1 with a report that is seconds old; its own node did not answer.
    assert _rank_status(found, REPLICA, OTHER) == RankStatus(NAME, 1, OTHER.node, "unknown", None, "no answer")


def test_an_agent_without_a_report_is_unknown_with_the_reason() -> None:
    refused = _rank_status(answered({"rank": 0, "error": "ConnectionRefusedError"}), REPLICA, HEAD)
    assert (refused.state, refused.reason) == ("unknown", "ConnectionRefusedError")
    for rows in ([{"rank": 0}, {"rank": 0}], [{"rank": "head"}], [], [{"rank": 0, "state": "running"}]):
        found = _rank_status(answered(*rows), REPLICA, HEAD)
        assert (found.state, found.generation) == ("unknown", None)
        assert found.reason


def test_a_group_runs_if_all_ranks_run_one_generation() -> None:
    one = RankStatus("chat", 0, "n1", "running", 3, "ready")
    two = replace(one, rank=1, node="n2")
    assert not list(not_running([one, two]))
    for bad in (replace(two, state="down"), replace(two, generation=2), replace(two, state="unknown", generation=None)):
        assert list(not_running([one, bad, replace(one, replica="other")])) == ["chat"]
