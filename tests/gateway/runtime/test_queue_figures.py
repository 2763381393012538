"""Figures of the fair queue: gauges without tenants, and one log event a minute for a tenant that waits too long."""

from __future__ import annotations

import asyncio
import contextlib
import json
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from access_givens import MONITOR_KEY, entry
from echo_upstream import EchoUpstream
from prometheus_client.parser import text_string_to_metric_families
from waiting import until

from sovctl.gateway.quota.fair_queue import FairQueue
from sovctl.gateway.runtime.queue_figures import QueueFigures
from sovctl.gateway.telemetry.metrics import Metrics

KEYS = {name: f"test-key-of-{name}" for name in ("quiet", "loud")}


@dataclass
class Limits:
    """Settings of the queue."""

    max_concurrent_requests: int | None = 1
    tenant_weights: dict[str, int] = field(default_factory=dict)


def test_the_gauges_follow_the_queue_and_a_tenant_is_logged_once_a_minute() -> None:
    async def run() -> None:
        queue, limits, metrics = FairQueue(), Limits(), Metrics()
        figures, loop = QueueFigures(queue, metrics), asyncio.get_running_loop()

        def gauges() -> tuple[float, float, int]:
            longest = metrics.queue_longest_wait_s.values[()]
            return metrics.queue_waiting.values[()], metrics.queue_waiting_tenants.values[()], round(longest)

        await queue.take("a", limits, timeout_s=1)
        tasks = [asyncio.ensure_future(queue.take(each, limits, timeout_s=900)) for each in ("b", "b", "c")]
        await asyncio.sleep(0)
        start_s = loop.time()
        assert figures.measure(start_s + 29, queue_timeout_s=60) == []
        assert gauges() == (3, 2, 29)
        assert figures.measure(start_s + 31, queue_timeout_s=60) == ["b", "c"]
        assert figures.measure(start_s + 90, queue_timeout_s=60) == []
        assert figures.measure(start_s + 92, queue_timeout_s=60) == ["b", "c"]
        for task in tasks:
            task.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await task
        assert figures.measure(start_s + 200, queue_timeout_s=60) == []
        assert gauges() == (0, 0, 0)

    asyncio.run(run())


def test_a_running_gateway_exports_waits_and_logs_the_tenant(
    start: Callable[..., Any], pool: EchoUpstream, tmp_path: Path
) -> None:
    clients = [{**entry(name, key), "tenant": f"tenant-{name}"} for name, key in KEYS.items()]
    clients.append(entry("monitoring", MONITOR_KEY, is_monitor=True))
    (tmp_path / "clients.json").write_text(json.dumps(clients))
    gateway = start(
        clients_file=str(tmp_path / "clients.json"), limits={"max_concurrent_requests": 1, "queue_timeout_s": 4}
    )
    body = json.dumps({"model": "inside", "messages": [{"role": "user", "content": "Hello"}]}).encode()

    def send(name: str) -> int:
        headers = {"authorization": f"Bearer {KEYS[name]}", "content-type": "application/json"}
        return int(gateway.request("POST", "/v1/chat/completions", body, headers)[0])

    def scraped() -> dict[tuple[str, str], float]:
        headers = {"authorization": f"Bearer {MONITOR_KEY}"}
        text = gateway.request("GET", "/metrics", b"", headers)[2].decode()
        assert "tenant-" not in text
        families = text_string_to_metric_families(text)
        return {
            (each.name, each.labels.get("outcome", "")): each.value for family in families for each in family.samples
        }

    hold = pool.script.hold_answer = threading.Event()
    running = threading.Thread(target=send, args=("loud",))
    running.start()
    try:
        until(lambda: pool.requests, "the first request")
        statuses = list[int]()
        waiting = threading.Thread(target=lambda: statuses.append(send("quiet")))
        waiting.start()
        until(lambda: scraped()["sovctl_gateway_queue_longest_wait_seconds", ""] > 2, "a long wait")
        assert scraped()["sovctl_gateway_queue_waiting_requests", ""] == 1
        assert scraped()["sovctl_gateway_queue_waiting_tenants", ""] == 1
        waiting.join(60)
        assert statuses == [429]
    finally:
        pool.script.hold_answer = None
        hold.set()
        running.join(60)
    assert scraped()["sovctl_gateway_queue_wait_seconds_count", "timeout"] == 1
    assert '"event": "tenant waits", "tenant": "tenant-quiet", "requests": 1' in gateway.log()
