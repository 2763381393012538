"""Cases in which plan and apply fail without a change, with an error message and its exit code."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest
from lab_site import NOWHERE, Answer, LabSite, move

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


def test_a_plan_names_the_node_that_does_not_answer(site: LabSite, tmp_path: Path) -> None:
    with site.variant(lambda values: move(values, "n2", NOWHERE)) as variant:
        done = _plan_of(site, variant, tmp_path)
    assert done.returncode == ExitCode.UNREACHABLE
    assert f"1 of 3 nodes cannot be observed: n2 ({NOWHERE})" in done.stderr


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
        ledger = (site.state / "ledger" / "entries").read_bytes()
        done = site.run("apply", str(site.file), "--yes")
        assert done.returncode == ExitCode.STALE
        assert "s1/tuning/limits (new)" in done.stderr
        assert "by hand" in site.on("n2", f"cat {limits}")
        assert "by hand too" in site.on("s1", f"cat {limits}")
        assert (site.state / "ledger" / "entries").read_bytes() == ledger
        assert set(site.changes()) == {"n2/tuning/limits", "s1/tuning/limits"}
    finally:
        site.mend()


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
