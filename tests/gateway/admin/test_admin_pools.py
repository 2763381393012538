"""Pools for operators, put together from what several workers see."""

from __future__ import annotations

from typing import Any

import pytest

from sovctl.gateway.admin.pools import upstreams
from sovctl.gateway.settings import UpstreamKind, UpstreamSettings

CHAT = UpstreamSettings(name="chat", kind=UpstreamKind.POOL, base_urls=["http://127.0.0.1:1/v1"], model="m")


def server(url: str = "a", **changes: Any) -> dict[str, Any]:
    plain = {"url": url, "in_flight": 1, "circuit": "closed", "is_busy": False, "is_ejected": False}
    plain["is_drained"] = False
    unknown = dict.fromkeys(("load_age_s", "running", "waiting", "kv_usage"))
    return {**plain, **unknown, **changes}


def load(age_s: float, waiting: int, kv_usage: float) -> dict[str, Any]:
    return {"load_age_s": age_s, "running": 5, "waiting": waiting, "kv_usage": kv_usage}


def worker(*servers: dict[str, Any], is_down: bool = False) -> dict[str, Any]:
    return {"upstreams": [{"name": "chat", "is_down": is_down, "servers": list(servers)}]}


def test_own_requests_are_added_and_the_newest_look_counts() -> None:
    workers = [
        worker(server("a", **load(2.0, 9, 0.9)), server("b", **load(0.1, 4, 0.5))),
        worker(server("a", in_flight=2, **load(0.5, 3, 0.25)), server("b")),
    ]
    (row,) = upstreams([CHAT], workers, {"chat": 7})
    assert (row["in_flight"], row["waiting"], row["running"], row["failures"]) == (5, 7, 10, 7)
    assert row["kv_usage"] == pytest.approx(0.375)
    first = row["servers"][0]
    assert (first["url"], first["in_flight"], first["waiting"], first["kv_usage"]) == ("a", 3, 3, 0.25)


def test_unknown_figures_are_not_shown_as_zero() -> None:
    (row,) = upstreams([CHAT], [worker(server())], {})
    assert (row["waiting"], row["running"], row["kv_usage"]) == (None, None, None)
    (row,) = upstreams([CHAT], [], {})
    assert (row["state"], row["waiting"], row["servers"]) == ("unknown", None, [])


@pytest.mark.parametrize(
    ("seen", "state"),
    [
        ([{}], "closed"),
        ([{"is_ejected": True}, {}], "ejected"),
        ([{"is_ejected": True}, {"is_busy": True}], "busy"),
        ([{"is_busy": True}, {"circuit": "half-open"}], "half-open"),
        ([{"circuit": "half-open"}, {"circuit": "open", "is_ejected": True}], "open"),
        ([{"circuit": "open"}, {"is_drained": True}], "drained"),
    ],
)
def test_the_worst_opinion_is_shown(seen: list[dict[str, Any]], state: str) -> None:
    (row,) = upstreams([CHAT], [worker(server(**each)) for each in seen], {})
    assert row["servers"][0]["state"] == state
