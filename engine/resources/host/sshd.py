"""sshd: public keys only, no login of root, and the administrators' keys from the folder of root.

- The drop-in consists of `Match` blocks and is read first, because the first matching value counts (sshd_config(5)).
  A later `Match` block therefore cannot weaken it.
- The observed values are those of `sshd -T -C` for each login: user and address of each network of the site.
- sshd has read the drop-in if its unit changed its state after the last write; a reload is a change of state.
"""

from __future__ import annotations

from collections.abc import Iterator

from sovctl.support.canonical_json import sha256_hex

from ...facts.node import NodeFacts
from ...facts.sshd import parse_logins
from ...facts.units import parse_units
from ...spec import Node
from ..context import Context, render
from ..resource import Desired, State
from ..resource_type import Query, ResourceType
from .administrator import KEYS

FILE = "/etc/ssh/sshd_config.d/00-sovctl.conf"

SETTINGS = {
    "PubkeyAuthentication": "yes",
    "PasswordAuthentication": "no",
    "KbdInteractiveAuthentication": "no",
    "PermitEmptyPasswords": "no",
    "HostbasedAuthentication": "no",
    "GSSAPIAuthentication": "no",
    "PermitRootLogin": "no",
    "PermitUserEnvironment": "no",
    "AllowAgentForwarding": "no",
    "X11Forwarding": "no",
    "MaxAuthTries": "4",  # default of OpenSSH: 6; CIS benchmarks for Linux: at most 4 (number of the clause unchecked)
    "LogLevel": "VERBOSE",  # logs the fingerprint of the key of each login (sshd_config(5))
}
"""Keywords that sshd accepts in a `Match` block (checked with OpenSSH 9.2, `sshd -t`)."""
_MAY_BE_ABSENT = frozenset({"gssapiauthentication"})  # builds without GSSAPI support do not print it

_KEYS = "|".join([*(key.lower() for key in SETTINGS), "authorizedkeysfile"])
# A login without output has no value, which differs from the expected one.
_SCRIPT = f"""for login do
  echo "## $login"
  sshd -T -C "user=${{login%% *}},host=${{login#* }},addr=${{login#* }}" | grep -E '^({_KEYS}) ' || true
done"""


def logins(context: Context) -> list[str]:
    """Return "user address" of each login: every account from each management network, and root from each network."""
    spec = context.spec
    management = [_first_host(str(network)) for network in spec.perimeter.management]
    others = [_first_host(str(network)) for network in spec.perimeter.clients]
    nodes = [str(group.nodes[0].address) for group in spec.node_groups]
    users = [spec.access.user, *(each.name for each in spec.host.administrators)]
    found = [f"{user} {address}" for user in users for address in management]
    found += [f"{user} {address}" for user in (spec.access.user, "root") for address in [*others, *nodes]]
    return list(dict.fromkeys([*found, *(f"root {address}" for address in management)]))


def _first_host(network: str) -> str:
    address, _, bits = network.partition("/")
    if bits == "32":
        return address
    head, _, last = address.rpartition(".")
    return f"{head}.{int(last) + 1}"


def settings(context: Context) -> dict[str, str]:
    """Return the keywords of the drop-in. The login of root remains, with keys only, if it is `access.user`."""
    is_root = context.spec.access.user == "root"
    return SETTINGS | ({"PermitRootLogin": "prohibit-password"} if is_root else {})


def _expect(context: Context, _node: Node, _facts: NodeFacts | None) -> Iterator[Desired]:
    people, values = [each.name for each in context.spec.host.administrators], settings(context)
    text = render("sshd", "sshd.conf.j2", people=people, settings=values, keys=KEYS)
    yield Desired(
        kind="sshd",
        name="server",
        state={
            "file_sha256": sha256_hex(text),
            **{key.lower(): value for key, value in values.items()},
            **({"administrators_keys": f"{KEYS}/%u"} if people else {}),
            "runs_what_is_written": True,
        },
        why=f"public keys only, for {len(context.once(logins))} combinations of user and network",
        variables={"people": people, "settings": values, "keys": KEYS, "user": context.spec.access.user},
    )


def _observe(facts: NodeFacts, desired: Desired) -> State | None:
    seen = parse_logins(facts.answer("sshd"))
    keys = [key for key in desired.state or () if key in {each.lower() for each in SETTINGS}]
    state: dict[str, object] = {"file_sha256": facts.sha256(FILE)}
    for key in keys:
        state[key] = _value(seen, key, str((desired.state or {})[key]))
    people = set(desired.variables["people"])
    if people:
        of_people = {login: values for login, values in seen.items() if login.split()[0] in people}
        state["administrators_keys"] = _value(of_people, "authorizedkeysfile", f"{KEYS}/%u")
    state["runs_what_is_written"] = _has_read(facts)
    return state


def _value(seen: dict[str, dict[str, str]], key: str, wanted: str) -> str | None:
    """Return the value of a keyword; the first one that differs, with its login, if not all logins have it."""
    if not seen:
        return None
    for login, values in seen.items():
        got = values.get(key)
        if got is None and values and key in _MAY_BE_ABSENT:
            continue
        # Older servers print prohibit-password as "without-password".
        if got != wanted and (got, wanted) != ("without-password", "prohibit-password"):
            return f"{got or 'unknown'} for {login.replace(' ', ' from ')}"
    return wanted


def _has_read(facts: NodeFacts) -> bool:
    units = [unit for unit in parse_units(facts.answer("sshd_unit")) if unit.load == "loaded"]
    if not units:
        return False
    if units[0].active != "active":
        return True  # socket activation: the next connection starts a server that reads the files
    changed = units[0].properties.get("StateChangeTimestamp", "").removeprefix("@")
    return changed.isdecimal() and int(changed) >= int(facts.modified_s(FILE))


def _query(context: Context, _node: Node) -> Query:
    properties = "Id,LoadState,ActiveState,StateChangeTimestamp"
    return Query(
        hash=(FILE,),
        commands={
            "sshd": ["sh", "-c", _SCRIPT, "sh", *context.once(logins)],
            # Debian and Ubuntu: ssh; RHEL: sshd.
            "sshd_unit": ["systemctl", "show", "--timestamp=unix", f"--property={properties}", "ssh.service",
                          "sshd.service"],
        },
    )  # fmt: skip


RESOURCE_TYPE = ResourceType("sshd", _expect, _observe, _query)
