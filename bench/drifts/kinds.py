"""All kinds of drift."""

from __future__ import annotations

import random
from collections.abc import Sequence

from . import files, hasty, kept_apart, resources, units, unmanaged
from .kind import Kind

A_ROUND = 120
"""Maximum number of kinds in a round."""


def kinds() -> list[Kind]:
    """Return the kinds with which the detection was developed, in the order of the tables."""
    return [*files.kinds(), *units.kinds(), *unmanaged.kinds(), *resources.kinds(), *hasty.kinds()]


def kinds_kept_apart() -> list[Kind]:
    """Return the kinds that were written after the detection, and are run once."""
    return list(kept_apart.kinds())


def rounds_of(all_kinds: Sequence[Kind], seed: int, size: int = A_ROUND) -> list[list[Kind]]:
    """Return kinds in random order, in rounds; no two kinds of a round conflict.

    Kinds with many conflicts are first, because each needs a round of its own. Kinds that lock a file
    are the last ones of a round.
    """
    waiting = list(all_kinds)
    random.Random(seed).shuffle(waiting)
    waiting.sort(key=lambda kind: -sum(kind.conflicts(each) for each in all_kinds))
    made: list[list[Kind]] = []
    while waiting:
        taken: list[Kind] = []
        for kind in waiting:
            if len(taken) < size and not any(kind.conflicts(each) for each in taken):
                taken.append(kind)
        waiting = [kind for kind in waiting if kind not in taken]
        made.append(sorted(taken, key=lambda kind: kind.is_last))
    return made
