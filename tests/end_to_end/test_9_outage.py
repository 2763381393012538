"""What takes a pool or a node down for a while: a rank that hangs, a node that boots. Afterwards all is as it was."""

from __future__ import annotations

import pytest
from lab_site import POOL_LIMIT_S, POOL_UNIT, SENT, LabSite, wait_for

pytestmark = pytest.mark.lab

PROBE_UNIT = "sovctl-probe-chat"
QUESTION = "/etc/sovctl/pools/chat.probe.json"
KEPT = "/var/tmp/chat.probe.json"
PATIENCE_S = 2
"""Timeout of the probe in this test, seconds; 60 on a site. A hanging rank exceeds it three times."""
BOOT_LIMIT_S = 90.0
# From the node itself, with its own certificate: does the server say that it is healthy?
HEALTH = (
    "sudo python3 -c 'import http.client, json, ssl, urllib.parse\n"
    f'c = json.load(open("{QUESTION}"))\n'
    't = ssl.create_default_context(cafile=c["ca_file"]); t.load_cert_chain(c["certificate_file"], c["key_file"])\n'
    'u = urllib.parse.urlsplit(c["url"])\n'
    "h = http.client.HTTPSConnection(u.hostname, u.port, timeout=20, context=t)\n"
    'h.request("GET", "/health"); print(h.getresponse().status)\''
)


def test_a_rank_that_hangs_is_seen_by_the_probe_alone_and_all_ranks_start_again(site: LabSite) -> None:
    site.wait_for_pool()
    before = site.workers()
    site.on("n1", f"sudo systemctl start {PROBE_UNIT}")  # it answers now, so that a failure counts
    site.on("n1", f"sudo systemctl stop {PROBE_UNIT}.timer")
    try:
        site.on("n1", f"sudo cp -p {QUESTION} {KEPT} && sudo sed -i 's/: 60$/: {PATIENCE_S}/' {QUESTION}")
        site.on("n1", f"sudo kill -STOP {before[0]}")
        for count in (1, 2):
            site.on("n1", f"sudo systemctl start {PROBE_UNIT}", accept=(1,))
            assert site.on("n1", f"cat /run/sovctl-probe/{POOL_UNIT}.failures") == str(count)
            assert site.workers() == before, "two failures are not yet a reason"
        assert site.on("n1", HEALTH) == "200", "expected a server that says it is healthy while it hangs"
        site.on("n1", f"sudo systemctl start {PROBE_UNIT}", accept=(1,))
        wait_for("the hanging rank to be gone", lambda: not set(before) & site.processes("n1"), limit_s=POOL_LIMIT_S)
        site.wait_for_pool()
    finally:
        site.on("n1", f"sudo mv {KEPT} {QUESTION} && sudo systemctl start {PROBE_UNIT}.timer")
    assert len(site.workers()) == len(before)
    assert not set(site.workers()) & set(before), "a rank alone never comes back to the others"
    assert site.changes() == {}


def test_nodes_that_were_booted_are_as_site_yaml_says(site: LabSite) -> None:
    """A GPU node and the gateway's: firewall, services, pool and gateway come back by themselves."""
    boots = {node: _boot(site, node) for node in ("n1", "s1")}
    for node in boots:
        site.on(node, "sudo systemctl reboot", accept=(0, 255))  # 255: ssh was cut off by it
    for node, boot in boots.items():
        wait_for(f"{node} to be booted", lambda n=node, b=boot: _is_booted(site, n, b), limit_s=BOOT_LIMIT_S)
    site.wait_for_pool()
    wait_for("the gateway to be ready", site.gateway_is_ready, limit_s=BOOT_LIMIT_S)
    assert site.changes() == {}
    assert site.chat("private", SENT, stream=True) == {"text": SENT, "route": "pool"}
    assert site.chat("assistant", SENT, stream=True) == {"text": SENT, "route": "cloud"}


def _boot(site: LabSite, node: str) -> str:
    """Which start of the node this is."""
    return site.on(node, "cat /proc/sys/kernel/random/boot_id")


def _is_booted(site: LabSite, node: str, earlier: str) -> bool:
    return site.answers(node) and _boot(site, node) != earlier
