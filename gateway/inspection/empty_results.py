"""Remembers for which inputs a stage of the inspection found nothing, in one conversation.

Most texts of most stages have no result: values whose keys explain nothing, messages without special categories. The
memory holds a keyed hash of each such input, and only those of the last request.

    empty = EmptyResults(memory, "labelled")
    if key not in empty and not search(...):
        empty.add(key)
    empty.remember()
"""

from __future__ import annotations

from ..detect.findings_memory import TenantFindings


class EmptyResults:
    """Inputs without a result.

    Args:
        memory: of one conversation; None without a memory.
        stage: name of the stage.
    """

    def __init__(self, memory: TenantFindings | None, stage: str) -> None:
        self._memory = memory
        self._stage = stage
        record = memory.read(stage, "") if memory is not None else None
        self._known = frozenset(record[1] if record is not None else ())
        self._seen: set[int] = set()

    def __contains__(self, key: int) -> bool:
        """Whether an earlier request found nothing for this input."""
        if key not in self._known:
            return False
        self._seen.add(key)
        return True

    def add(self, key: int) -> None:
        """Add an input without a result."""
        self._seen.add(key)

    def remember(self) -> None:
        """Keep the inputs of this request."""
        if self._memory is not None and self._seen != self._known:
            self._memory.write(self._stage, "", list(self._seen))
