"""Monitoring of a site: targets are read, something breaks, the alert fires and clears.

The receiver is a server on s1 with the certificate of that node, which checks the token.
"""

from __future__ import annotations

import json
import secrets
import textwrap
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from lab_site import LabSite, wait_for

from examples import IS_COMPLETE

pytestmark = [
    pytest.mark.lab,
    pytest.mark.skipif(not IS_COMPLETE, reason="applies and removes monitoring; runs with `make test-all`"),
]

LIMIT_S = 90.0
RECEIVED, TOKEN_FILE = "/var/tmp/sovctl-alerts.jsonl", "/var/tmp/sovctl-alerts.token"
EXPIRING = "/etc/sovctl/tls/expiring.pem"
RECEIVER = textwrap.dedent(f"""\
    import http.server, ssl
    token = open("{TOKEN_FILE}").read().strip()
    class Receiver(http.server.BaseHTTPRequestHandler):
        def do_POST(self):
            body = self.rfile.read(int(self.headers["content-length"]))
            allowed = self.headers["authorization"] == "Bearer " + token
            if allowed:
                open("{RECEIVED}", "ab").write(body + b"\\n")
            self.send_response(200 if allowed else 401)
            self.end_headers()
    server = http.server.HTTPServer(("10.77.0.21", 9443), Receiver)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain("/etc/sovctl/tls/node.pem", "/etc/sovctl/tls/node.key")
    server.socket = context.wrap_socket(server.socket, server_side=True)
    server.serve_forever()
""")
READ = "import sys, urllib.request; print(urllib.request.urlopen(sys.argv[1], timeout=10).read().decode())"
OPEN = 'import socket; socket.create_connection(("{host}", {port}), 3)'
WITHOUT_CERTIFICATE = (
    "import ssl, urllib.request; "
    "c = ssl._create_unverified_context(); "
    'urllib.request.urlopen("https://10.77.0.21:9100/metrics", timeout=5, context=c).read()'
)


def add_monitoring(values: dict[str, Any]) -> None:
    """Add the server on s1 with short intervals to a site.yaml."""
    key = {"file": "secrets/monitor-key"}
    values["gateway"]["clients"].append({"name": "monitor", "tenant": "operations", "api_key": key, "is_monitor": True})
    webhook = {"url": "https://10.77.0.21:9443/alerts", "token": {"file": "secrets/alert-token"}}
    values["monitoring"] = {
        "target_down_s": 5,
        "server": {
            "node": "s1",
            "gateway_client": "monitor",
            "scrape_interval_s": 2,
            "group_wait_s": 1,
            "group_interval_s": 2,
            "receivers": [{"name": "incidents", "webhook": webhook}],
        },
    }


@pytest.fixture(scope="module")
def monitored(site: LabSite) -> Iterator[LabSite]:
    """Return the site with monitoring and a receiver; afterwards it has neither."""
    files = {name: site.folder / "secrets" / name for name in ("monitor-key", "alert-token")}
    for path in files.values():
        path.write_text(f"{secrets.token_hex(24)}\n")
        path.chmod(0o600)
    try:
        with site.edited(add_monitoring):
            site.changes()
            site.apply()
            assert site.changes() == {}
            start_receiver(site, files["alert-token"].read_text().strip())
            yield site
            site.on("s1", f"sudo systemctl stop sovctl-test-receiver; sudo rm -f {RECEIVED} {TOKEN_FILE}")
        site.mend()
        for node, command in (("n1", "true"), ("s1", "! ls /etc/systemd/system/sovctl-monitoring-* 2>/dev/null")):
            site.on(node, command)
    finally:
        for path in files.values():
            path.unlink()


def start_receiver(site: LabSite, token: str) -> None:
    """Start the receiver on s1."""
    site.on("s1", f"sudo install -m 600 /dev/null {TOKEN_FILE} && echo {token} | sudo tee {TOKEN_FILE} >/dev/null")
    site.on("s1", f"sudo systemd-run --quiet --unit=sovctl-test-receiver python3 -c '{RECEIVER}'")


def api(site: LabSite, url: str) -> Any:
    """Return the answer of an interface of the server."""
    return json.loads(site.on("s1", f"python3 -c '{READ}' '{url}'"))


def alerts(site: LabSite) -> set[tuple[str, str]]:
    """Return name and node of the alerts of Alertmanager."""
    found = api(site, "http://127.0.0.1:9093/api/v2/alerts?active=true")
    return {(each["labels"]["alertname"], each["labels"].get("node", "")) for each in found}


def received(site: LabSite, status: str) -> set[tuple[str, str]]:
    """Return name and node of the alerts that the receiver got with a status."""
    text = site.on("s1", f"sudo cat {RECEIVED} 2>/dev/null || true")
    found = [each for line in text.splitlines() if line for each in json.loads(line)["alerts"]]
    return {(each["labels"]["alertname"], each["labels"].get("node", "")) for each in found if each["status"] == status}


def targets(site: LabSite) -> dict[tuple[str, str], str]:
    """Return the health of each target by job and node."""
    found = api(site, "http://127.0.0.1:9090/api/v1/targets?state=active")["data"]["activeTargets"]
    return {(each["labels"]["job"], each["labels"]["node"]): each["health"] for each in found}


def test_all_targets_are_read_over_tls(monitored: LabSite) -> None:
    monitored.wait_for_pool()
    expected = {("sovctl-nodes", node) for node in ("n1", "n2", "s1")}
    expected |= {("sovctl-gpus", node) for node in ("n1", "n2")}
    expected |= {("sovctl-pools", "n1"), ("sovctl-gateways", "s1"), ("prometheus", "s1"), ("alertmanager", "s1")}
    wait_for("all targets to be up", lambda: set(targets(monitored).values()) == {"up"}, limit_s=LIMIT_S)
    assert set(targets(monitored)) == expected


def test_only_the_scraper_reaches_an_exporter(monitored: LabSite) -> None:
    monitored.on("n1", f"! python3 -c '{OPEN.format(host='10.77.0.12', port=9100)}' 2>/dev/null")
    monitored.on("s1", f"! python3 -c '{OPEN.format(host='10.77.0.12', port=9100)}' 2>/dev/null")
    monitored.on("s1", f"! python3 -c '{WITHOUT_CERTIFICATE}' 2>/dev/null")
    monitored.on("s1", f"python3 -c '{OPEN.format(host='10.77.0.21', port=9100)}'")


def fires_and_clears(site: LabSite, alert: tuple[str, str], *, mend: Callable[[], object]) -> None:
    """Wait until an alert is at the receiver, mend the cause, and wait until its end is there too."""
    wait_for(f"{alert} in Alertmanager", lambda: alert in alerts(site), limit_s=LIMIT_S)
    wait_for(f"{alert} at the receiver", lambda: alert in received(site, "firing"), limit_s=LIMIT_S)
    mend()
    wait_for(f"{alert} to end in Alertmanager", lambda: alert not in alerts(site), limit_s=LIMIT_S)
    wait_for(f"the end of {alert} at the receiver", lambda: alert in received(site, "resolved"), limit_s=LIMIT_S)


def test_a_node_exporter_that_stops_is_reported_until_it_runs(monitored: LabSite) -> None:
    monitored.on("n2", "sudo systemctl stop sovctl-monitoring-node-exporter")
    fires_and_clears(
        monitored,
        ("SovctlTargetDown", "n2"),
        mend=lambda: monitored.on("n2", "sudo systemctl start sovctl-monitoring-node-exporter"),
    )


def test_a_certificate_that_expires_is_reported_until_it_is_replaced(monitored: LabSite) -> None:
    monitored.on(
        "n2",
        "sudo openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -keyout /dev/null "
        f"-out {EXPIRING} -subj /CN=expiring -days 2 2>/dev/null && sudo systemctl restart sovctl-monitoring-facts",
    )
    fires_and_clears(
        monitored,
        ("SovctlCertificateNearlyExpired", "n2"),
        mend=lambda: monitored.on("n2", f"sudo rm {EXPIRING} && sudo systemctl restart sovctl-monitoring-facts"),
    )


def test_a_pool_that_stops_is_reported_until_it_serves(monitored: LabSite) -> None:
    monitored.on("n1", "sudo systemctl stop sovctl-pool-chat")
    fires_and_clears(
        monitored,
        ("SovctlTargetDown", "n1"),
        mend=lambda: monitored.on("n1", "sudo systemctl start sovctl-pool-chat"),
    )
    assert monitored.changes() == {}
