"""Compares a source folder and its groups file with a collection of the service.

| action | meaning |
|---|---|
| `delete` | the service has a document whose file or groups entry is gone |
| `set_groups` | the groups differ |
| `store` | the file is new, or its version or extractor differs |

`apply` deletes and restricts first, and stores afterwards, so that an interruption leaves too little visible.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum

from sovctl.support.errors import SovctlError

from ..values import Groups
from .ingestion import Ingestion, Outcome, Status, version_of
from .parsers.extracted import Refused
from .service import StoredDocument
from .sources import Source

MOST_DELETED = 0.5
"""Share of a collection that a run deletes without --allow-deletions. Chosen 2026-11-29: a folder can be unmounted."""


class Action(StrEnum):
    """Change that makes the service equal to the source, in the order of their application."""

    DELETE = "delete"
    SET_GROUPS = "set_groups"
    STORE = "store"


@dataclass(frozen=True, slots=True)
class Difference:
    """One difference."""

    action: Action
    source_id: str
    detail: str
    groups: Groups | None = None


def differences(
    ingestion: Ingestion, sources: Sequence[Source], stored: Mapping[str, StoredDocument]
) -> Iterator[Difference]:
    """Yield the differences, sorted by source id within an action. Reads all files; parses and changes nothing."""
    found: list[Difference] = []
    seen: set[str] = set()
    for source in sources:
        seen.add(source.source_id)
        existing, groups = stored.get(source.source_id), ingestion.access.groups(source.source_id)
        if groups is None:
            if existing:
                found.append(Difference(Action.DELETE, source.source_id, "no entry of the groups file permits a group"))
            continue
        if existing and existing.groups != groups:
            found.append(Difference(Action.SET_GROUPS, source.source_id, _change(existing.groups, groups), groups))
        if detail := _stale(ingestion, source, existing):
            found.append(Difference(Action.STORE, source.source_id, detail))
    gone = sorted(stored.keys() - seen)
    found += [Difference(Action.DELETE, source_id, "the file does not exist") for source_id in gone]
    order = list(Action)
    yield from sorted(found, key=lambda each: (order.index(each.action), each.source_id))


def _stale(ingestion: Ingestion, source: Source, stored: StoredDocument | None) -> str:
    if stored is None:
        return "not in the service"
    try:
        version = version_of(source.read(ingestion.limits.file_bytes))
    except Refused as error:
        return error.message
    if stored.version != version:
        return "the file changed"
    return "" if ingestion.is_current(stored, version) else f"extracted by {stored.extractor}"


def _change(before: Groups, after: Groups) -> str:
    parts = []
    for name, old, new in (("allow", before.allow, after.allow), ("deny", before.deny, after.deny)):
        parts += [f"+{name} {group}" for group in sorted(new - old)]
        parts += [f"-{name} {group}" for group in sorted(old - new)]
    return ", ".join(parts)


def check_deletions(found: Sequence[Difference], stored: Mapping[str, StoredDocument]) -> None:
    """Raise unless the run keeps at least half of the documents.

    Raises:
        SovctlError: more than `MOST_DELETED` of the documents would be deleted.
    """
    count = sum(each.action is Action.DELETE for each in found)
    if count > MOST_DELETED * len(stored):
        raise SovctlError(
            f"{count} of {len(stored)} documents would be deleted; nothing was changed",
            hint="check that the source folder is mounted; --allow-deletions deletes them",
        )


def apply(
    ingestion: Ingestion,
    found: Sequence[Difference],
    sources: Sequence[Source],
    stored: Mapping[str, StoredDocument],
    *,
    jobs: int,
) -> Iterator[Outcome | Difference]:
    """Apply differences; yield each applied deletion and group change, and the outcome of each stored document.

    Raises:
        NodeUnreachable: the service does not answer; the rest is applied by the next run.
    """
    current = dict(stored)
    for each in found:
        if each.action is Action.DELETE:
            ingestion.service.delete(ingestion.collection, each.source_id)
            current.pop(each.source_id, None)
        elif each.groups is not None:
            ingestion.service.set_groups(ingestion.collection, each.source_id, each.groups)
            current[each.source_id] = replace(current[each.source_id], groups=each.groups)
        else:
            continue
        yield each
    wanted = {each.source_id for each in found if each.action is Action.STORE}
    outcomes = ingestion.run([source for source in sources if source.source_id in wanted], current, jobs=jobs)
    yield from (outcome for outcome in outcomes if outcome.status is not Status.UNCHANGED)
