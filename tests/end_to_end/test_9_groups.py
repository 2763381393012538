"""A replica on two nodes: whatever ends on one of them, both ranks start again together, and no client hangs.

Pipeline parallelism only: the placement keeps a stage of tensor parallelism on one node.
"""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from lab_site import POOL_UNIT, LabSite, wait_for

from examples import IS_COMPLETE

pytestmark = [
    pytest.mark.lab,
    pytest.mark.skipif(
        not IS_COMPLETE, reason="starts vLLM on two nodes at least six times; runs with `make test-all`"
    ),
]

RECOVERY_LIMIT_S = 180.0
PROBE_LIMIT_S = 60.0
AGENT = "sovctl-group-chat"
SHOW = "sudo /usr/local/lib/sovctl/group --show /etc/sovctl/pools/chat.group.json"
ASK = "sudo timeout 90 /usr/local/lib/sovctl/probe --config /etc/sovctl/pools/chat.probe.json"
CUT_S = 40
CUT = " && ".join(
    f"sudo nft insert rule inet sovctl {chain} ip {side} 10.77.0.11 drop"
    for chain, side in (("input", "saddr"), ("output", "daddr"))
)
FAILURES = {
    "head": ("n1", f"sudo systemctl kill --signal=SIGKILL {POOL_UNIT}"),
    "worker of rank 1": ("n2", "sudo pkill -KILL -f '^VLLM::Worker'"),
    "unit of rank 1": ("n2", f"sudo systemctl kill --signal=SIGKILL {POOL_UNIT}"),
    "agent of rank 1": ("n2", f"sudo systemctl kill --signal=SIGKILL {AGENT}"),
    "link": ("n2", f"{CUT} && sudo systemd-run --quiet --on-active={CUT_S} systemctl reload-or-restart nftables"),
}
"""Node and command of each failure. The link returns after `CUT_S`."""


def over_two_nodes(values: dict[str, Any]) -> None:
    """Make the pool of a site.yaml a pipeline over n1 and n2."""
    pool = values["pools"][0]
    pool |= {"nodes": ["n1", "n2"], "gpus": [0], "tensor_parallel_size": 1, "pipeline_parallel_size": 2}
    del pool["enforce_eager"]


@pytest.fixture(scope="module")
def grouped(site: LabSite) -> Iterator[LabSite]:
    """Return the site with its pool on two nodes; afterwards the pool is on n1 again."""
    with site.edited(over_two_nodes):
        site.changes()
        site.apply()
        assert not site.changes()
        yield site
    site.mend()


def ranks(site: LabSite) -> list[dict[str, Any]]:
    """Return the report of each rank."""
    found: list[dict[str, Any]] = json.loads(site.on("n1", SHOW, accept=(0, 1)))["ranks"]
    return found


def answers(site: LabSite) -> bool:
    """Return whether the pool completes a prompt, and check that the request did not exceed the probe's limit."""
    began = time.monotonic()
    done = json.loads(site.on("n1", ASK, accept=(0, 1), limit_s=100))
    assert time.monotonic() - began < PROBE_LIMIT_S + 10, "a request hung longer than the probe's limit"
    return bool(done["ok"])


@pytest.mark.parametrize("name", list(FAILURES))
def test_both_ranks_start_again_together(
    grouped: LabSite, name: str, record_property: Callable[[str, object], None]
) -> None:
    wait_for("the pool to answer", lambda: answers(grouped), limit_s=RECOVERY_LIMIT_S)
    before = ranks(grouped)[0]["generation"]
    longest: list[float] = []
    client = threading.Thread(target=_ask_until_answered, args=(grouped, longest))
    node, command = FAILURES[name]
    grouped.on(node, command)
    began = time.monotonic()
    client.start()
    wait_for("another generation", lambda: _generation(grouped) > before, limit_s=RECOVERY_LIMIT_S)
    wait_for("the pool to answer", lambda: answers(grouped), limit_s=RECOVERY_LIMIT_S)
    took = time.monotonic() - began - (CUT_S if name == "link" else 0)
    client.join()
    record_property("recovery_s", round(took))
    record_property("longest_request_s", round(max(longest)))
    assert took < RECOVERY_LIMIT_S
    assert max(longest) < PROBE_LIMIT_S + 10
    assert {(each["state"], each["generation"]) for each in ranks(grouped)} == {("running", _generation(grouped))}


def _generation(site: LabSite) -> int:
    running = [each for each in ranks(site) if each.get("state") == "running"]
    return int(running[0]["generation"]) if len(running) == 2 else 0


def _ask_until_answered(site: LabSite, longest: list[float]) -> None:
    """Send requests one after the other until one is answered, and note the duration of the longest."""
    is_answered = False
    while not is_answered:
        began = time.monotonic()
        is_answered = answers(site)
        longest.append(time.monotonic() - began)
        threading.Event().wait(2)


def test_the_check_fails_for_a_rank_alone_and_passes_for_the_group(grouped: LabSite) -> None:
    wait_for("the pool to answer", lambda: answers(grouped), limit_s=RECOVERY_LIMIT_S)
    assert _verdicts(grouped) == {"PASS"}
    grouped.on("n2", f"sudo systemctl stop {AGENT}")
    try:
        assert _verdicts(grouped) == {"FAIL"}
    finally:
        grouped.on("n2", f"sudo systemctl start {AGENT}")
    wait_for("both ranks to run", lambda: _generation(grouped) > 0, limit_s=RECOVERY_LIMIT_S)
    wait_for("the pool to answer", lambda: answers(grouped), limit_s=RECOVERY_LIMIT_S)


def _verdicts(site: LabSite) -> set[str]:
    done = site.run_json("verify", str(site.file), "--check", "pool.group-running", accept=(0, 1, 2, 3, 4, 5, 6))
    return {each["verdict"] for each in done["results"]}
