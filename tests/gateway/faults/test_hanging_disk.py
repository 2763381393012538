"""A disk that hangs: no error, just no answer. Clients hear of it in time, nothing leaves, and all goes on after it."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import pytest
import yaml
from clients_digests import with_digests
from echo_upstream import EchoUpstream
from frozen_disk import Disk, own_disk
from loopback_gateway import MODEL, LoopbackGateway, running_gateway, say, write_loopback_config
from waiting import until

from sovctl.compliance.ledger.verify import verify_ledger

REASONS = {
    ("vault",): "vault_unavailable",
    ("limits",): "limits_unavailable",
    ("ledger",): "audit_unavailable",
    ("ledger", "vault"): "audit_unavailable",
}
PLACES = {"vault": ("vault", "path"), "limits": ("quota", "path"), "ledger": ("ledger", "directory")}
TIMEOUT_S = 6.0  # a disk that only is slow takes less
CLIENTS = 8


@contextmanager
def gateway_on(disk: Disk, folder: Path, stores: Iterable[str], cloud: EchoUpstream) -> Iterator[LoopbackGateway]:
    """A gateway that has these stores on this disk, and a cloud alone."""
    route = {"model": MODEL, "cloud": "cloud", "prefer": "cloud"}
    path = write_loopback_config(folder, cloud_port=cloud.port, routes=[route], disk_timeout_s=TIMEOUT_S)
    settings = yaml.safe_load(path.read_text())
    settings["upstreams"] = settings["upstreams"][1:]
    settings["access"] = {"teams": [{"name": "cards", "tenant": "retail", "limits": {"requests_per_minute": 1000}}]}
    settings["quota"] = {"path": str(folder / "quota.db")}
    clients = json.loads((folder / "clients.json").read_text())
    (folder / "clients.json").write_text(json.dumps([{**each, "team": "cards"} for each in clients]))
    for part, key in map(PLACES.__getitem__, stores):
        settings[part][key] = str(disk.path / Path(settings[part][key]).name)
    path.write_text(yaml.safe_dump(with_digests(settings)))
    with running_gateway(path) as gateway:
        yield gateway


def asked(number: int) -> dict[str, Any]:
    return say(f"Please write to customer-{number}@example.com.")


def ask_many(gateway: LoopbackGateway, first: int) -> set[tuple[int, str]]:
    """Ask that often at once; status and reason of all answers."""

    def ask(number: int) -> tuple[int, str]:
        status, _, body = gateway.post(asked(number))
        return status, json.loads(body)["error"]["code"] if status != 200 else ""

    with ThreadPoolExecutor(CLIENTS) as pool:
        return set(pool.map(ask, range(first, first + CLIENTS)))


def counted(gateway: LoopbackGateway) -> int:
    """Requests that count now, or may be let through without asking."""
    with closing(sqlite3.connect(yaml.safe_load(gateway.config.read_text())["quota"]["path"])) as database:
        ((amount,),) = database.execute("SELECT sum(amount) FROM spent WHERE kind = 'requests_per_minute'")
    return int(amount)


def ready(gateway: LoopbackGateway) -> tuple[int, dict[str, str]]:
    status, body = gateway.get("/readyz")
    return status, json.loads(body)["wrong"]


def served_again(gateway: LoopbackGateway) -> Callable[[], bool]:
    return lambda: gateway.post(asked(0))[0] == 200


@pytest.mark.parametrize("stores", REASONS, ids="+".join)
def test_a_disk_that_hangs_is_told_and_goes_on_when_it_answers(tmp_path: Path, stores: tuple[str, ...]) -> None:
    with own_disk(tmp_path) as disk, EchoUpstream() as cloud:
        with gateway_on(disk, tmp_path / "gateway", stores, cloud) as gateway:
            assert ask_many(gateway, 0) == {(200, "")}
            before = len(cloud.requests)
            until(lambda: counted(gateway) == before, "a gateway that has given back what it had leased")
            with disk.frozen():
                for first in (100, 200):  # those that wait for it, and those that come when it is known to hang
                    assert ask_many(gateway, first) == {(503, REASONS[stores])}
                status, wrong = ready(gateway)
                assert (status, wrong) == (503, dict.fromkeys(stores, "doesn't answer"))
                assert len(cloud.requests) == before
            until(served_again(gateway), "an answer of a gateway whose disk is back")
            assert ask_many(gateway, 300) == {(200, "")}
            until(lambda: ready(gateway) == (200, {}), "a gateway that is ready")
            log = [json.loads(line) for line in gateway.log().splitlines()]
            for store in stores:
                said = [each["event"] for each in log if each.get("store") == store]
                assert said == ["store does not answer", "store answers again"]
            assert not [each for each in log if each["event"] in ("unhandled error", "internal error")]
            left = b"".join(cloud.raw)
            assert b"customer-" not in left
            answers = [each for each in gateway.records() if each["type"] == "gateway.answer"]
            assert len([each for each in answers if each["status"] == 200]) == len(cloud.requests)
            settings = yaml.safe_load(gateway.config.read_text())
        assert verify_ledger(Path(settings["ledger"]["directory"])).is_whole
        for path in (settings["vault"]["path"], settings["quota"]["path"]):
            with closing(sqlite3.connect(path)) as database:
                assert database.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
        with closing(sqlite3.connect(settings["vault"]["path"])) as database:
            ((kept,),) = database.execute("SELECT count(*) FROM pieces")
        assert kept >= len(cloud.requests) - 1  # each its own conversation; the one that was asked again has one
