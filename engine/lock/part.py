"""Content of a lock: one part for each solver and target, as JSON with the same bytes for the same inputs.

    locks/
      lock.json                              # parts with their digests, inputs, accepted licences
      debian-12-amd64-3f2a91c0.json          # one part
      debian-12-amd64-3f2a91c0.Packages      # stanzas of its packages, for a repository of exactly these files
      lock-report.txt                        # the same in words

A part with an unsatisfied root is never written.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, Literal

from pydantic import TypeAdapter, ValidationError

from sovctl.support.errors import InputError

Kind = Literal["deb", "rpm", "wheel", "model", "own-file"]
Redistributable = Literal["yes", "no", "own-file", "own-subscription"]


@dataclass(frozen=True)
class LockedPackage:
    """One file of a lock.

    Args:
        arch: of the package; empty for wheels, models and own files.
        path: in the site's mirror.
        size: bytes.
        sha256: 64 lower-case hex digits.
        source: origin and suite, such as `Debian bookworm-security main`.
        url: place to get the file from; empty for an own file, of which the operator states the place.
        licence: class or expression, such as `free (Debian main)` or `Apache-2.0`.
        redistributable: whether the file may be handed to third parties.
    """

    name: str
    version: str
    arch: str
    path: str
    size: int
    sha256: str
    source: str
    url: str
    licence: str
    redistributable: Redistributable

    @property
    def key(self) -> tuple[str, str]:
        """Name and architecture, which identify a package in two locks."""
        return self.name, self.arch


@dataclass(frozen=True)
class Part:
    """Files of one target, chosen by one solver.

    Args:
        id: unique in the lock, and the name of its file.
        target: system, architecture, base and further inputs of the solver.
        roots: requested packages, sorted.
        roles: roots by role, each of which is installed in the closure check.
        packages: the closure, sorted by name, architecture and version.
        solver: tool, version, settings and digests of the indexes.
        closure_check: how the closure was checked.
        index: stanzas of the packages, for an apt repository; in a file of its own.
    """

    id: str
    kind: Kind
    target: Mapping[str, str]
    roots: tuple[str, ...]
    roles: Mapping[str, tuple[str, ...]]
    packages: tuple[LockedPackage, ...]
    solver: Mapping[str, Any]
    closure_check: str
    unsatisfied: tuple[str, ...] = ()
    index: str = field(default="", compare=False)

    @property
    def size(self) -> int:
        """Bytes of all files."""
        return sum(each.size for each in self.packages)

    def text(self) -> str:
        """Return the content of the part's file: JSON with sorted keys, without `index`."""
        content = {name: value for name, value in asdict(self).items() if name != "index"}
        return json.dumps(content, indent=1, sort_keys=True, ensure_ascii=False) + "\n"


_ADAPTER = TypeAdapter(Part)


def parse_part(text: str, index: str, *, where: str) -> Part:
    """Return the part of a file.

    Raises:
        InputError: another format, or a part that is not closed.
    """
    try:
        part = _ADAPTER.validate_python(json.loads(text) | {"index": index}, extra="forbid")
    except (ValidationError, ValueError, TypeError, RecursionError) as error:
        detail = ""
        if isinstance(error, ValidationError):
            first = error.errors()[0]
            detail = f": {'.'.join(map(str, first['loc']))}: {first['msg'].lower()}"
        raise InputError(f"not a part of a lock{detail}", where=where, hint="run `sovctl lock` again") from None
    if part.unsatisfied:
        raise InputError(f"the part is not closed: {part.unsatisfied[0]}", where=where, hint="run `sovctl lock` again")
    return part
