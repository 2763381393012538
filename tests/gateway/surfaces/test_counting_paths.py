"""Paths that count tokens give no answer to judge, and no model reads for them: they cost a request, and no tokens."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from loopback_gateway import LoopbackGateway, running_gateway, write_loopback_config
from surface_upstream import SurfaceUpstream

COUNTING = "/v1/messages/count_tokens"
ASKED = {"model": "assistant", "messages": [{"role": "user", "content": "please say what a loan is"}]}
FAULTS = ["empty", "truncated", "unknown-tool", "invalid-json"]


@pytest.fixture(name="sides", scope="module")
def sides_fixture() -> Iterator[tuple[SurfaceUpstream, SurfaceUpstream]]:
    with SurfaceUpstream() as pool, SurfaceUpstream() as cloud:
        yield pool, cloud


@pytest.fixture(name="gateway")
def gateway_fixture(tmp_path: Path, sides: tuple[SurfaceUpstream, SurfaceUpstream]) -> Iterator[LoopbackGateway]:
    pool, cloud = sides
    for side in sides:
        side.forget()
    config = write_loopback_config(tmp_path, cloud_port=cloud.port, pool_port=pool.port)
    settings: dict[str, Any] = yaml.safe_load(config.read_text())
    for each in settings["upstreams"]:
        each["surfaces"] = ["messages", "embeddings", *(["tokenize"] if each["kind"] == "pool" else [])]
    settings["routes"][0]["escalate_on"] = FAULTS
    limits = {"tokens_per_day": 2000, "requests_per_minute": 8}
    settings["quota"] = {"path": str(tmp_path / "quota.db"), "default_limits": limits}
    config.write_text(yaml.safe_dump(settings))
    with running_gateway(config) as gateway:
        yield gateway


def test_a_count_is_no_empty_answer_and_takes_no_tokens_from_a_budget(
    gateway: LoopbackGateway, sides: tuple[SurfaceUpstream, SurfaceUpstream]
) -> None:
    for _ in range(4):
        status, headers, _ = gateway.post(ASKED, path=COUNTING)
        assert (status, headers["x-sovctl-route"]) == (200, "cloud")
    assert not sides[0].requests
    for _ in range(4):
        status, _, _ = gateway.post({"model": "assistant", "prompt": "loan " * 1000}, path="/tokenize")
        assert status == 200
    status, headers, _ = gateway.post(ASKED, path=COUNTING)
    assert (status, headers["x-ratelimit-remaining-requests"]) == (429, "0")


def test_what_a_model_reads_is_counted(gateway: LoopbackGateway) -> None:
    body = {"model": "assistant", "max_tokens": 4000, "messages": ASKED["messages"]}
    assert gateway.post(body, path="/v1/messages")[0] == 429
