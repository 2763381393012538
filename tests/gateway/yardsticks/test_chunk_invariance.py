"""A yardstick that is not ours: `chunk-invariance`. However an answer is cut, what comes out is the same."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator

import pytest
from chunk_invariance import ChunkInvarianceError, assert_chunk_invariant

from sovctl.gateway.domain.entities import EntityType
from sovctl.gateway.pipeline.restored_events import RestoredEvents
from sovctl.gateway.surfaces import SURFACES, Restoration
from sovctl.gateway.tokens.restore import RestoreCounts, Restorer, restore
from sovctl.gateway.tokens.token import TokenIssuer

_MINT = TokenIssuer(bytes(32), tenant="t", conversation="c")
_MAIL = _MINT.token(EntityType.EMAIL, "anna@example.com", "Anna@example.com")
_IBAN = _MINT.token(EntityType.IBAN, "DE89370400440532013000", "DE89 3704 0044 0532 0130 00")
_ODD = _MINT.token(EntityType.SECRET, 'a "quoted"\n\\value', 'a "quoted"\n\\value')
_ISSUED = _MINT.issued
_FOREIGN = TokenIssuer(bytes(32), tenant="t", conversation="d").token(
    EntityType.EMAIL, "anna@example.com", "Anna@example.com"
)

_ANSWERS = {
    "prose": f"Write to {_MAIL} about {_IBAN}.",
    "neighbours": f"{_MAIL}{_IBAN}{_MAIL}",
    "other case and markdown": f"**{_MAIL.lower()}**, {_IBAN.replace('_', chr(92) + '_')}'s",
    "beginnings of tokens": f"EMAIL_ IBAN_7K IB IBA E {_MAIL[:-1]} {_MAIL}",
    "foreign and damaged": f"{_FOREIGN} {_MAIL[:-1]}A {_IBAN}",
    "inside links": f"![x](https://evil.example/?q={_MAIL}) {_IBAN}",
    "other scripts": f"Напишите на {_MAIL}، اكتب إلى {_IBAN} 請聯絡",
    "a value with quotes": f"It is {_ODD}, then {_MAIL}",
}


def _stream(chunks: Iterable[str], *, is_json: bool = False) -> Iterator[str]:
    restorer = Restorer(_ISSUED, is_json=is_json)
    for chunk in chunks:
        yield restorer.feed(chunk)
    yield restorer.flush()


def test_the_yardstick_finds_a_restorer_that_reads_each_chunk_alone() -> None:
    def alone(chunks: Iterable[str]) -> Iterator[str]:
        for chunk in chunks:
            yield restore(chunk, _ISSUED)

    with pytest.raises(ChunkInvarianceError):
        assert_chunk_invariant(alone, lambda text: restore(text, _ISSUED), _ANSWERS["prose"])


@pytest.mark.parametrize("answer", _ANSWERS.values(), ids=list(_ANSWERS))
def test_prose_is_restored_the_same_however_it_is_cut(answer: str) -> None:
    checked = assert_chunk_invariant(_stream, lambda text: restore(text, _ISSUED), answer, splits=3)
    assert checked > len(answer)


@pytest.mark.parametrize("answer", _ANSWERS.values(), ids=list(_ANSWERS))
def test_tool_arguments_are_restored_the_same_however_they_are_cut(answer: str) -> None:
    arguments = json.dumps({"note": answer, "to": [_MAIL]})
    checked = assert_chunk_invariant(
        lambda chunks: _stream(chunks, is_json=True),
        lambda text: restore(text, _ISSUED, is_json=True),
        arguments,
        splits=3,
    )
    assert checked > len(arguments)


def _events(chunks: Iterable[bytes]) -> Iterator[bytes]:
    stream = SURFACES["/v1/chat/completions"].stream(Restoration(_ISSUED, "assistant", RestoreCounts()))
    yield from map(RestoredEvents(stream, max_event_bytes=1 << 20).feed, chunks)
    yield from stream.last()


@pytest.mark.parametrize("end", ["\n\n", "\r\n\r\n"])
def test_a_stream_is_the_same_however_its_bytes_are_cut(end: str) -> None:
    pieces = [_ANSWERS["other scripts"][at : at + 9] for at in range(0, len(_ANSWERS["other scripts"]), 9)]
    deltas = [{"index": 0, "delta": {"content": piece}, "finish_reason": None} for piece in pieces]
    deltas.append({"index": 0, "delta": {}, "finish_reason": "stop"})
    chunks = [json.dumps({"id": "x", "model": "big", "choices": [each]}, ensure_ascii=False) for each in deltas]
    raw = "".join(f"data: {each}{end}" for each in [*chunks, "[DONE]"]).encode()
    assert_chunk_invariant(_events, lambda whole: b"".join(_events([whole])), raw)
