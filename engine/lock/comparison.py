"""Differences of two locks: added, removed and changed files, by part. Pure."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from .folder import Lock
from .part import LockedPackage, Part

Change = Literal["added", "removed", "changed"]


@dataclass(frozen=True)
class Difference:
    """One package in two locks.

    Args:
        part: id without base, so that the same system matches after its nodes changed.
        old, new: version and size; None if the lock lacks the package.
    """

    change: Change
    part: str
    old: LockedPackage | None
    new: LockedPackage | None

    @property
    def name(self) -> str:
        """Name of the package."""
        package = self.new or self.old
        assert package is not None
        return package.name

    def as_json(self) -> dict[str, object]:
        """Return plain values."""
        return {
            "change": self.change,
            "part": self.part,
            "name": self.name,
            "old": self.old and {"version": self.old.version, "sha256": self.old.sha256, "size": self.old.size},
            "new": self.new and {"version": self.new.version, "sha256": self.new.sha256, "size": self.new.size},
        }


def differences(old: Lock, new: Lock) -> tuple[Difference, ...]:
    """Return the differences, sorted by part and name. Parts of the same kind and target are compared."""
    before, after = _by_target(old), _by_target(new)
    return tuple(each for target in sorted(before.keys() | after.keys()) for each in _of_target(target, before, after))


def _by_target(lock: Lock) -> dict[str, dict[tuple[str, str], LockedPackage]]:
    found: dict[str, dict[tuple[str, str], LockedPackage]] = {}
    for part in lock.parts:
        found.setdefault(_target(part), {}).update({each.key: each for each in part.packages})
    return found


def _target(part: Part) -> str:
    base = part.target.get("base")
    return part.id.removesuffix(f"-{base[:8]}") if base else part.id


def _of_target(
    target: str,
    before: dict[str, dict[tuple[str, str], LockedPackage]],
    after: dict[str, dict[tuple[str, str], LockedPackage]],
) -> Iterator[Difference]:
    old, new = before.get(target, {}), after.get(target, {})
    for key in sorted(old.keys() | new.keys()):
        was, now = old.get(key), new.get(key)
        if was is None:
            yield Difference("added", target, was, now)
        elif now is None:
            yield Difference("removed", target, was, now)
        elif was.sha256 != now.sha256:
            yield Difference("changed", target, was, now)
