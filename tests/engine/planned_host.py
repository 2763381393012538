"""The other end of `engine/resources/host`: nodes as planned, and every value that could be changed by hand."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

from node_edits import OTHER_SHA256, STARTED_S, Handle, with_answer, with_file, with_text

from sovctl.engine.facts.node import NodeFacts
from sovctl.engine.resources.context import render
from sovctl.engine.resources.host import administrator, hosts_file, resolver, sshd
from sovctl.engine.resources.resource import Desired
from sovctl.engine.spec import Node

# Keyword and value of `sshd -T` of an unchanged Debian 12.
BARE_SSHD = {
    "pubkeyauthentication": "yes",
    "passwordauthentication": "yes",
    "kbdinteractiveauthentication": "no",
    "permitrootlogin": "without-password",
    "authorizedkeysfile": ".ssh/authorized_keys .ssh/authorized_keys2",
}


def sshd_output(values: dict[str, str], logins: list[str]) -> str:
    """What the probe prints when every login has the same values."""
    lines = "".join(f"{key} {value}\n" for key, value in values.items())
    return "".join(f"## {login}\n{lines}" for login in logins)


def sshd_unit(changed_s: int) -> str:
    """What systemctl prints of the unit on Debian, after the unit that is absent."""
    absent = "Id=ssh.service\nLoadState=not-found\nActiveState=inactive\nStateChangeTimestamp=\n"
    there = f"Id=sshd.service\nLoadState=loaded\nActiveState=active\nStateChangeTimestamp=@{changed_s}\n"
    return f"{absent}\n{there}"


_ANSWERS = {
    "sshd": sshd_output(BARE_SSHD, ["root 192.0.2.1"]),
    "sshd_unit": sshd_unit(STARTED_S),
    "accounts": "",
}
ANSWERS_OF_BARE_NODE = {name: {"exit_code": 0, "stdout": text, "stderr": ""} for name, text in _ANSWERS.items()}


def _put_hosts(facts: NodeFacts, desired: Desired, _node: Node) -> NodeFacts:
    lines = [hosts_file.BEGIN, *desired.variables["entries"], hosts_file.END, "127.0.0.1 localhost"]
    return with_text(facts, hosts_file.FILE, "\n".join(lines) + "\n")


def _hosts_handles(desired: Desired) -> Iterator[Handle]:
    first = desired.variables["entries"][0]

    def before(line: str) -> Callable[[NodeFacts], NodeFacts]:
        return lambda facts: with_text(facts, hosts_file.FILE, f"{line}\n{facts.texts[hosts_file.FILE]}")

    def former(facts: NodeFacts) -> NodeFacts:
        text = facts.texts[hosts_file.FILE] or ""
        return with_text(facts, hosts_file.FILE, text.replace(hosts_file.END, f"192.0.2.9 former\n{hosts_file.END}"))

    yield Handle("hosts_file", "nodes", "entries", before(f"192.0.2.9 {first.split()[1]}"))
    yield Handle("hosts_file", "nodes", "former", former)


def _put_resolver(facts: NodeFacts, desired: Desired, _node: Node) -> NodeFacts:
    values = {key: desired.variables[key] for key in ("servers", "search")}
    return with_text(facts, resolver.FILE, render("resolver", "resolv.conf.j2", **values))


def _resolver_handles(_desired: Desired) -> Iterator[Handle]:
    def first(facts: NodeFacts) -> NodeFacts:
        text = f"nameserver 192.0.2.9\n{facts.texts[resolver.FILE]}"
        return replace(facts, texts={**facts.texts, resolver.FILE: text})

    yield Handle("resolver", "dns", "file_sha256", lambda facts: with_file(facts, resolver.FILE))
    yield Handle("resolver", "dns", "servers", first)


def _account(name: str, *, shell: str = administrator.SHELL, groups: str = "", status: str = "L") -> str:
    return f"{name}\t{name}:x:1001:1001::/home/{name}:{shell}\t{name}{groups}\t{status}\n"


def _put_administrator(facts: NodeFacts, desired: Desired, _node: Node) -> NodeFacts:
    item = {"name": desired.name, **desired.variables}
    known = str(facts.answers["accounts"]["stdout"])
    facts = with_answer(facts, "accounts", known + _account(desired.name))
    facts = with_text(facts, f"{administrator.KEYS}/{desired.name}", render("administrator", "keys.j2", item=item))
    if desired.variables["sudo"]:
        path = f"{administrator.SUDO}/sovctl-{desired.name}"
        facts = with_text(facts, path, render("administrator", "sudoers.j2", item=item))
    return facts


def _administrator_handles(desired: Desired) -> Iterator[Handle]:
    name = desired.name
    keys = f"{administrator.KEYS}/{name}"

    def handle(key: str, change: Callable[[NodeFacts], NodeFacts]) -> Handle:
        return Handle("administrator", name, key, change)

    def account(**fields: str) -> Callable[[NodeFacts], NodeFacts]:
        def change(facts: NodeFacts) -> NodeFacts:
            text = str(facts.answers["accounts"]["stdout"])
            return with_answer(facts, "accounts", text.replace(_account(name), _account(name, **fields)))

        return change

    yield handle("shell", account(shell="/bin/sh"))
    yield handle("groups", account(groups=" sudo"))
    yield handle("has_password", account(status="P"))
    yield handle("has_password", account(status="NP"))
    yield handle("keys", lambda facts: with_text(facts, keys, f"{facts.texts[keys]}ssh-ed25519 AAAA other\n"))
    if desired.variables["sudo"]:
        path = f"{administrator.SUDO}/sovctl-{name}"
        yield handle("sudo_sha256", lambda facts: with_file(facts, path))
        yield handle("sudo", lambda facts: replace(facts, texts={**facts.texts, path: "anna ALL=(ALL) ALL\n"}))
    yield handle("keys_mode", lambda facts: replace(facts, files={**facts.files, keys: {"mode": "0666"}}))


def _put_sshd(facts: NodeFacts, desired: Desired, _node: Node) -> NodeFacts:
    values = {key: desired.variables[key] for key in ("people", "settings", "keys")}
    facts = with_text(facts, sshd.FILE, render("sshd", "sshd.conf.j2", **values))
    effective = {key.lower(): value for key, value in desired.variables["settings"].items()}
    logins = ["ops 192.0.2.1", "root 192.0.2.1", *(f"{name} 192.0.2.1" for name in desired.variables["people"])]
    return with_answer(
        facts, "sshd", sshd_output({**BARE_SSHD, **effective, "authorizedkeysfile": f"{sshd.KEYS}/%u"}, logins)
    )


def _sshd_handles(desired: Desired) -> Iterator[Handle]:
    yield Handle("sshd", "server", "file_sha256", lambda facts: with_file(facts, sshd.FILE, OTHER_SHA256))
    for key, value in desired.variables["settings"].items():
        yield Handle("sshd", "server", key.lower(), _sshd_value(f"{key.lower()} {value}\n", f"{key.lower()} other\n"))
    if desired.variables["people"]:
        wanted = f"authorizedkeysfile {sshd.KEYS}/%u\n"
        yield Handle("sshd", "server", "administrators_keys", _sshd_value(wanted, "authorizedkeysfile none\n"))
    yield Handle("sshd", "server", "runs_what_is_written", lambda facts: with_answer(facts, "sshd_unit", sshd_unit(1)))


def _sshd_value(old: str, new: str) -> Callable[[NodeFacts], NodeFacts]:
    """A change for the last login only, as of a Match block."""

    def change(facts: NodeFacts) -> NodeFacts:
        text = str(facts.answers["sshd"]["stdout"])
        head, _, last = text.rpartition("## ")
        assert old in last
        return with_answer(facts, "sshd", f"{head}## {last.replace(old, new)}")

    return change


PUT: dict[str, Callable[[NodeFacts, Desired, Node], NodeFacts]] = {
    "hosts_file": _put_hosts,
    "resolver": _put_resolver,
    "administrator": _put_administrator,
    "sshd": _put_sshd,
}
HANDLES: dict[str, Callable[[Desired], Iterator[Handle]]] = {
    "hosts_file": _hosts_handles,
    "resolver": _resolver_handles,
    "administrator": _administrator_handles,
    "sshd": _sshd_handles,
}
