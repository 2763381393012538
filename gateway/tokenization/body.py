"""Builds the body for a cloud: tokens or masks instead of identifiers, and a scan of the result.

    outgoing = tokenize_body(body, inspector, permissions, issuer, model="big", dropped={"user"})
    outgoing.data        # for the cloud
    outgoing.issued      # values by token: stored in the vault, then used to restore the answer

The outgoing scan reads the seams, the text around each replacement: it raises `IdentifierLeak` if the detector finds an
identifier there outside of tokens and masks, or if a replaced value occurs anywhere in the outgoing bytes. Text farther
from a replacement is unchanged, so the first scan holds for it.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Collection, Mapping, Sequence
from types import MappingProxyType
from typing import Any, NamedTuple

import orjson

from ..body import exact_json
from ..detect.clean_text_cache import CachedFinder
from ..detect.text.literals import Literals
from ..domain.entities import EntityType, Mark
from ..inspection.inspector import Inspector
from ..policy.permissions import Permissions
from ..settings import Action
from ..tokens.surrogates import is_fixed
from ..tokens.token import ID_CHARACTERS, TokenIssuer
from .earlier_tokens import EarlierTokens
from .keys import new_keys
from .text import Replaced, replace_with_spans

_TOUCHING = 32  # characters; a new identifier that includes part of a replacement begins or ends this near to it
_SEAM = 96  # characters scanned on either side: twice the context that any rule reads
_ANY_ID = "X" * ID_CHARACTERS
_PROSE = bytes(range(97, 123)) + b" \\"
_FEW = 6  # values; searching for so many takes less time than `_rare`
_MUCH = 200_000_000  # values times bytes; searching for each of them takes a fifth of a second
_SHORTEST_CHECKED = 5  # characters; shorter values also occur inside ordinary words


class IdentifierLeak(Exception):
    """The outgoing body still contains an identifier. The message holds its entity type and not its value."""


class TokenizedBody(NamedTuple):
    """A body for a cloud."""

    data: bytes
    issued: Mapping[str, str]


def tokenize_body(
    body: dict[str, Any],
    inspector: Inspector,
    permissions: Permissions,
    issuer: TokenIssuer,
    *,
    model: str,
    dropped: Collection[str],
    told: Mapping[str, Any] = MappingProxyType({}),
) -> TokenizedBody:
    """Return the body for a cloud. `body` is changed while this runs, and restored before it returns.

    Args:
        inspector: the inspector of `body`.
        permissions: policy for this tenant on this route.
        model: the cloud's name of the model.
        dropped: top-level fields that are not sent.
        told: top-level fields with values that sovctl sets.

    Raises:
        IdentifierLeak: the body would still contain an identifier.
    """
    leaves = inspector.leaves
    memory = inspector.memory_of_turns if not issuer.surrogates else None
    earlier = EarlierTokens(memory, issuer) if memory is not None else None
    issued: dict[str, str] = {}
    rewritten: list[Replaced] = []
    is_rewritten = False
    masked: list[tuple[EntityType, str]] = []
    try:
        for leaf in (*leaves.texts, *leaves.numbers):
            if leaf.path[0] in dropped:
                continue
            findings = inspector.findings(leaf)
            if not findings and "_" not in leaf.text:
                continue
            found, masks = permissions.to_replace(findings)
            if is_fixed(leaf.path):
                continue
            escapes = leaf.escapes if leaf.document else 0
            again = earlier.replace(leaf.text, found, masks, escapes) if earlier is not None else None
            replaced, spans = (
                (again, ())
                if again is not None
                else replace_with_spans(leaf.text, found, issuer, masked=masks, escapes=escapes)
            )
            if replaced.places:
                is_rewritten = True
                issued.update(replaced.issued)
                masked += [(finding.entity_type, leaf.text[finding.start : finding.end]) for finding in masks]
                leaf.put(replaced.text)
                if again is None:
                    rewritten.append(replaced)
                    if earlier is not None:
                        earlier.note(leaf.text, found, masks, escapes, spans)
        for keyed, may_be_replaced in inspector.objects_with_found_keys():
            assert inspector.keys is not None
            if keyed.path[:1] and keyed.path[0] in dropped:
                continue
            renamed = new_keys(keyed, inspector.keys, permissions, issuer)
            if not renamed.names:
                continue
            if not may_be_replaced:  # a person of an earlier turn: policy has decided before
                raise IdentifierLeak("an identifier as a key")
            is_rewritten = True
            leaves.rename(keyed, renamed.names)
            issued.update(renamed.issued)
            masked += renamed.replaced
        leaves.close()
        new = {key: value for key, value in body.items() if key not in dropped}
        new.update(told, model=model)
        data = exact_json.dumps(new)
    finally:
        leaves.undo()
    if is_rewritten:
        is_clean = _scan_output(rewritten, inspector.finder, permissions)
        values = [(token[: -ID_CHARACTERS - 1], surface) for token, surface in issued.items()]
        values += masked
        rare = _rare(data) if len(values) > _FEW else None
        if rare is not None and len(values) * len(rare) > _MUCH:
            values = [values[index] for index in sorted(_suspects(values, data))]
        for label, surface in values:
            if _occurs(surface, data, rare) and label != Mark.TEXT:
                raise IdentifierLeak(f"a value of {label} a second time")
        if is_clean and earlier is not None:
            earlier.remember()
    return TokenizedBody(data, issued)


def _scan_output(rewritten: Sequence[Replaced], finder: CachedFinder, permissions: Permissions) -> bool:
    """Scan the text around each replacement; return whether nothing was found.

    Raises:
        IdentifierLeak: an identifier was found.
    """
    pieces = [(replaced.places, first, text) for replaced in rewritten for first, text in _seams(replaced)]
    if finder.are_clean([text for _, _, text in pieces]):
        return True
    for ours, first, text in pieces:
        for finding in finder.find(text):
            action = permissions.action_for(finding.entity_type, finding.rule)
            span = (finding.start + first, finding.end + first)
            if action is not Action.ALLOW and not _is_ours(span, ours) and _touches(span, ours):
                raise IdentifierLeak(f"{finding.entity_type.value} by {finding.rule}")
    return False


def _seams(replaced: Replaced) -> list[tuple[int, str]]:
    """Return the offset and the text around each replacement; overlapping ones are merged.

    The ids of tokens are replaced by a constant, so that the cache of clean texts can hold them.
    """
    text, issued = replaced.text, replaced.issued
    seams: list[tuple[int, str]] = []
    pieces: list[str] = []
    first = position = last = 0
    for start, end in replaced.places:
        if start - _SEAM > last:
            if last:
                seams.append((first, "".join((*pieces, text[position:last]))))
            pieces = []
            first = position = start - _SEAM
        if text[start:end] in issued:
            pieces += (text[position : end - ID_CHARACTERS], _ANY_ID)
            position = end
        last = end + _SEAM
    seams.append((first, "".join((*pieces, text[position:last]))))
    return seams


def _rare(data: bytes) -> bytes:
    """Return a body without lower-case letters, spaces and backslashes: 10 % of it."""
    return data.translate(None, _PROSE)


def _suspects(values: Sequence[tuple[str, str]], data: bytes) -> set[int]:
    """Return the indices of values of which `_occurs` is true; quick for many values in a long body."""
    owners: list[int] = []
    forms: list[bytes] = []
    for index, (_, surface) in enumerate(values):
        if len(surface) < _SHORTEST_CHECKED:
            continue
        written = orjson.dumps(surface)[1:-1]
        escaped = orjson.dumps(written.decode())[1:-1]
        for form in (written,) if written == escaped else (written, escaped):
            owners.append(index)
            forms.append(form)
    return {owners[each] for each in Literals(forms).found_in(data)} if forms else set()


def _occurs(surface: str, data: bytes, rare: bytes | None) -> bool:
    """Return whether the body contains a value, as JSON writes it in a string or in a string that contains JSON.

    Args:
        rare: `_rare(data)`, to exclude most of many values; None for few values.
    """
    if len(surface) < _SHORTEST_CHECKED:
        return False
    # Searching for one character is faster than for several, and most bodies contain none of these two.
    if ("@" in surface and data.find(b"@") < 0) or ("+" in surface and data.find(b"+") < 0):
        return False
    written = orjson.dumps(surface)[1:-1]
    if rare is not None and rare.find(_rare(written)) < 0:
        return False
    if data.find(written) >= 0:
        return True
    return written.find(b"\\") >= 0 and data.find(orjson.dumps(written.decode())[1:-1]) >= 0


def _is_ours(span: tuple[int, int], ours: list[tuple[int, int]]) -> bool:
    """Return whether one of `ours`, which are sorted and do not overlap, contains the span."""
    place = bisect_right(ours, span[0], key=_start_of) - 1
    return place >= 0 and span[1] <= ours[place][1]


def _touches(span: tuple[int, int], ours: list[tuple[int, int]]) -> bool:
    """Return whether a replacement is so near to `span` that it may be part of what was found there."""
    place = bisect_right(ours, span[1] + _TOUCHING, key=_start_of) - 1
    return place >= 0 and ours[place][1] + _TOUCHING >= span[0]


def _start_of(span: tuple[int, int]) -> int:
    return span[0]
