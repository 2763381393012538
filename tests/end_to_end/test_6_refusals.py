"""Cases in which plan and apply fail without a change, with an error message and its exit code."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from lab_site import NAME, NOWHERE, Answer, LabSite, move
from waiting import until

from sovctl.compliance.ledger.reader import LedgerReader
from sovctl.support.errors import ExitCode

pytestmark = pytest.mark.lab


def _plan_of(site: LabSite, variant: Path, tmp_path: Path) -> Answer:
    """Plan a variant of the site, with a copy of the state."""
    state = site.copy_state(tmp_path / "state")
    saved = (state / "plans" / "plan.json").read_bytes()
    done = site.run("plan", str(variant), "--state", str(state))
    assert (state / "plans" / "plan.json").read_bytes() == saved, "a plan was saved without an observation"
    assert "Traceback" not in done.stderr
    return done


def test_a_node_that_does_not_answer_is_unknown_and_the_others_are_planned(site: LabSite, tmp_path: Path) -> None:
    state = site.copy_state(tmp_path / "state")
    with site.variant(lambda values: move(values, "n2", NOWHERE)) as variant:
        done = site.run("plan", str(variant), "--state", str(state))
    assert done.returncode == ExitCode.UNREACHABLE
    assert "UNKNOWN n2: " in done.stdout
    assert "1 of 3 nodes were not planned" in done.stderr
    plan = json.loads((state / "plans" / "plan.json").read_text())["plan"]
    assert (set(plan["unknown"]), set(plan["facts_sha256"])) == ({"n2"}, {"n1", "s1"})


def test_a_key_that_nodes_do_not_know_is_refused_by_name(site: LabSite, tmp_path: Path) -> None:
    key = tmp_path / "stranger"
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(key)], check=True)
    with site.variant(lambda values: values["access"].update(key_file=str(key))) as variant:
        done = _plan_of(site, variant, tmp_path)
    assert done.returncode == ExitCode.UNREACHABLE
    assert done.stderr.count("the key was rejected") >= 3
    assert "access.key_file" in done.stderr


def test_a_node_with_another_host_key_is_not_spoken_to(site: LabSite, tmp_path: Path) -> None:
    swapped = site.swap_host_keys(tmp_path, "n1", "n2", "s1")
    with site.variant(lambda values: values["access"].update(known_hosts_file=str(swapped))) as variant:
        done = _plan_of(site, variant, tmp_path)
    assert done.returncode == ExitCode.UNREACHABLE
    assert done.stderr.count("host key") >= 3
    assert "access.known_hosts_file" in done.stderr


def test_a_plan_that_no_longer_holds_changes_nothing(site: LabSite) -> None:
    """Change two files on nodes, of which the plan contains one; apply changes neither."""
    limits = "/etc/security/limits.d/90-sovctl.conf"
    site.on("n2", f"echo '# by hand' | sudo tee -a {limits} >/dev/null")
    try:
        assert list(site.changes()) == ["n2/tuning/limits"]
        site.on("s1", f"echo '# by hand too' | sudo tee -a {limits} >/dev/null")
        before = len(_entry_types(site))
        done = site.run("apply", str(site.file), "--yes")
        assert done.returncode == ExitCode.STALE
        assert "s1/tuning/limits (new)" in done.stderr
        assert "by hand" in site.on("n2", f"cat {limits}")
        assert "by hand too" in site.on("s1", f"cat {limits}")
        assert set(_entry_types(site)[before:]) <= {"gather"}
        assert set(site.changes()) == {"n2/tuning/limits", "s1/tuning/limits"}
    finally:
        site.mend()


def _entry_types(site: LabSite) -> list[object]:
    return [entry.record["type"] for entry in LedgerReader(site.state / "ledger").entries()]


def test_an_altered_plan_is_not_carried_out(site: LabSite) -> None:
    path = site.state / "plans" / "plan.json"
    genuine = path.read_bytes()
    altered = json.loads(genuine)
    altered["plan"]["waves"] = [{"name": "canary", "nodes": ["s1"]}]
    path.write_text(json.dumps(altered))
    done = site.run("apply", str(site.file), "--yes")
    path.write_bytes(genuine)
    assert done.returncode == ExitCode.STALE
    assert "altered" in done.stderr


def test_a_changed_site_description_needs_a_new_plan(site: LabSite) -> None:
    with site.edited(lambda values: values["gateway"].update(vault={"ttl_s": 7200})):
        done = site.run("apply", str(site.file), "--yes")
    assert done.returncode == ExitCode.STALE
    assert "site.yaml changed" in done.stderr


def test_a_plan_that_locks_the_controller_out_is_refused(site: LabSite, tmp_path: Path) -> None:
    with site.variant(lambda values: values["perimeter"].update(management=["10.77.1.0/24"])) as variant:
        done = _plan_of(site, variant, tmp_path)
    assert done.returncode == ExitCode.BAD_INPUT
    assert "no network contains 10.77.0.1, this controller's address towards n1 and 2 more nodes" in done.stderr
    assert "perimeter.management" in done.stderr


_LOAD_WITHOUT_SSH = """
import sys
from pathlib import Path
from sovctl.engine.apply import ansible
from sovctl.engine.resources.perimeter import rules_for
from sovctl.engine.site.site import Site
site = Site.open(Path(sys.argv[1]), touches_nodes=True)
context = site.context()
rules = rules_for(context, context.spec.node("n2"))
inbound, outbound = ([rule for rule in each if "port 22 " not in rule] for each in (rules.inbound, rules.outbound))
item = {"name": "firewall", "inbound": inbound, "outbound": outbound, "confirm_timeout_s": 30}
inventory = ansible.inventory(site.spec, site.folder, {"n2": {"perimeter": {"perimeter_items": [item]}}})
with open("/dev/null") as lock:
    failures = ansible.run(inventory, Path(sys.argv[2]), lock=lock.fileno(), on_event=lambda _event: None)
print([failure.node for failure in failures])
"""


def test_a_firewall_that_is_not_confirmed_returns_by_itself(site: LabSite, tmp_path: Path) -> None:
    """Load rules without ssh on n2: the confirmation fails, and the node restores the previous rules."""
    before = site.on("n2", "sudo nft -s list ruleset; cat /etc/nftables.conf")
    command = ["ip", "netns", "exec", NAME, sys.executable, "-c", _LOAD_WITHOUT_SSH, str(site.file), str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=180, check=True)
    assert done.stdout.strip() == "['n2']", done.stderr
    until(lambda: site.answers("n2"), "n2 accepts ssh again")
    assert site.on("n2", "sudo nft -s list ruleset; cat /etc/nftables.conf") == before
    assert not site.changes()
