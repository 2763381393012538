"""Lines of a text that contain a finding, such as rows of a table."""

from __future__ import annotations

from collections.abc import Container, Iterator, Sequence

from ...domain.entities import EntityType
from ..findings.finding import Finding

_LONGEST_ROW = 300  # characters; longer lines are prose


def rows_of(text: str, found: Sequence[Finding], entity_types: Container[EntityType]) -> Iterator[tuple[int, int]]:
    """Yield start and end of each line with a finding of one of `entity_types`, except long lines, which are prose."""
    done = -1
    for finding in sorted(found, key=lambda each: each.start):
        if finding.entity_type not in entity_types or finding.start < done:
            continue
        start = text.rfind("\n", 0, finding.start) + 1
        done = text.find("\n", finding.end)
        done = len(text) if done < 0 else done
        if done - start <= _LONGEST_ROW:
            yield start, done
