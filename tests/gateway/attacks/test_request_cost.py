"""Issue 15, A9: the cost of a request is bounded by its size, whatever its shape. Counts work; measures no time."""

from __future__ import annotations

import cProfile
import json
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from echo_upstream import EchoUpstream
from hypothesis import given
from hypothesis import strategies as st
from loopback_gateway import LoopbackGateway, running_gateway, say, write_loopback_config

from bench.traffic.request_shapes import CONTAINERS, CONTENTS, request_body
from examples import examples
from sovctl.gateway.detect.build import make_detector
from sovctl.gateway.detect.clean_text_cache import CachedFinder
from sovctl.gateway.detect.findings.finding import Finding
from sovctl.gateway.detect.findings.overlaps import resolve
from sovctl.gateway.detect.labels import is_cue
from sovctl.gateway.detect.text.words import Words
from sovctl.gateway.domain.entities import EntityType
from sovctl.gateway.domain.work import Cancelled, Work, WorkExceeded, budget_of, metered, spend
from sovctl.gateway.inspection.inspector import Inspector
from sovctl.gateway.inspection.known_names import Aliases
from sovctl.gateway.inspection.known_values import KnownValues
from sovctl.gateway.settings.detection.detect import DetectSettings
from sovctl.gateway.surfaces import SURFACES

_SURFACE = SURFACES["/v1/chat/completions"]
_UNLIMITED = 1 << 40
_DETECTOR = make_detector(DetectSettings())
_SIZE, _SMALL = 12 << 10, 6 << 10  # bytes
_CALLS_PER_UNIT = 8
"""Calls of functions for each unit of work; prose takes fewer than one, dense shapes up to five (2026-11)."""


class Calls:
    """Counts the calls of functions, of Python and of C, while it is open: a measure of work without a clock."""

    def __enter__(self) -> Calls:
        self._profile = cProfile.Profile()
        self._profile.enable()
        return self

    def __exit__(self, *_: object) -> None:
        self._profile.disable()
        self.count = sum(each.callcount for each in self._profile.getstats())  # type: ignore[attr-defined]


def inspected(body: dict[str, Any], *, limit: int = _UNLIMITED) -> tuple[Work, int]:
    """The work of inspecting `body`, and how many functions were called."""
    work, inspector = Work(limit=limit), Inspector(CachedFinder(_DETECTOR), _SURFACE, max_depth=64)
    with work.current(), Calls() as calls:
        inspector.inspect(body)
    return work, calls.count


shapes = st.builds(
    lambda contents, container: f"{'+'.join(contents)}/{container}",
    st.lists(st.sampled_from(sorted(CONTENTS)), min_size=1, max_size=3),
    st.sampled_from(sorted(CONTAINERS)),
)


@examples(400, deadline=None)
@given(shapes, st.integers(0, 1 << 30))
def test_work_of_any_shape_is_counted(shape: str, seed: int) -> None:
    body = request_body(shape, random.Random(seed), size=_SIZE)
    work, calls = inspected(body)
    assert calls < _CALLS_PER_UNIT * work.done + len(json.dumps(body)) + 20_000


@pytest.mark.parametrize("container", ["string", "pages", "arguments", "named", "keys"])
@pytest.mark.parametrize("content", ["names", "one-name", "both-scripts", "initials", "mails", "labels", "arabic"])
def test_work_grows_with_the_size_and_no_faster(content: str, container: str) -> None:
    def units(size: int) -> int:
        work = Work(limit=_UNLIMITED)
        with work.current():
            body = request_body(f"{content}/{container}", random.Random(1), size=size)
            Inspector(CachedFinder(_DETECTOR), _SURFACE, max_depth=64).inspect(body)
        return work.done

    assert units(4 * _SMALL) < 9 * units(_SMALL) + 20_000  # 4 if linear, 16 if quadratic; short texts are batched


@examples(100, deadline=None)
@given(shapes, st.integers(0, 1 << 30), st.integers(0, 50_000))
def test_no_more_work_is_done_than_the_budget_allows(shape: str, seed: int, limit: int) -> None:
    body = request_body(shape, random.Random(seed), size=_SIZE)
    needed, calls = inspected(body)
    if limit >= needed.done:
        assert inspected(body, limit=limit)[0].done == needed.done  # the same request, the same count
        return
    work, inspector = Work(limit=limit), Inspector(CachedFinder(_DETECTOR), _SURFACE, max_depth=64)
    with pytest.raises(WorkExceeded), work.current(), Calls() as refused:
        inspector.inspect(body)
    assert refused.count <= calls


def test_a_small_body_has_the_budget_of_one_mib() -> None:
    assert [budget_of(size, units_per_mib=1000) for size in (0, 1 << 20, 3 << 20)] == [1000, 1000, 3000]


def test_an_excess_is_noticed_before_the_work_is_done() -> None:
    work, done = Work(limit=100), []
    with work.current(), pytest.raises(WorkExceeded):
        done += metered(range(1000), 1)
    assert not done


def test_without_a_budget_nothing_is_counted() -> None:
    spend(1 << 60)
    assert list(metered([1, 2], 1 << 60)) == [1, 2]


class _Leaving:
    """A finder during whose second text the client leaves."""

    rule_names = ()
    is_cue = staticmethod(is_cue)

    def __init__(self, work: Work) -> None:
        self.scanned = 0
        self._work = work

    def find(self, text: str) -> list[Finding]:
        return self.scan(text)[0]

    def scan(self, text: str) -> tuple[list[Finding], Words | None]:
        self.scanned += 1
        if self.scanned == 2:
            self._work.cancel()
        return [], None


def test_a_cancelled_scan_ends_before_the_next_text() -> None:
    work = Work(limit=_UNLIMITED)
    finder = _Leaving(work)
    body = {"model": "m", "messages": [{"role": "user", "content": f"text {number}"} for number in range(100)]}
    with work.current(), pytest.raises(Cancelled):
        Inspector(CachedFinder(finder), _SURFACE, max_depth=64).inspect(body)
    assert finder.scanned == 2


_words = st.sampled_from(["anna", "Anna", "DE89", "a", "_", "+49", "@x", "café", "кот", " ", ".", "-", "'", "1", "aa"])
_texts = st.lists(_words, max_size=12).map("".join)


@examples(400)
@given(st.lists(_texts.filter(bool), max_size=8), _texts)
def test_values_are_found_alike_by_search_and_by_index(values: list[str], text: str) -> None:
    known = KnownValues()
    for value in values:
        known.add(value, Finding(0, len(value), EntityType.IBAN, 1.0, value, "IBAN"))
    searched = sorted(known.find_each(text, dict.fromkeys(values)))
    assert sorted(known.find_all(text)) == searched


_NAMES = (
    *("Kowalska Anna", "Павел Воробей", "خالد القحطاني", "Emily O'Connor", "Jürgen Müller", "Dobronravova Aglaia"),
    *("Аглая Добронравова", "Friederike Großmann", "Mehmet Yıldırımoğlu", "Ben Quimbleby", "Νίκος Παπαδόπουλος"),
)
_PARTS = sorted({part for name in _NAMES for part in name.split()})
_pieces = st.builds(
    lambda before, part, end, form: form(before + part + end),
    st.sampled_from(["", "", "و", "لل", "x", "_", "O'", "\u0301"]),
    st.sampled_from([*_PARTS, *(part[:4] for part in _PARTS), "A. K.", "A.K.", "the"]),
    st.sampled_from(["", "", "s", "a", "ej", "ова", "ой", "'s", "’in", "nın", "у"]),
    st.sampled_from([str, str, str.upper, str.lower, str.title]),
)


@examples(400, deadline=None)
@given(
    st.lists(st.sampled_from(_NAMES), min_size=1, max_size=6),
    st.lists(st.tuples(_pieces, st.sampled_from([" ", ", ", "-", ". ", "\n", "'"])), max_size=20),
)
def test_names_are_found_alike_by_search_and_by_index(names: list[str], pieces: list[tuple[str, str]]) -> None:
    aliases, text = Aliases(), "".join(map("".join, pieces))
    for name in names:
        aliases.learn(name)
    searched = resolve(aliases.find(text, is_search_wanted=True))
    assert resolve(aliases.find(text, is_search_wanted=False)) == searched


@pytest.fixture(scope="module")
def upstream() -> Iterator[EchoUpstream]:
    with EchoUpstream() as found:
        found.script.message = lambda _: {"role": "assistant", "content": "yes"}
        yield found


@pytest.fixture(scope="module")
def gateway(tmp_path_factory: pytest.TempPathFactory, upstream: EchoUpstream) -> Iterator[LoopbackGateway]:
    config = write_loopback_config(
        tmp_path_factory.mktemp("cost"),
        cloud_port=upstream.port,
        pool_port=upstream.port,
        limits={"max_work_per_mib": 100_000},
    )
    with running_gateway(config) as found:
        yield found


@pytest.mark.parametrize("shape", ["names/string", "names/arguments", "labels/string", "grouped/keys"])
def test_a_request_over_its_budget_is_refused_and_recorded(
    gateway: LoopbackGateway, upstream: EchoUpstream, shape: str
) -> None:
    upstream.raw.clear()
    body = {**request_body(shape, random.Random(1), size=150_000), "model": say("")["model"]}
    status, _, answer = gateway.post(body, timeout_s=120)
    assert (status, json.loads(answer)["error"]["sovctl"]["reason"]) == (422, "too_much_work")
    assert not upstream.raw
    record = [each for each in gateway.records() if each["type"] == "gateway.request"][-1]
    assert (record["verdict"], record["reasons"], record["upstream"]) == ("block", ["work-exceeded"], None)
    assert gateway.post(say("Please confirm the transfer for me."))[0] == 200


def test_a_scan_ends_at_the_deadline_of_its_request(gateway: LoopbackGateway, upstream: EchoUpstream) -> None:
    upstream.raw.clear()
    text = "Please read this for me: " + "please confirm the transfer. " * 20_000
    status, _, answer = gateway.post(say(text), headers={"x-request-timeout": "0.001"}, timeout_s=120)
    assert (status, json.loads(answer)["error"]["sovctl"]["reason"]) == (504, "deadline_exceeded")
    assert not upstream.raw


def test_names_times_texts_is_not_quadratic(tmp_path: Path, upstream: EchoUpstream) -> None:
    """The request of the issue: 406 KB with many names and many texts, within the default budget or refused by it."""
    upstream.raw.clear()
    config = write_loopback_config(tmp_path, cloud_port=upstream.port, pool_port=upstream.port)
    names = request_body("names/string", random.Random(1), size=40_000)["messages"][0]["content"]
    texts = [
        {"role": "user", "content": f"note {number}: {'please confirm the transfer ' * 8}"} for number in range(1500)
    ]
    body = {**say(""), "messages": [{"role": "user", "content": names}, *texts]}
    with running_gateway(config) as gateway:
        status, _, answer = gateway.post(body, timeout_s=120)
    assert status == 200 or json.loads(answer)["error"]["sovctl"]["reason"] == "too_much_work"
