"""Unmanaged things are rows of the plan, except those that are allowed, or that a change of the plan removes."""

from __future__ import annotations

import json
import shlex
from dataclasses import replace

import pytest
from node_edits import with_answer
from planned_nodes import planned
from strategies import context

from sovctl.engine.facts.node import NodeFacts
from sovctl.engine.plan.baseline import QUERY as SINCE_APPLY
from sovctl.engine.plan.build import changes, queries_on, unmanaged_things
from sovctl.engine.plan.unmanaged import (
    ACCOUNTS_QUERY,
    PROGRAMS_QUERY,
    QUERIES,
    QUERY,
    RUNNING_QUERY,
    Unmanaged,
    commands,
)
from sovctl.engine.resources.context import Baseline, Context
from sovctl.support.errors import SovctlError

CRON = ["cron", "/etc/cron.d/x", "of no package"]
DROP_IN = "/etc/systemd/system/chrony.service.d/z.conf"


def site(**answers: object) -> tuple[Context, dict[str, NodeFacts]]:
    """The lab as planned, with other answers of the surveys on n1."""
    facts = dict(planned("lab")[0])
    for query, rows in answers.items():
        text = rows if isinstance(rows, str) else json.dumps(rows)
        facts["n1"] = with_answer(facts["n1"], query.replace("_", "-"), text)
    return context("lab"), facts


def ids(found: list[Unmanaged]) -> list[str]:
    return [each.id for each in found]


def test_a_site_as_planned_has_none() -> None:
    made, facts = site()
    assert unmanaged_things(made, facts, []) == []


def test_rows_of_both_surveys_are_sorted_and_survive_the_plan_file() -> None:
    made, facts = site(unmanaged=[CRON, ["file", "/etc/a", "of no package"]], unmanaged_accounts=[["user", "bob", "x"]])
    found = unmanaged_things(made, facts, [])
    assert ids(found) == ["n1/cron//etc/cron.d/x", "n1/file//etc/a", "n1/user/bob"]
    assert [Unmanaged.from_json(each.to_json()) for each in found] == found


@pytest.mark.parametrize("pattern", ["/etc/cron.d/x", "/etc/cron.d/*", "*"])
def test_allowed_things_are_omitted(pattern: str) -> None:
    made, facts = site(unmanaged=[CRON])
    allowing = replace(made, spec=made.spec.model_copy(update={"unmanaged_allowed": [pattern]}))
    assert unmanaged_things(allowing, facts, []) == []
    other = replace(made, spec=made.spec.model_copy(update={"unmanaged_allowed": ["/etc/cron.daily/*"]}))
    assert ids(unmanaged_things(other, facts, [])) == ["n1/cron//etc/cron.d/x"]


def test_a_file_that_a_change_of_the_same_node_removes_is_omitted() -> None:
    made, facts = site(unmanaged=[["unit", DROP_IN, "of no package"]])
    state = facts["n1"].unit_states["chrony.service"]
    with_drop_in = replace(state, properties={**state.properties, "DropInPaths": DROP_IN})
    facts["n1"] = replace(facts["n1"], unit_states={**facts["n1"].unit_states, "chrony.service": with_drop_in})
    [change, *_] = found = changes(made, facts)
    assert (change.id, change.before) == ("n1/unit/chrony.service", {"other_files": [DROP_IN]})
    assert unmanaged_things(made, facts, found) == []
    assert ids(unmanaged_things(made, facts, [replace(change, node="n2")])) == [f"n1/unit/{DROP_IN}"]


def test_a_source_of_packages_is_left_to_its_resource() -> None:
    made, facts = site(unmanaged=[["package source", "/etc/apt/sources.list.d/x.list", "of no package"]])
    assert unmanaged_things(made, facts, []) == []


@pytest.mark.parametrize("text", ["", "{", "{}", "[1]", '[["file", "/etc/x"]]', '[["file", "/etc/x", 1]]'])
@pytest.mark.parametrize("query", QUERIES)
def test_a_survey_without_a_list_stops_the_plan(query: str, text: str) -> None:
    made, facts = site(**{query.replace("-", "_"): text})
    with pytest.raises(SovctlError, match="expected a JSON list") as error:
        unmanaged_things(made, facts, [])
    assert error.value.where == f"node n1: {query}"


def test_a_survey_that_failed_stops_the_plan() -> None:
    made, facts = site()
    failed = {**facts["n1"].answers, QUERY: {"exit_code": 1, "stdout": "[]", "stderr": "no database of packages"}}
    facts["n1"] = replace(facts["n1"], answers=failed)
    with pytest.raises(SovctlError, match="probe command 'unmanaged' failed"):
        unmanaged_things(made, facts, [])


def test_the_surveys_know_the_files_units_and_accounts_of_the_site() -> None:
    made = replace(context("lab"), access_key="ssh-ed25519 AAAA")
    node = made.spec.node("s1")
    found = commands(made, node, queries_on(made, node))
    request, accounts = json.loads(found[QUERY][-1]), json.loads(found[ACCOUNTS_QUERY][-1])
    assert {"/etc/chrony/chrony.conf", "/etc/nftables.conf", "/etc/sovctl/gateway.yaml"} <= set(request["known"])
    assert not [path for path in request["known"] if "*" in path]
    assert {"ssh.service", "sovctl-gateway.service"} <= set(request["units"])
    assert (accounts["login"], accounts["keys"]) == ("ops", ["ssh-ed25519 AAAA"])
    assert "sovctl-gateway" in accounts["accounts"]
    programs, running = json.loads(found[PROGRAMS_QUERY][-1]), json.loads(found[RUNNING_QUERY][-1])
    assert programs["known"] == running["known"] == request["known"]
    assert ["/usr/bin/sudo", "u"] in programs["privileged"]
    assert (running["node"], running["zones"], running["accounts"]) == (
        "s1",
        [],
        ["sovctl-vllm", "sovctl-gateway", "sovctl-monitor", "sovctl-retrieval"],
    )
    assert shlex.split(shlex.join(found[QUERY])) == found[QUERY]


def since_apply(baseline: Baseline, *rows: list[str], **answers: object) -> list[Unmanaged]:
    """The unmanaged things of the lab, with rows of the baseline of n1."""
    made, facts = site(**answers)
    facts["n1"] = with_answer(facts["n1"], SINCE_APPLY, json.dumps(rows))
    return unmanaged_things(replace(made, baselines={"n1": baseline}), facts, [])


PROXY = ["service variable", "https_proxy", "new since the last apply"]
SWITCH = ["changed file", "/etc/nsswitch.conf", "changed since the last apply: content"]


def test_what_changed_since_the_last_apply_has_a_row() -> None:
    found = since_apply(Baseline("a" * 64), PROXY, SWITCH)
    assert ids(found) == ["n1/changed file//etc/nsswitch.conf", "n1/service variable/https_proxy"]


def test_what_another_survey_reports_has_one_row() -> None:
    found = since_apply(Baseline("a" * 64), ["changed file", "/etc/cron.d/x", "new"], unmanaged=[CRON])
    assert ids(found) == ["n1/cron//etc/cron.d/x"]


def test_the_folder_of_a_file_with_a_row_has_none() -> None:
    found = since_apply(Baseline("a" * 64), ["changed file", "/etc/cron.d", "new"], unmanaged=[CRON])
    assert ids(found) == ["n1/cron//etc/cron.d/x"]


def test_an_incomplete_apply_does_not_report_its_own_changes() -> None:
    pending = Baseline("a" * 64, frozenset({("service variable", "https_proxy")}))
    assert ids(since_apply(pending, PROXY, SWITCH)) == ["n1/service variable/https_proxy"]


def test_a_node_without_a_baseline_is_not_compared() -> None:
    made, _ = site()
    node = made.spec.node("n1")
    queries = queries_on(made, node)
    assert SINCE_APPLY not in commands(made, node, queries)
    recorded = replace(made, baselines={"n1": Baseline("a" * 64)})
    assert SINCE_APPLY in commands(recorded, node, queries)
