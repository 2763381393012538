"""A replica on two nodes: whatever ends on one of them, both ranks start again together, and no client hangs."""

from __future__ import annotations

import json
import os
import shlex
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from lab_site import POOL_UNIT, LabSite

from examples import IS_COMPLETE

pytestmark = [
    pytest.mark.lab,
    pytest.mark.skipif(
        not IS_COMPLETE, reason="starts vLLM on two nodes at least six times; runs with `make test-all`"
    ),
]

RECOVERY_LIMIT_S = 180.0
RESTART_LIMIT_S = 45.0
"""Until all ranks were started again: detection, at most 15 s of silence, stop and handshake. The rest is vLLM's."""
PROBE_LIMIT_S = 60.0
AGENT = "sovctl-group-chat"
SHOW = "sudo /usr/local/lib/sovctl/group --show /etc/sovctl/pools/chat.group.json"
ASK = "sudo timeout 90 /usr/local/lib/sovctl/probe --config /etc/sovctl/pools/chat.probe.json"
ADDRESSES = {"n1": "10.77.0.11", "n2": "10.77.0.12"}
CUT_S = 40
CUT = " && ".join(
    f"sudo nft insert rule inet sovctl {chain} ip {side} {ADDRESSES['n1']} drop"
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

ASK_UNTIL_RECOVERED = """
for attempt in $(seq 200); do
  began=$(date +%s%N)
  answer=$({ask})
  echo "$(( ($(date +%s%N) - began) / 1000000 )) $answer"
  case "$answer" in *'"ok": true'*)
    case "$({show})" in *'"generation": {before},'*|*error*|*waiting*|*down*) ;; *) exit 0;; esac
  esac
  sleep 5
done
exit 1
"""
"""Sends requests one after the other until all ranks run another generation and it answers. Prints the milliseconds of
each. It runs on the node, because a login for each request would use processor time that the server needs to start."""


def over_two_nodes(values: dict[str, Any], **fields: Any) -> dict[str, Any]:
    """Place the pool of a site.yaml on n1 and n2, and return it."""
    pool: dict[str, Any] = values["pools"][0]
    pool |= {"nodes": ["n1", "n2"], "gpus": [0], "tensor_parallel_size": 1, "pipeline_parallel_size": 1, **fields}
    return pool


def pipeline(values: dict[str, Any]) -> None:
    """Make the pool a pipeline over n1 and n2."""
    del over_two_nodes(values, pipeline_parallel_size=2)["enforce_eager"]


STAGES: dict[str, dict[str, Any]] = {
    "tensor parallelism": {"tensor_parallel_size": 2, "nodes_per_stage": 2},
    "data parallelism, one rank per node": {
        "data_parallel_size": 2,
        "nodes_per_stage": 2,
        "api_server": {"api_server_count": 1},
    },
    "data parallelism, every node serves": {
        "data_parallel_size": 4,
        "nodes_per_stage": 2,
        "gpus": [0, 1],
        "api_server": {"api_server_count": 1},
    },
}
"""Fields of a pool whose stage is on two nodes. One API server process saves memory."""


@pytest.fixture(scope="module")
def mended(site: LabSite) -> Iterator[LabSite]:
    """Return the site; afterwards its pool is on n1 again."""
    yield site
    site.mend()


@pytest.fixture(scope="module")
def grouped(mended: LabSite) -> Iterator[LabSite]:
    """Return the site with its pool as a pipeline over two nodes."""
    with mended.edited(pipeline):
        mended.mend()
        yield mended


def ranks(site: LabSite) -> list[dict[str, Any]]:
    """Return the report of each rank."""
    found: list[dict[str, Any]] = json.loads(site.on("n1", SHOW, accept=(0, 1)))["ranks"]
    return found


def agent_log(site: LabSite, since: int) -> list[tuple[float, str, str]]:
    """Return the lines of both agents as (seconds after a Unix time, node, text), in the order of time."""
    rows = []
    for node in ADDRESSES:
        text = site.on(node, f"sudo journalctl -q -u {AGENT} -o short-unix --no-pager --since=@{since}")
        for line in text.splitlines():
            time_s, _, message = line.partition(" ")
            if "generation" in message:
                rows.append((round(float(time_s) - since, 1), node, message.partition(": ")[2]))
    return sorted(rows)


def recover(
    site: LabSite, node: str, command: str, record: Callable[[str, object], None], *, lasts_s: float = 0
) -> None:
    """Break something for `lasts_s`, wait until another generation answers, and record where the time went."""
    before = ranks(site)[0]["generation"]
    since = int(site.on(node, f"date +%s; {command}").splitlines()[0])
    began = time.monotonic()
    script = ASK_UNTIL_RECOVERED.format(ask=ASK, show=SHOW, before=before)
    try:
        said = site.on("n1", script, limit_s=4 * RECOVERY_LIMIT_S)
        took = time.monotonic() - began
    finally:
        record("load", os.getloadavg()[0])
        record("agents", log := agent_log(site, since))
    longest_s = max(int(line.split()[0]) for line in said.splitlines()) / 1000
    record("recovery_s", round(took))
    record("longest_request_s", round(longest_s, 1))
    assert longest_s < PROBE_LIMIT_S + 10, "a request hung longer than the probe's limit"
    reports = ranks(site)
    assert {each["state"] for each in reports} == {"running"}
    assert len({each["generation"] for each in reports}) == 1
    # A start that exceeds its limit is repeated; the first one shows how long the agents took.
    started_s = [after_s for after_s, _, text in log if text.endswith("running: started")][len(ADDRESSES) - 1]
    record("restart_s", started_s)
    assert started_s - lasts_s < RESTART_LIMIT_S
    assert took - lasts_s < RECOVERY_LIMIT_S


ENGINES = """
import json, ssl, sys, urllib.request
tls = ssl.create_default_context(cafile="/etc/sovctl/tls/ca.pem")
tls.load_cert_chain("/etc/sovctl/tls/node.pem", "/etc/sovctl/tls/node.key")
text = urllib.request.urlopen(sys.argv[1] + "/metrics", context=tls, timeout=20).read().decode()
rows = [line for line in text.splitlines() if line.startswith("vllm:request_success_total{")]
found = {}
for row in rows:
    engine = row.partition('engine="')[2].partition('"')[0]
    found[engine] = found.get(engine, 0) + float(row.rpartition(" ")[2])
print(json.dumps(found))
"""


def answered_by_engine(site: LabSite, node: str) -> dict[str, float]:
    """Return the number of answers of each engine, as the API server on a node counts them."""
    url = f"https://{ADDRESSES[node]}:8000"
    return dict(json.loads(site.on(node, f"sudo python3 -c {shlex.quote(ENGINES)} {url}")))


@pytest.mark.parametrize("name", list(STAGES))
def test_a_stage_on_two_nodes_answers_and_restarts_together(
    mended: LabSite, name: str, record_property: Callable[[str, object], None]
) -> None:
    site = mended
    with site.edited(lambda values: over_two_nodes(values, **STAGES[name])):
        site.mend()
        site.wait_for_pool()
        for number in range(4):
            assert site.chat("assistant", f"word {number}", stream=False)["text"] == f"word {number}"
        if "data_parallel_size" in STAGES[name]:
            nodes = ("n1", "n2") if STAGES[name]["data_parallel_size"] > 2 else ("n1",)
            counts = {node: answered_by_engine(site, node) for node in nodes}
            record_property("answers_by_engine", counts)
            assert all(sum(each.values()) > 0 for each in counts.values())
        record_property("ranks", site.run_json("node", "status", "--site", str(site.file))["ranks"])
        recover(site, "n2", "sudo pkill -KILL -f '^VLLM::'", record_property)


@pytest.mark.parametrize("name", list(FAILURES))
def test_both_ranks_start_again_together(
    grouped: LabSite, name: str, record_property: Callable[[str, object], None]
) -> None:
    grouped.wait_for_pool()
    node, command = FAILURES[name]
    recover(grouped, node, command, record_property, lasts_s=CUT_S if name == "link" else 0)


def test_the_check_fails_for_a_rank_alone_and_passes_for_the_group(grouped: LabSite) -> None:
    grouped.wait_for_pool()
    assert _verdicts(grouped) == {"PASS"}
    grouped.on("n2", f"sudo systemctl stop {AGENT}")
    try:
        assert _verdicts(grouped) == {"FAIL"}
    finally:
        grouped.on("n2", f"sudo systemctl start {AGENT}")
    grouped.wait_for_pool()


def _verdicts(site: LabSite) -> set[str]:
    done = site.run_json("verify", str(site.file), "--check", "pool.group-running", accept=(0, 1, 2, 3, 4, 5, 6))
    return {each["verdict"] for each in done["results"]}
