"""Parsers of package sources: `apt-get indextargets`, and apt's source files.

`apt-get indextargets` lists the indexes that apt fetches, and whether the signatures of the last fetch are valid. The
required key and options that disable verification are only in the files: sources.list(5).
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from ..unreadable import Unreadable

FILE_MARK = "=> "
"""Prefix of the line with the path of the file whose content follows."""
_ONE_LINE = re.compile(r"^(?:deb|deb-src)\s+(?:\[(?P<options>[^\]]*)\]\s+)?(?P<uri>\S+)\s+\S+")
_YES = frozenset({"yes", "true", "1", "on", "with", "enable"})  # sources.list(5)
_NO = frozenset({"no", "false", "0", "off", "without", "disable"})
_FORCING = ("trusted", "allow-insecure", "allow-weak", "allow-downgrade-to-insecure")


@dataclass(frozen=True, slots=True)
class IndexTarget:
    """One index that `apt-get update` fetches.

    Args:
        is_verified: the signature of the last fetch is valid, or an option of the source forces apt to trust it.
    """

    repo_uri: str
    entry: str | None
    is_verified: bool


@dataclass(frozen=True, slots=True)
class SourceEntry:
    """One enabled entry of a source file.

    Args:
        signed_by: key file, fingerprint or embedded key; None if any trusted key is accepted.
        forced: names of enabled options that skip or weaken the verification of signatures.
    """

    file: str
    uris: tuple[str, ...]
    signed_by: str | None
    forced: tuple[str, ...]


def parse_index_targets(text: str) -> tuple[IndexTarget, ...]:
    """Parse the output of `apt-get indextargets`; empty without a source.

    Raises:
        Unreadable: a stanza has no repository.
    """
    targets = []
    for stanza in text.split("\n\n"):
        fields = dict(line.split(": ", 1) for line in stanza.splitlines() if ": " in line and line[0] != " ")
        if not fields:
            continue
        uri = fields.get("Repo-URI") or fields.get("Site") or fields.get("URI")
        if uri is None:
            raise Unreadable("a Repo-URI", stanza, where="apt-get indextargets")
        targets.append(IndexTarget(uri, fields.get("Sourcesentry"), fields.get("Trusted") == "yes"))
    return tuple(targets)


def parse_source_files(text: str) -> tuple[SourceEntry, ...]:
    """Return the enabled entries of source files in either format. Each file follows a line `=> path`.

    Raises:
        Unreadable: there is text before the first file, or a line has neither format.
    """
    entries: list[SourceEntry] = []
    for file, lines in _files(text):
        read = _deb822 if file.endswith(".sources") else _one_line
        entries += read(file, lines)
    return tuple(entries)


def _files(text: str) -> Iterator[tuple[str, list[str]]]:
    current: tuple[str, list[str]] | None = None
    for line in text.splitlines():
        if line.startswith(FILE_MARK):
            if current is not None:
                yield current
            current = (line.removeprefix(FILE_MARK), [])
        elif current is not None:
            current[1].append(line)
        elif line.strip():
            raise Unreadable(f"`{FILE_MARK}path`", line, where="apt sources")
    if current is not None:
        yield current


def _deb822(file: str, lines: list[str]) -> Iterator[SourceEntry]:
    for stanza in "\n".join(line for line in lines if not line.startswith("#")).split("\n\n"):
        fields: dict[str, str] = {}
        key = ""
        for line in stanza.splitlines():
            if line[:1] in (" ", "\t") and key:
                fields[key] += f" {line.strip()}"
            elif ":" in line:
                key, _, value = line.partition(":")
                key = key.strip().lower()
                fields[key] = value.strip()
            elif line.strip():
                raise Unreadable("`Field: value`", line, where=file)
        if fields and fields.get("enabled", "yes").lower() not in _NO:
            yield _entry(file, tuple(fields.get("uris", "").split()), fields)


def _one_line(file: str, lines: list[str]) -> Iterator[SourceEntry]:
    for raw in lines:
        line = raw.partition("#")[0].strip()
        if not line:
            continue
        match = _ONE_LINE.match(line)
        if match is None:
            raise Unreadable("`deb [options] uri suite`", line, where=file)
        pairs = (option.partition("=") for option in (match["options"] or "").split())
        yield _entry(file, (match["uri"],), {key.lower(): value for key, _, value in pairs})


def _entry(file: str, uris: tuple[str, ...], options: dict[str, str]) -> SourceEntry:
    forced = tuple(name for name in _FORCING if options.get(name, "").lower() in _YES)
    return SourceEntry(file, uris, options.get("signed-by") or None, forced)
