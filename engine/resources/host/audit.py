"""Audit log of the kernel: auditd, its settings and its rules.

- The rules in the kernel are observed with `auditctl -l`, because a rule in a file can be absent from the kernel.
- Kernel audit belongs to the host of a container. There the files are written, and no rule is loaded or compared.
"""

from __future__ import annotations

from collections.abc import Iterator

from sovctl.support.canonical_json import sha256_hex

from ...facts.node import NodeFacts
from ...spec import Node
from ...spec.host import Audit
from ..context import Context, render
from ..resource import Desired, Risk, State
from ..resource_type import Query, ResourceType

RULES_FILE, SETTINGS_FILE = "/etc/audit/rules.d/50-sovctl.rules", "/etc/audit/auditd.conf"
PACKAGES = {"apt": "auditd", "dnf": "audit"}
"""Package of auditd, by package manager."""

# In the format of `auditctl -l`. Source of the selection: rules/30-stig.rules of linux-audit/audit-userspace (accounts,
# time, modules, mounts, deletion of the log), and the files of sovctl.
RULES = (
    "-w /etc/passwd -p wa -k identity",
    "-w /etc/shadow -p wa -k identity",
    "-w /etc/group -p wa -k identity",
    "-w /etc/sudoers -p wa -k actions",
    "-w /etc/sudoers.d -p wa -k actions",
    "-w /etc/ssh -p wa -k sshd",
    "-w /etc/sovctl -p wa -k sovctl",
    "-w /etc/nftables.conf -p wa -k firewall",
    "-w /etc/systemd/system -p wa -k units",
    "-w /etc/audit -p wa -k audit",
    "-w /var/log/audit -p wa -k audit",
    "-w /etc/modprobe.d -p wa -k modules",
    "-a always,exit -F arch=b64 -S init_module -F key=modules",
    "-a always,exit -F arch=b64 -S finit_module -F key=modules",
    "-a always,exit -F arch=b64 -S delete_module -F key=modules",
    "-a always,exit -F arch=b64 -S clock_settime -F key=time",
    "-a always,exit -F arch=b64 -S settimeofday -F key=time",
    "-a always,exit -F arch=b64 -S mount -F auid>=1000 -F auid!=-1 -F key=mounts",
)


def rules_of(audit: Audit) -> list[str]:
    """Return the rules of a node, in the order of the kernel's list."""
    return [*RULES, *audit.rules]


def canonical(rule: str) -> str:
    """Return a rule in one form: fields sorted, and `-k` as `-F key=`, which auditctl prints for rules of calls."""
    words = rule.split()
    pairs = [(words[i], words[i + 1]) for i in range(0, len(words) - 1, 2)]
    named = [("-F", f"key={value}") if flag == "-k" else (flag, value) for flag, value in pairs]
    values = [(flag, value.replace("auid!=unset", "auid!=-1")) for flag, value in named]
    return " ".join(f"{flag} {value}" for flag, value in [*values[:1], *sorted(values[1:])])


def _expect(context: Context, _node: Node, facts: NodeFacts | None) -> Iterator[Desired]:
    audit = context.spec.host.audit
    if audit is None:
        return
    rules, is_container = rules_of(audit), facts is not None and facts.is_container
    state: dict[str, object] = {
        "rules_sha256": sha256_hex(render("audit", "sovctl.rules.j2", rules=rules)),
        "settings_sha256": sha256_hex(render("audit", "auditd.conf.j2", audit=_settings(audit))),
    }
    if not is_container:
        state |= {"active": "active", "enabled": "enabled", "loaded": list(rules)}
    yield Desired(
        kind="audit",
        name="auditd",
        state=state,
        why=f"{len(rules)} audit rules"
        + ("; a container shares the audit of its host: files only, nothing is loaded" if is_container else ""),
        variables={"rules": rules, "settings": _settings(audit), "loads": not is_container},
        risk=Risk.NONE,
        minutes=0.3,
    )


def _settings(audit: Audit) -> dict[str, int]:
    return {"max_log_file": audit.max_log_file_mib, "num_logs": audit.num_logs}


def _observe(facts: NodeFacts, desired: Desired) -> State | None:
    if facts.sha256(RULES_FILE) is None:
        return None
    unit = facts.units.get("auditd")
    output = facts.answer("audit_rules", may_fail=True) if desired.variables["loads"] else ""
    there = {canonical(line) for line in output.splitlines() if line.startswith("-")}
    return {
        "rules_sha256": facts.sha256(RULES_FILE),
        "settings_sha256": facts.sha256(SETTINGS_FILE),
        "active": unit.active if unit else None,
        "enabled": unit.enabled if unit else None,
        "loaded": [rule for rule in desired.variables["rules"] if canonical(rule) in there],
    }


def _query(context: Context, _node: Node) -> Query:
    if context.spec.host.audit is None:
        return Query()
    # Without the package `sh` reports an absent command, and no rule is loaded.
    commands = {"audit_rules": ["sh", "-c", "auditctl -l"]}
    return Query(hash=(RULES_FILE, SETTINGS_FILE), units=("auditd",), commands=commands)


RESOURCE_TYPE = ResourceType("audit", _expect, _observe, _query)
