"""Groups and their members from an export of a directory: JSON or LDIF.

JSON: `{"groups": {"staff": ["anna", "ben"]}}`, or `{"groups": {"staff": {"members": ["anna"], "groups": ["it"]}}}` for
groups that contain groups. LDIF: entries of classes `group`, `groupOfNames`, `groupOfUniqueNames` and `posixGroup`.
Their members are DNs of users or of groups in the same file, or user names (`memberUid`).

Nested groups are resolved. A member that is absent from the export is a problem, because a group of `deny` without one
of its members would permit too much.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from sovctl.support.bounded_files import read_bounded
from sovctl.support.errors import InputError, Problem, SpecError

from .ldif import Entry, LdifError, entries, normalized_dn

MAX_BYTES = 512 << 20  # 200,000 users with 2 KiB each
_SHOWN = 20  # problems of one kind
_GROUP_CLASSES = frozenset({"group", "groupofnames", "groupofuniquenames", "posixgroup"})


@dataclass
class _Group:
    subjects: set[str] = field(default_factory=set)
    groups: set[str] = field(default_factory=set)


def read_directory(path: Path, *, subject_attribute: str, subject_prefix: str = "") -> dict[str, list[str]]:
    """Return the subjects of each group, both sorted.

    Args:
        path: an export; its suffix `.json`, `.ldif` or `.ldf` selects the format.
        subject_attribute: attribute of LDIF entries whose value is the principal's name, such as `uid`.
        subject_prefix: added to each name, such as `idp:`.

    Raises:
        InputError: the file is absent or has another suffix.
        SpecError: all problems of the file.
    """
    suffix = path.suffix.lower()
    if suffix not in (".json", ".ldif", ".ldf"):
        raise InputError("expected a name that ends in .json, .ldif or .ldf", where=str(path))
    try:
        text = read_bounded(path, MAX_BYTES).decode("utf-8-sig")
    except FileNotFoundError as error:
        raise InputError("no such file", where=str(path)) from error
    except UnicodeDecodeError as error:
        raise InputError("not UTF-8 text", where=str(path)) from error
    problems: list[Problem] = []
    groups = _json(text, path, problems) if suffix == ".json" else _ldif(text, path, subject_attribute, problems)
    if not groups and not problems:
        problems.append(Problem("no groups", where=str(path), hint="export the groups, not only the users"))
    if problems:
        raise SpecError(problems, what="the directory export")
    return {name: sorted(subject_prefix + each for each in _members(name, groups)) for name in sorted(groups)}


def _members(name: str, groups: Mapping[str, _Group]) -> set[str]:
    """Return the subjects of a group and of all groups in it; a cycle ends."""
    found: set[str] = set()
    seen: set[str] = set()
    waiting = [name]
    while waiting:
        if (each := waiting.pop()) not in seen:
            seen.add(each)
            found |= groups[each].subjects
            waiting += groups[each].groups
    return found


def _json(text: str, path: Path, problems: list[Problem]) -> dict[str, _Group]:
    try:
        value: Any = json.loads(text)
    except (ValueError, RecursionError):
        problems.append(Problem("not JSON", where=str(path)))
        return {}
    given = value.get("groups") if isinstance(value, dict) else None
    if not isinstance(given, dict):
        problems.append(Problem("expected an object `groups`", where=str(path), hint='{"groups": {"staff": ["anna"]}}'))
        return {}
    groups: dict[str, _Group] = {}
    for number, (name, entry) in enumerate(given.items(), 1):
        parts = {"members": entry} if isinstance(entry, list) else entry
        is_valid = isinstance(parts, dict) and parts.keys() <= {"members", "groups"}
        lists = [parts.get("members", []), parts.get("groups", [])] if is_valid else []
        if not lists or not all(_is_names(each) for each in lists) or not _is_names([name]):
            problems.append(Problem("expected a list of names", where=f"{path}: group {number}"))
            continue
        groups[name] = _Group(set(lists[0]), set(lists[1]))
    unknown = sorted({each for group in groups.values() for each in group.groups} - groups.keys())
    problems += [Problem("unknown group in a group", where=f"{path}: {each}") for each in unknown[:_SHOWN]]
    return groups


def _is_names(value: Any) -> bool:
    return isinstance(value, list) and all(
        isinstance(each, str) and each.strip() and each.isprintable() for each in value
    )


def _ldif(text: str, path: Path, subject_attribute: str, problems: list[Problem]) -> dict[str, _Group]:
    try:
        found = list(entries(text))
    except LdifError as error:
        problems.append(Problem(str(error), where=f"{path}: line {error.line}"))
        return {}
    is_group = {id(entry): bool(_GROUP_CLASSES & _lower(entry.values("objectClass"))) for entry in found}
    names: dict[str, str] = {}
    groups: dict[str, _Group] = {}
    for entry in (entry for entry in found if is_group[id(entry)]):
        name = next(iter(entry.values("cn")), "").strip()
        if not name or not name.isprintable() or name in groups:
            message = "a group with the same `cn` as another" if name in groups else "a group without `cn`"
            problems.append(Problem(message, where=f"{path}: line {entry.line}"))
            continue
        names[normalized_dn(entry.dn)] = name
        groups[name] = _Group(set(entry.values("memberUid")))
    subjects = {
        normalized_dn(entry.dn): _subject(entry, subject_attribute) for entry in found if not is_group[id(entry)]
    }
    absent = 0
    for entry in (entry for entry in found if normalized_dn(entry.dn) in names):
        group = groups[names[normalized_dn(entry.dn)]]
        for dn in map(normalized_dn, (*entry.values("member"), *entry.values("uniqueMember"))):
            if dn in names:
                group.groups.add(names[dn])
            elif subject := subjects.get(dn, ""):
                group.subjects.add(subject)
            elif dn:  # `groupOfNames` needs a member, so an empty group has an empty DN
                absent += 1
                if absent <= _SHOWN:
                    what = f"has no `{subject_attribute}`" if dn in subjects else "is not in the export"
                    problems.append(Problem(f"a member of the group {what}", where=f"{path}: line {entry.line}"))
    if absent > _SHOWN:
        problems.append(Problem(f"{absent} members cannot be resolved", where=str(path), hint="export all users"))
    return groups


def _subject(entry: Entry, attribute: str) -> str:
    value = next(iter(entry.values(attribute)), "").strip()
    return value if value.isprintable() else ""


def _lower(values: Iterable[str]) -> set[str]:
    return {value.lower() for value in values}
