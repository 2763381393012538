"""Prefill on n2, decode on n1, KV caches over NIXL: the answer is always that of the own prompt."""

from __future__ import annotations

import copy
import json
import shlex
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from lab_site import POOL_UNIT, LabSite

from examples import IS_COMPLETE
from sovctl.engine.spec.service_accounts import ENGINE_USER, GATEWAY_USER

pytestmark = [
    pytest.mark.lab,
    pytest.mark.skipif(not IS_COMPLETE, reason="starts vLLM on two nodes; runs with `make test-all`"),
]

PREFILL_UNIT = "sovctl-pool-chat-prefill"
LEASE_S = 15
START_S = 480.0
OWN = "the transfer of the first of march went to the wrong branch and must be sent again today please"
OTHERS = [
    f"number {number} of the others asks about the weather of monday and tuesday next week" for number in range(12)
]
# Runs on s1 with the certificate of its gateway, as only the gateway may. Prints one JSON value.
CLIENT = """
import json, ssl, sys, time, urllib.request
tls = ssl.create_default_context(cafile="/etc/sovctl/tls/ca.pem")
tls.load_cert_chain("/etc/sovctl/tls/node.pem", "/etc/sovctl/tls/node.key")
PREFILL, DECODE = "https://10.77.0.12:8000", "https://10.77.0.11:8000"
def get(url):
    return urllib.request.urlopen(url, context=tls, timeout=60).read().decode()
def post(base, text, **more):
    message = {"role": "user", "content": text}
    body = {"model": "echo", "max_tokens": 200, "temperature": 0, "messages": [message], **more}
    headers = {"content-type": "application/json"}
    sent = urllib.request.Request(base + "/v1/chat/completions", json.dumps(body).encode(), headers)
    return json.load(urllib.request.urlopen(sent, context=tls, timeout=90))
def text_of(answer):
    return answer["choices"][0]["message"]["content"]
def counters(base):
    found = {}
    for line in get(base + "/metrics").splitlines():
        if line.startswith(("vllm:nixl_", "vllm:prompt_tokens_by_source_total")) and "_bucket" not in line:
            name, _, value = line.rpartition(" ")
            source = name.partition('source="')[2].partition('"')[0]
            key = name.partition("{")[0] + ("/" + source if source else "")
            found[key] = found.get(key, 0) + float(value)
    return found
"""
BYTES = "vllm:nixl_bytes_transferred_sum"
MOVED = "vllm:prompt_tokens_by_source_total/external_kv_transfer"


def paired(values: dict[str, Any]) -> None:
    """Make the pool of a site.yaml a decoding pool on n1, with a prefilling pool on n2."""
    chat = values["pools"][0]
    chat |= {"nodes": ["n1"], "gpus": [0], "tensor_parallel_size": 1}
    prefill = {"pool": "chat-prefill", "min_uncached_tokens": 50, "kv_lease_s": LEASE_S, "transport": "tcp"}
    other = {**copy.deepcopy(chat), "name": "chat-prefill", "nodes": ["n2"]}
    values["pools"] = [{**chat, "prefill": prefill}, other]


@pytest.fixture(scope="module")
def pair(site: LabSite) -> Iterator[LabSite]:
    """Return the site with a pair of pools; afterwards it has its one pool again."""
    with site.edited(paired):
        site.changes()
        site.apply()
        assert not site.changes()
        site.wait_for_pool()
        yield site
    site.mend()


def on_s1(site: LabSite, code: str) -> Any:
    """Run code with CLIENT on s1; return what it printed."""
    return json.loads(
        site.on("s1", f"sudo -u {GATEWAY_USER} python3 -c {shlex.quote(CLIENT + code)}", limit_s=240).splitlines()[-1]
    )


def of_one_pool(site: LabSite, text: str) -> str:
    """Return the decoding server's own answer; the model does not repeat every text exactly."""
    answer: str = on_s1(site, f"print(json.dumps(text_of(post(DECODE, {text!r}))))")
    return answer


def counters(site: LabSite) -> dict[str, dict[str, float]]:
    """Return the counters of both servers."""
    found: dict[str, dict[str, float]] = on_s1(
        site, 'print(json.dumps({"prefill": counters(PREFILL), "decode": counters(DECODE)}))'
    )
    return found


def transferred(site: LabSite, ask: Callable[[], None]) -> float:
    """Return the tokens that the decoding server got by transfer during `ask`."""
    before = counters(site)["decode"].get(MOVED, 0)
    ask()
    return counters(site)["decode"].get(MOVED, 0) - before


@pytest.mark.parametrize("is_stream", [False, True])
def test_the_cache_moves_and_the_answer_is_that_of_one_pool(
    pair: LabSite, is_stream: bool, record_property: Callable[[str, object], None]
) -> None:
    plain = of_one_pool(pair, OWN)
    before = counters(pair)
    answers = []
    moved = transferred(pair, lambda: answers.append(pair.chat("private", OWN, stream=is_stream)["text"]))
    after = counters(pair)
    assert answers == [plain]
    assert moved > len(OWN) / 8
    assert after["decode"][BYTES] > before["decode"].get(BYTES, 0)
    record_property("moved", {"tokens": moved, "bytes": after["decode"][BYTES] - before["decode"].get(BYTES, 0)})
    assert after["prefill"].get("vllm:nixl_num_notifications_after_expiry_total", 0) == 0


def test_short_prompts_go_straight_to_the_decoder(pair: LabSite) -> None:
    assert transferred(pair, lambda: None) == 0
    answers = []
    assert transferred(pair, lambda: answers.append(pair.chat("private", "hello there", stream=False)["text"])) == 0
    assert answers == ["hello there"]


def test_clients_cannot_send_parameters(pair: LabSite) -> None:
    params = {"do_remote_prefill": True, "remote_host": "10.77.0.12", "remote_port": 5600, "remote_block_ids": [[1]]}
    for more in (
        {"kv_transfer_params": params},
        {"vllm_xargs": {"kv_transfer_params": "x"}},
        {"extra": [params, {"kv_transfer_params": params}]},
    ):
        status, _, answer = pair.post("private", OWN, **more)
        assert (status, answer["error"]["code"]) == (400, "field_not_allowed"), more


def test_a_held_decode_gives_the_own_text_and_that_of_nobody_else(
    pair: LabSite, record_property: Callable[[str, object], None]
) -> None:
    """Prefill A, hold the decoding engine past the lease, 12 others on the prefiller, release.

    The engine is held and not the API server: that would accept no connection, and the gateway would answer 503.
    """
    text = f"held {OWN}"
    before = counters(pair)["prefill"]
    pid = pair.on("n1", f"pgrep -P {pair.unit('n1', POOL_UNIT, 'MainPID')} -f VLLM::EngineCore").strip()
    pair.on("n1", f"sudo kill -STOP {pid}")
    answers: list[str] = []
    asking = threading.Thread(target=lambda: answers.append(pair.chat("private", text, stream=False)["text"]))
    asking.start()
    try:
        time.sleep(LEASE_S + 3)
        on_s1(pair, f"print(json.dumps([text_of(post(PREFILL, each)) for each in {OTHERS!r}]))")
    finally:
        pair.on("n1", f"sudo kill -CONT {pid}")
    asking.join(180)
    assert answers == [of_one_pool(pair, text)]
    after = counters(pair)["prefill"]
    record_property(
        "prefiller", {name: value - before.get(name, 0) for name, value in after.items() if "expir" in name}
    )


def test_the_engine_leaks_without_the_gateway(pair: LabSite, record_property: Callable[[str, object], None]) -> None:
    """Late parameters, sent by hand: shows what the gateway's rules prevent, and that the prefiller counts it."""
    code = f"""
params = {{"do_remote_decode": True, "do_remote_prefill": False}}
first = post(PREFILL, {"late " + OWN!r}, max_tokens=1, kv_transfer_params=params)
time.sleep({LEASE_S + 2})
for each in {OTHERS!r}:
    post(PREFILL, each)
late = post(DECODE, {"late " + OWN!r}, kv_transfer_params=first["kv_transfer_params"], cache_salt="of this test alone")
post(PREFILL, "one more step")
print(json.dumps([text_of(late), counters(PREFILL)]))
"""
    before = counters(pair)["prefill"]
    text, after = on_s1(pair, code)
    record_property("late_text", text)
    name = "vllm:nixl_num_notifications_after_expiry_total"
    assert after[name] > before.get(name, 0)
    deadline = time.monotonic() + 60
    while not (found := pair.on("s1", "sudo grep -c gateway.stale-read -r /var/lib/sovctl/gateway/ledger || true")):
        assert time.monotonic() < deadline
    record_property("stale-read records", found)


def test_a_dead_prefiller_is_answered_by_the_decoder(
    pair: LabSite, record_property: Callable[[str, object], None]
) -> None:
    pair.on("n2", f"sudo systemctl kill --signal=SIGKILL {PREFILL_UNIT}")
    text = f"dead {OWN}"
    began = time.monotonic()
    answer = pair.chat("private", text, stream=False)["text"]
    record_property("fallback_s", round(time.monotonic() - began, 2))
    assert answer == of_one_pool(pair, text)
    for number in range(3):
        text = f"{number} {OWN}"
        assert pair.chat("private", text, stream=True)["text"] == of_one_pool(pair, text)
    probe = "/usr/local/lib/sovctl/probe --config /etc/sovctl/pools/chat-prefill.probe.json"
    said = pair.on("n2", f"sudo {probe} --unit {PREFILL_UNIT} --wait {START_S:.0f}", limit_s=START_S + 60)
    assert json.loads(said)["ok"], said
    deadline = time.monotonic() + 60  # the decoder connects to the new engine
    while not transferred(pair, lambda: _ask_new(pair)):
        assert time.monotonic() < deadline, "no transfer after the prefiller started again"
        time.sleep(5)


def _ask_new(site: LabSite) -> None:
    text = f"{time.monotonic():.0f} {OWN}"
    assert site.chat("private", text, stream=False)["text"] == of_one_pool(site, text)


def test_only_the_peers_of_the_pair_reach_the_side_channel(pair: LabSite) -> None:
    def reach(node: str, address: str) -> str:
        code = f"import socket; socket.create_connection(({address!r}, 5600), 3)"
        user = GATEWAY_USER if node == "s1" else ENGINE_USER
        said: str = pair.on(node, f"sudo -u {user} python3 -c {shlex.quote(code)} 2>&1 && echo open || true")
        return "open" if said.split()[-1:] == ["open"] else "closed"

    assert reach("s1", "10.77.0.12") == "closed"
    assert reach("s1", "10.77.0.11") == "closed"
    assert reach("n1", "10.77.0.12") == "open"
