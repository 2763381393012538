"""Witness policies: which cosignatures a checkpoint needs (C2SP tlog-policy, https://c2sp.org/tlog-policy).

    log sovctl.ministry/site+81feee55+ATFV...
    witness audit auditor.example+5b1d...+BC8x...
    witness risk risk.example+77aa...+BDk2...
    witness board board.example+12cd...+BEq9...
    group outside 2 audit risk board
    quorum outside

The file is kept outside the site, because a person with access to the site could otherwise change it.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field

from sovctl.support.errors import InputError

from ..verify_key import COSIGNATURE, VerifyKey, parse_vkey

MAX_LINES = 1000  # chosen; the standard recommends at least 32 logs, 32 witnesses and 32 groups
NONE = "none"
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f]")
_THRESHOLD = re.compile(r"[1-9][0-9]{0,3}")
_FORMS = {"log": (2, 3), "witness": (3, 4), "group": (4, MAX_LINES), "quorum": (2, 2)}
"""Smallest and largest number of items of a line by its first item."""


@dataclass(frozen=True)
class Group:
    """Members of which `required` have to witness a checkpoint."""

    required: int
    members: tuple[str, ...]


@dataclass(frozen=True)
class Policy:
    """A parsed policy."""

    logs: tuple[tuple[str, VerifyKey], ...]
    """Origin and public key; empty if the policy names no log."""
    witnesses: Mapping[str, tuple[str, VerifyKey]]
    """Key name and public key by the name in the policy."""
    groups: Mapping[str, Group]
    quorum: str

    def is_met(self, cosigned: Collection[VerifyKey]) -> bool:
        """Return whether cosignatures by these keys fulfil the quorum."""
        return self._is_witnessed(self.quorum, cosigned)

    def _is_witnessed(self, name: str, cosigned: Collection[VerifyKey]) -> bool:
        if name == NONE:
            return True
        if name in self.witnesses:
            return self.witnesses[name][1] in cosigned
        group = self.groups[name]
        return sum(self._is_witnessed(member, cosigned) for member in group.members) >= group.required


@dataclass
class _Draft:
    logs: list[tuple[str, VerifyKey]] = field(default_factory=list)
    witnesses: dict[str, tuple[str, VerifyKey]] = field(default_factory=dict)
    groups: dict[str, Group] = field(default_factory=dict)
    used: set[str] = field(default_factory=set)
    quorum: str = ""

    def names(self) -> set[str]:
        return {*self.witnesses, *self.groups}


def parse_policy(text: str, *, where: str = "") -> Policy:
    """Parse a policy.

    Raises:
        InputError: all invalid lines, one message.
    """
    draft, problems, lines = _Draft(), [], text.split("\n")
    if _CONTROL.search(text) or len(lines) > MAX_LINES:
        raise InputError(f"expected at most {MAX_LINES} lines without control characters", where=where)
    for number, line in enumerate(lines, start=1):
        items = line.replace("\t", " ").split(" ")
        items = [item for item in items if item]
        if not items or items[0].startswith("#"):
            continue
        try:
            _add(draft, items)
        except InputError as error:
            problems.append(f"line {number}: {error.message}")
    if not draft.quorum and not problems:
        problems.append("expected a line `quorum`, got none")
    if problems:
        raise InputError("; ".join(problems), where=where, hint="see docs/commands/audit.md, witness policy")
    return Policy(tuple(draft.logs), draft.witnesses, draft.groups, draft.quorum)


def _add(draft: _Draft, items: list[str]) -> None:
    kind = items[0]
    if kind not in _FORMS:
        raise InputError(f"expected log, witness, group or quorum, got {kind[:40]!r}")
    low, high = _FORMS[kind]
    if not low <= len(items) <= high:
        raise InputError(f"expected {low} to {high} items after `{kind}`, itself included, got {len(items)}")
    if kind == "log":
        _add_log(draft, items[1])
    elif kind == "witness":
        _add_witness(draft, items[1], items[2])
    elif kind == "group":
        _add_group(draft, items[1], items[2], items[3:])
    elif draft.quorum:
        raise InputError("expected one line `quorum`, got a second one")
    elif items[1] != NONE and items[1] not in draft.names():
        raise InputError(f"expected a witness or group defined above, got {items[1][:40]!r}")
    else:
        draft.quorum = items[1]


def _add_log(draft: _Draft, vkey: str) -> None:
    log = parse_vkey(vkey)
    if any(log[1] == key for _, key in draft.logs):
        raise InputError("the same log key is given twice")
    draft.logs.append(log)


def _add_witness(draft: _Draft, name: str, vkey: str) -> None:
    _require_new(draft, name)
    witness = parse_vkey(vkey, kind=COSIGNATURE)
    if any(witness[1] == key for _, key in draft.witnesses.values()):
        raise InputError("the same witness key is given twice")
    draft.witnesses[name] = witness


def _add_group(draft: _Draft, name: str, threshold: str, members: list[str]) -> None:
    _require_new(draft, name)
    unknown = [member for member in members if member not in draft.names()]
    if unknown:
        raise InputError(f"expected members defined above, got {unknown[0][:40]!r}")
    if len(set(members)) < len(members) or draft.used & set(members):
        raise InputError("a name is a member of groups twice")
    required = {"any": 1, "all": len(members)}.get(threshold) or (
        int(threshold) if _THRESHOLD.fullmatch(threshold) else 0
    )
    if not 1 <= required <= len(members):
        raise InputError(f"expected any, all, or a number from 1 to {len(members)}, got {threshold[:40]!r}")
    draft.used |= set(members)
    draft.groups[name] = Group(required, tuple(members))


def _require_new(draft: _Draft, name: str) -> None:
    if name == NONE or name in draft.names():
        raise InputError(f"expected a new name, got {name[:40]!r}")
