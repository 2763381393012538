"""Hedging in a running gateway: one of two servers hangs, the client does not notice, and both are paid for."""

from __future__ import annotations

import json
import sqlite3
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing
from pathlib import Path
from typing import Any

import pytest
import yaml
from access_givens import MONITOR_KEY, entry
from clients_digests import with_digests
from surface_upstream import SurfaceUpstream
from waiting import until

KEY = "test-key-of-limited"


@pytest.fixture
def two(pki: Any) -> Iterator[list[SurfaceUpstream]]:
    """The servers of a pool."""
    with ExitStack() as stack:
        made = [SurfaceUpstream(pki.certificate_file, pki.key_file, client_ca_file=pki.ca_file) for _ in range(2)]
        yield [stack.enter_context(each) for each in made]


def test_a_server_that_hangs_is_overtaken_and_both_are_counted(
    two: list[SurfaceUpstream],
    write_config: Callable[[Path], Path],
    start_from: Callable[..., Any],
    tmp_path: Path,
) -> None:
    config = write_config(tmp_path)
    settings = yaml.safe_load(config.read_text())
    settings["upstreams"][0] |= {"base_urls": [each.base_url for each in two], "surfaces": ["embeddings"]}
    settings["routing"] = {"hedge": True, "scrape_every_s": 0.05}
    clients = [
        entry("limited", KEY, limits={"tokens_per_day": 100_000}),
        entry("monitoring", MONITOR_KEY, is_monitor=True),
    ]
    (tmp_path / "clients.json").write_text(json.dumps(clients))
    settings["clients_file"] = str(tmp_path / "clients.json")
    settings["quota"] = {"path": str(tmp_path / "quota.db")}
    config.write_text(yaml.safe_dump(with_digests(settings)))
    gateway = start_from(config, tmp_path / "log")
    asked = 0

    def attempts() -> list[str]:
        nonlocal asked
        asked += 1
        gateway.client(KEY).embeddings.create(model="inside", input="Hello", encoding_format="float")
        return list([record for record in gateway.records() if record["type"] == "gateway.answer"][-1]["attempts"])

    for _ in range(25):
        attempts()
    two[0].script.hold_answer = threading.Event()
    # The other way round, it is the server that does not hang whose answer was late.
    until(lambda: attempts() == ["chat/0:overtaken", "chat/1:200"], "a hedge of the server that hangs")
    two[0].script.hold_answer.set()
    metrics = gateway.request("GET", "/metrics")[2].decode()
    hedges = float(metrics.partition('hedges_total{upstream="chat"} ')[2].split()[0])
    gateway.stop()
    with closing(sqlite3.connect(tmp_path / "quota.db", isolation_level=None)) as database:
        ((used,),) = database.execute("SELECT sum(amount) FROM spent").fetchall()
    assert used == asked + hedges  # each server says that it used one token
