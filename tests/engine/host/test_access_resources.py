"""sshd, administrators and audit rules: values of each login, lines of each file."""

from __future__ import annotations

from dataclasses import replace

import pytest
from node_edits import with_answer, with_file, with_text
from planned_host import BARE_SSHD, sshd_output
from planned_nodes import planned
from strategies import context

from sovctl.engine.facts.host.accounts import parse_accounts
from sovctl.engine.facts.sshd import parse_logins
from sovctl.engine.facts.unreadable import Unreadable
from sovctl.engine.plan.build import changes, desired_on
from sovctl.engine.resources.host import administrator, audit, sshd
from sovctl.engine.resources.resource import Verb
from sovctl.engine.spec.ssh_key import key_fingerprint

KEY = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIKY1x0pbX9Qkq5Vt3FqVb7N0mHlY2dGcJr8sWwTn4uEz"


def test_a_fingerprint_is_that_of_ssh_keygen_and_options_make_another_line() -> None:
    # ssh-keygen -l -f FILE, OpenSSH 9.2
    assert key_fingerprint(KEY) == "SHA256:YgJFDwqwFbH3suPDyNtQQ1l7WSTN9ESBsGS6qqPVCgM"
    assert key_fingerprint(f"{KEY} anna@office") == key_fingerprint(KEY)
    for other in (f'command="/bin/sh" {KEY}', f"cert-authority {KEY}", KEY[:-4], "", "ssh-ed25519"):
        assert key_fingerprint(other).startswith("unknown line ")


def test_a_login_whose_command_failed_differs_from_every_value() -> None:
    facts = planned("lab")[0]
    text = str(facts["n1"].answers["sshd"]["stdout"])
    broken = with_answer(facts["n1"], "sshd", text + "## ops 198.51.100.1\n")
    [change] = changes(context("lab"), {**facts, "n1": broken})
    assert change.id == "n1/sshd/server"
    assert set(change.after or {}) >= {"passwordauthentication", "permitrootlogin"}
    assert (change.before or {})["passwordauthentication"] == "unknown for ops from 198.51.100.1"


def test_a_value_for_one_network_is_named_with_its_login() -> None:
    facts = planned("lab")[0]
    text = str(facts["n1"].answers["sshd"]["stdout"])
    values = {**BARE_SSHD, **{key.lower(): value for key, value in sshd.SETTINGS.items()}}
    weak = sshd_output({**values, "passwordauthentication": "yes"}, ["root 10.77.0.1"])
    [change] = changes(context("lab"), {**facts, "n1": with_answer(facts["n1"], "sshd", text + weak)})
    assert change.before == {"passwordauthentication": "yes for root from 10.77.0.1"}


def test_every_network_and_account_of_the_site_is_asked() -> None:
    logins = sshd.logins(context("bank-hybrid"))
    assert {"ops 10.20.0.1", "anna 10.20.0.1", "bert 10.20.0.1", "root 10.20.0.1", "root 10.30.0.1"} <= set(logins)
    assert len(logins) == len(set(logins))


def test_root_stays_able_to_log_in_where_apply_uses_it() -> None:
    site = context("lab")
    access = site.spec.access.model_copy(update={"user": "root"})
    as_root = replace(site, spec=site.spec.model_copy(update={"access": access}))
    assert sshd.settings(as_root)["PermitRootLogin"] == "prohibit-password"
    assert sshd.settings(site)["PermitRootLogin"] == "no"


def test_a_former_administrator_is_removed_and_locked_and_apply_keeps_its_own_account() -> None:
    facts = planned("bank-hybrid")[0]
    node = facts["gw-1"]
    for name in ("carla", "ops", "Not-A-User"):
        node = with_file(node, f"{administrator.KEYS}/{name}")
    node = with_file(node, f"{administrator.SUDO}/sovctl-carla")
    gone = {each.name: each for each in changes(context("bank-hybrid"), {**facts, "gw-1": node})}
    assert set(gone) == {"carla", "ops", "Not-A-User"}
    assert {each.verb for each in gone.values()} == {Verb.DELETE}
    assert (gone["carla"].before or {})["files"] == [
        f"{administrator.KEYS}/carla", f"{administrator.SUDO}/sovctl-carla",
    ]  # fmt: skip
    wanted = desired_on(context("bank-hybrid"), context("bank-hybrid").spec.node("gw-1"), node)
    locked = {each.name: each.variables["lock"] for each in wanted if each.kind == "administrator" and not each.state}
    assert locked == {"carla": True, "ops": False, "Not-A-User": False}


def test_a_sudo_line_that_sovctl_did_not_write_is_shown_whole() -> None:
    facts = planned("bank-hybrid")[0]
    path = f"{administrator.SUDO}/sovctl-anna"
    node = with_text(facts["gw-1"], path, "anna ALL=(ALL) NOPASSWD: ALL\n")
    [change] = changes(context("bank-hybrid"), {**facts, "gw-1": node})
    assert (change.before or {})["sudo"] == ["anna ALL=(ALL) NOPASSWD: ALL"]


def test_rules_of_the_kernel_equal_those_of_the_file_in_any_order_of_fields() -> None:
    assert audit.canonical("-a always,exit -F arch=b64 -S mount -F auid>=1000 -F auid!=-1 -F key=mounts") == (
        audit.canonical("-a always,exit -S mount -F arch=b64 -F auid!=unset -F auid>=1000 -k mounts")
    )
    assert audit.canonical("-w /etc/passwd -p wa -k identity") != audit.canonical("-w /etc/passwd -p w -k identity")


def test_a_container_gets_the_audit_files_only_and_the_plan_gives_the_reason() -> None:
    site = context("bank-hybrid")
    facts = replace(planned("bank-hybrid")[0]["gw-1"], is_container=True)
    [wanted] = [each for each in desired_on(site, site.spec.node("gw-1"), facts) if each.kind == "audit"]
    assert set(wanted.state or {}) == {"rules_sha256", "settings_sha256"}
    assert wanted.variables["loads"] is False
    assert "a container shares the audit of its host" in wanted.why


@pytest.mark.parametrize("text", ["anna\n", "anna\tx\ty\tL\n", "anna\tanna:x:1:1::/h:/b\tanna\t?\n"])
def test_accounts_of_another_form_are_not_measured(text: str) -> None:
    with pytest.raises(Unreadable):
        parse_accounts(text)


def test_the_output_of_sshd_without_a_login_is_not_measured() -> None:
    with pytest.raises(Unreadable):
        parse_logins("pubkeyauthentication yes\n")
