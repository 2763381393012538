"""A real agent over stand-in engines: turns, order, memory, kills, and failed starts, sleeps and wakes."""

from __future__ import annotations

import json
import random
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from http.client import HTTPException
from pathlib import Path

import pytest
from standin_engine import RESIDUE_MIB, TOTAL_MIB
from swap_agent import Group, group, load
from waiting import until

from sovctl.engine.facts.swap_reports import parse_swap_report

POOLS = ("chat", "code", "legal")


def most_awake(made: Group) -> int:
    """Return the largest number of engines that used more than the residue at one time."""
    large = TOTAL_MIB * 0.9
    return max(int(row["value"] // (large - RESIDUE_MIB)) for row in made.log("taken"))


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Group]:
    """A group of three pools, which the tests of this file share."""
    with group(tmp_path_factory.mktemp("swap"), *POOLS) as made:
        made.until_awake()
        yield made


def test_the_parser_reads_the_report_of_an_agent(made: Group) -> None:
    made.until_awake()
    report = parse_swap_report(json.dumps(made.status()))
    assert {each["pool"] for each in report["engines"]} == set(POOLS)
    assert sorted(each["state"] for each in report["engines"]) == ["asleep", "asleep", "awake"]


def test_three_models_answer_200_random_requests_in_turns(made: Group) -> None:
    draw = random.Random(20)
    made.until_awake()
    assert {each["state"] for each in made.status()["engines"]} == {"awake", "asleep"}

    def conversation(number: int) -> list[int]:
        pools = [draw.choice(POOLS) for _ in range(10)]
        return [made.request(pool, f"{number}/{turn}")[0] for turn, pool in enumerate(pools)]

    with ThreadPoolExecutor(20) as pool:
        statuses = [status for each in pool.map(conversation, range(20)) for status in each]
    assert statuses == [200] * 200, "a request failed"
    answered = [str(row["value"]) for row in made.log("answer") if row["value"] != "probe"]
    assert sorted(answered) == sorted(f"{number}/{turn}" for number in range(20) for turn in range(10))
    for number in range(20):
        turns = [int(text.partition("/")[2]) for text in answered if text.startswith(f"{number}/")]
        assert turns == list(range(10)), "the order of a conversation changed"
    assert len({row["pool"] for row in made.log("answer")}) == 3
    assert not made.log("overflow")
    assert most_awake(made) == 1


def test_a_killed_agent_continues_and_no_two_engines_are_awake(made: Group) -> None:
    draw = random.Random(7)
    made.until_awake()
    is_over = threading.Event()
    counts = {"asked": 0, "answered": 0}

    def ask() -> None:
        while not is_over.is_set():
            counts["asked"] += 1
            try:
                counts["answered"] += made.request(draw.choice(POOLS), "x", 10)[0] == 200
            except (OSError, HTTPException):
                time.sleep(0.05)  # the agent is dead; the proxy answers 503

    asking = [threading.Thread(target=ask) for _ in range(3)]
    for each in asking:
        each.start()
    for _ in range(8):
        time.sleep(draw.uniform(0.02, 0.5))
        made.kill()
        made.start()
    until(lambda: counts["answered"] > 10, "answers after the kills")
    is_over.set()
    for each in asking:
        each.join(timeout=20)
    assert not made.log("overflow")
    assert most_awake(made) == 1


def test_an_engine_that_fails_starts_again_and_serves(tmp_path: Path) -> None:
    with group(tmp_path, "chat", "code") as made:
        made.until_awake("chat")
        # Route that fails, pool whose engine fails, pool of the request that leads there.
        for route, failing, asked in (
            ("/sleep", "chat", "code"),
            ("start", "chat", "chat"),
            ("/wake_up", "code", "code"),
            ("/v1/chat/completions", "chat", "chat"),
        ):
            fault = tmp_path / f"{failing}.fault"
            fault.write_text(route)
            assert made.request(asked, route)[0] == 200
            assert not fault.exists(), f"{route} did not fail"
        assert not made.log("overflow")
        assert most_awake(made) == 1


def test_without_measured_memory_no_engine_starts(tmp_path: Path) -> None:
    (tmp_path / "no-memory").touch()
    with group(tmp_path, "chat", "code", hold_s=0.5) as made:
        until(lambda: "unknown" in str(made.status().get("reason")), "the reason")
        status, headers = made.request("chat", "a")
        assert (status, headers.get("Retry-After")) == (503, "5")
        assert not list(tmp_path.glob("*.pid"))
        (tmp_path / "no-memory").unlink()
        made.until_awake("chat")


def test_a_wanted_pool_wakes_and_stays_wanted_after_a_restart(made: Group) -> None:
    made.until_awake()
    assert made.command("--want", "legal")["want"] == "legal"
    made.until_awake("legal")
    made.kill()
    made.start()
    until(lambda: made.status().get("want") == "legal", "the wish")
    assert made.command("--want", "-")["want"] is None
    assert made.command("--want", "other") == {"error": "ValueError: status 404"}


def test_a_full_queue_refuses_and_a_client_that_left_gets_no_turn() -> None:
    swap = load("swap")
    held = swap.Held(1, threading.Event())
    assert not held.wait("chat", 10, lambda: True)
    assert held.pools() == ()
    waiting = threading.Thread(target=held.wait, args=("chat", 10, lambda: False))
    waiting.start()
    until(lambda: held.pools() == ("chat",), "a held request")
    assert not held.wait("code", 10, lambda: False), "the queue is full"
    held.release("chat")
    waiting.join(timeout=10)
    assert held.pools() == ()
