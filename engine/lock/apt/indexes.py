"""Reads the indexes that apt fetched: stanzas of packages with their suite, and digests of the Release files."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from pathlib import Path

from .private_apt import PrivateApt

_FORM = "$(REPO_URI)|$(RELEASE)|$(COMPONENT)|$(ORIGIN)|$(FILENAME)"


@dataclass(frozen=True)
class Index:
    """One Packages file.

    Args:
        uri: base of `Filename`.
        suite: name of the suite in the sources; empty for a flat repository.
    """

    uri: str
    suite: str
    component: str
    origin: str
    file: Path

    @property
    def label(self) -> str:
        """Origin, suite and component, such as `Debian bookworm-security main`."""
        return " ".join(filter(None, (self.origin, self.suite.strip("/"), self.component)))


@dataclass(frozen=True)
class Stanza:
    """A package in an index."""

    index: Index
    text: str

    def field(self, name: str) -> str:
        """Return the value of a one-line field; empty if it is absent."""
        match = re.search(rf"^{re.escape(name)}: *(.*)$", self.text, re.MULTILINE)
        return match[1].strip() if match else ""

    @property
    def source(self) -> str:
        """Name of the source package."""
        return self.field("Source").partition(" ")[0] or self.field("Package")


def indexes(apt: PrivateApt) -> tuple[Index, ...]:
    """Return all Packages files, in the order of apt."""
    lines = apt.run("apt-get", "indextargets", "--format", _FORM, "Created-By: Packages").stdout.splitlines()
    # apt leaves an unknown value as its placeholder, such as the component of a flat repository.
    rows = [["" if value.startswith("$(") else value for value in line.split("|")] for line in lines]
    return tuple(Index(uri, suite, component, origin, Path(file)) for uri, suite, component, origin, file in rows)


def stanzas(index: Index, names: Collection[str]) -> Iterator[Stanza]:
    """Yield the stanzas of the named packages."""
    wanted = {f"Package: {name}" for name in names}
    with index.file.open(encoding="utf-8", errors="surrogateescape") as file:
        lines: list[str] = []
        for line in file:
            if line != "\n":
                lines.append(line)
                continue
            if lines and lines[0].rstrip("\n") in wanted:
                yield Stanza(index, "".join(lines))
            lines = []
        if lines and lines[0].rstrip("\n") in wanted:
            yield Stanza(index, "".join(lines))


def releases(apt: PrivateApt) -> list[dict[str, str]]:
    """Return suite, date and SHA-256 of every Release file, sorted by suite. They are the provenance of a lock."""
    found = []
    for path in (apt.folder / "state/lists").glob("*Release"):
        data = path.read_bytes()
        fields = dict(
            line.split(": ", 1)
            for line in data.decode(errors="replace").splitlines()
            if re.match(r"[A-Z][\w-]+: ", line)
        )
        found.append(
            {
                "suite": " ".join(filter(None, (fields.get("Origin"), fields.get("Codename") or fields.get("Suite")))),
                "date": fields.get("Date", ""),
                "sha256": hashlib.sha256(data).hexdigest(),
            }
        )
    return sorted(found, key=lambda row: (row["suite"], row["sha256"]))
