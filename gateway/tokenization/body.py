"""The body that leaves: tokens or masks instead of identifiers, and a second look before it goes.

    outgoing = tokenize_body(body, inspector, permissions, issuer, model="big", dropped={"user"})
    outgoing.data        # for the cloud
    outgoing.issued      # token -> what it stands for: first into the vault, then into the restorers

The second look reads the seams as a stranger would: no identifier may be found there outside of our own tokens and
masks, and none of the replaced values may occur anywhere in the bytes that leave. Otherwise `IdentifierLeak` is raised and
nothing leaves. What lies farther from a replacement is, character by character, what the first look read.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Collection, Mapping, Sequence
from types import MappingProxyType
from typing import Any, NamedTuple

import orjson

from ..detect.clean_text_cache import CleanTexts
from ..detect.findings.finding import Finding
from ..domain.entities import EntityType, Mark
from ..inspection.inspector import Inspector
from ..policy.permissions import Permissions
from ..settings import Action
from ..tokens.surrogates import is_fixed
from ..tokens.token import ID_CHARACTERS, TokenIssuer
from .text import Replaced, replace

_TOUCHING = 32  # characters from a replacement in which it can be part of something new: no identifier is longer
_SEAM = 96  # characters read on either side: as much again as any rule looks around for words
_ANY_ID = "X" * ID_CHARACTERS
_PROSE = bytes(range(97, 123)) + b" \\"
_FEW = 6  # values; so many are looked for in less time than what is rare takes to be found
_SHORTEST_CHECKED = 5  # characters; shorter values also occur inside ordinary words


class IdentifierLeak(Exception):
    """The outgoing body still holds an identifier. The message names its kind, never the value."""


class TokenizedBody(NamedTuple):
    """What may leave."""

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
    """The body for a cloud. `body` itself is as it was when this returns.

    Args:
        inspector: the one that inspected `body`.
        permissions: what policy says to this tenant on this route.
        model: what the cloud calls the model.
        dropped: top-level fields that stay here.
        told: top-level fields that are as we say.

    Raises:
        IdentifierLeak: it would still hold an identifier.
    """
    leaves = inspector.leaves
    issued: dict[str, str] = {}
    rewritten: list[Replaced] = []
    masked: list[tuple[EntityType, str]] = []
    try:
        for leaf in (*leaves.texts, *leaves.numbers):
            if leaf.path[0] in dropped:
                continue
            findings = inspector.findings(leaf)
            if not findings and "_" not in leaf.text:
                continue
            found, masks = _sorted_out(findings, permissions)
            if is_fixed(leaf.path):
                continue
            escapes = leaf.escapes if leaf.document else 0
            replaced = replace(leaf.text, found, issuer, masked=masks, escapes=escapes)
            if replaced.places:
                issued.update(replaced.issued)
                masked += [(finding.entity_type, leaf.text[finding.start : finding.end]) for finding in masks]
                leaf.put(replaced.text)
                rewritten.append(replaced)
        leaves.close()
        new = {key: value for key, value in body.items() if key not in dropped}
        new.update(told, model=model)
        data = orjson.dumps(new)
    finally:
        leaves.undo()
    if rewritten:
        _look_again(rewritten, inspector.finder, permissions)
        values = [(token[: -ID_CHARACTERS - 1], surface) for token, surface in issued.items()]
        values += masked
        rare = _rare(data) if len(values) > _FEW else None
        for label, surface in values:
            if _occurs(surface, data, rare) and label != Mark.TEXT:
                raise IdentifierLeak(f"a value of {label} a second time")
    return TokenizedBody(data, issued)


def _sorted_out(findings: Sequence[Finding], permissions: Permissions) -> tuple[list[Finding], list[Finding]]:
    """Those that must not leave as they are, and those of them that become masks."""
    found, masks, allow, mask = [], [], Action.ALLOW, Action.MASK  # an enum's members take long to get
    for finding in findings:
        action = permissions.action_for(finding.entity_type, finding.rule)
        if action is not allow:
            found.append(finding)
            if action is mask:
                masks.append(finding)
    return found, masks


def _look_again(rewritten: Sequence[Replaced], finder: CleanTexts, permissions: Permissions) -> None:
    pieces = [(replaced.places, first, text) for replaced in rewritten for first, text in _seams(replaced)]
    if finder.are_clean([text for _, _, text in pieces]):
        return
    for ours, first, text in pieces:
        for finding in finder.find(text):
            action = permissions.action_for(finding.entity_type, finding.rule)
            span = (finding.start + first, finding.end + first)
            if action is not Action.ALLOW and not _is_ours(span, ours) and _touches(span, ours):
                raise IdentifierLeak(f"{finding.entity_type.value} by {finding.rule}")


def _seams(replaced: Replaced) -> list[tuple[int, str]]:
    """The pieces of a text in which a replacement may have made something new, and where they begin; merged where they
    meet. All tokens in them have the same characters: their own are random and cost time."""
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
    """What is left of a body without the characters that prose consists of; a tenth of it."""
    return data.translate(None, _PROSE)


def _occurs(surface: str, data: bytes, rare: bytes | None) -> bool:
    """True when a value stands in the body, as JSON has it in a string or in a string that holds JSON.

    Args:
        rare: of `data`, for many values: where one stands there, its rare characters stand together here.
    """
    if len(surface) < _SHORTEST_CHECKED:
        return False
    # One character is found many times as quickly as several, and of these none is left in most bodies.
    if ("@" in surface and data.find(b"@") < 0) or ("+" in surface and data.find(b"+") < 0):
        return False
    written = orjson.dumps(surface)[1:-1]
    if rare is not None and rare.find(_rare(written)) < 0:
        return False
    if data.find(written) >= 0:
        return True
    return written.find(b"\\") >= 0 and data.find(orjson.dumps(written.decode())[1:-1]) >= 0


def _is_ours(span: tuple[int, int], ours: list[tuple[int, int]]) -> bool:
    """True when one of `ours`, which are sorted and do not overlap, holds the whole span."""
    place = bisect_right(ours, span[0], key=_start_of) - 1
    return place >= 0 and span[1] <= ours[place][1]


def _touches(span: tuple[int, int], ours: list[tuple[int, int]]) -> bool:
    """True when a replacement is so near that it may be a part of what stands at `span`."""
    place = bisect_right(ours, span[1] + _TOUCHING, key=_start_of) - 1
    return place >= 0 and ours[place][1] + _TOUCHING >= span[0]


def _start_of(span: tuple[int, int]) -> int:
    return span[0]
