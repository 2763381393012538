"""The real Prometheus, Alertmanager and node exporters with the files and commands of a plan, on loopback. GPUs and
their exporter are simulated.

A certificate of a node expires: the alert reaches the receiver over TLS with its token, and its end too. The checks
judge the answers of this Prometheus.
"""

from __future__ import annotations

import http.server
import json
import ssl
import subprocess
import sys
import threading
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import ExitStack
from datetime import date
from pathlib import Path
from typing import Any

import pytest
from check_cases.case import answer
from loopback_ports import unused_port
from mirror_site import TEXT
from waiting import until

from sovctl.compliance.verdict import Verdict
from sovctl.engine.checks.definitions.monitoring.rules_loaded import RulesLoaded
from sovctl.engine.checks.definitions.monitoring.targets_up import TargetsUp
from sovctl.engine.checks.model.check import Judgement, unknown
from sovctl.engine.checks.probes.commands import SCRIPTS
from sovctl.engine.checks.runner.build_context import build_context
from sovctl.engine.facts.unreadable import Unreadable
from sovctl.engine.lab.hardware import inventory
from sovctl.engine.lab.layout import node_named
from sovctl.engine.lab.standins.board import FACTS_FILE, HOST_ENGINE_FILE, LOADED_VERSION_FILE
from sovctl.engine.resources.context import ROLES
from sovctl.engine.resources.credential import credentials_on
from sovctl.engine.resources.monitoring.services import services_on
from sovctl.engine.site.site import Site

TOKEN = "invented-token-of-a-receiver-0123456789"
MONITORING = """\
monitoring:
  target_down_s: 1
  server:
    node: s1
    scrape_interval_s: 1
    group_wait_s: 0
    group_interval_s: 1
    receivers:
      - name: incidents
        webhook: {{url: "https://127.0.0.21:{port}/alerts", token: {{file: access/token}}}}
"""


N1 = "      - {name: n1, address: 127.0.0.11}\n"
GPU_GROUP = f"node_groups:\n  - name: gpu\n    platform: dgx-h100\n    nodes:\n{N1}"
EXPORTER = """\
import sys
from pathlib import Path
from sovctl.engine.lab.standins.dcgm_exporter import main
sys.exit(main(sys.argv[2:], "4.8.1", Path(sys.argv[1])))
"""


class Running:
    """The services of a site of three nodes on addresses of loopback, each with a folder as its root.

    Ports are others than on nodes, because other programs of this machine may use those.
    """

    def __init__(self, folder: Path, stack: ExitStack) -> None:
        self.folder = folder
        self.ports = {port: unused_port() for port in (9090, 9093, 9100, 9400)}
        self.received: list[dict[str, Any]] = []
        self.site = self._site(receiver_port := unused_port())
        for name in self.site.context().nodes:
            self._lay(name)
        self._receive(receiver_port, stack)
        for name, node in self.site.context().nodes.items():
            for service in services_on(self.site.context(), node):
                if service.package:
                    argv = [self._here(name, word) for word in service.argv]
                    argv[:1] = self._simulated(name) if service.name == "dcgm-exporter" else argv[:1]
                    log = stack.enter_context((folder / f"{name}-{service.name}.log").open("wb"))
                    process = stack.enter_context(subprocess.Popen(argv, stdout=log, stderr=log))
                    stack.callback(process.terminate)

    def _site(self, receiver_port: int) -> Site:
        text = TEXT.format(namespace="sovlab").replace("10.77.0.", "127.0.0.")
        text = text.replace(N1, "").replace("node_groups:\n", GPU_GROUP)
        lines = [line for line in text.splitlines() if not line.startswith("mirror:")]
        (self.folder / "access").mkdir()
        for name in ("id_ed25519", "known_hosts", "site-apt-key.asc", "token"):
            (self.folder / "access" / name).write_text(f"{TOKEN}\n")
            (self.folder / "access" / name).chmod(0o600)
        text = "\n".join(lines) + "\n" + MONITORING.format(port=receiver_port)
        (self.folder / "site.yaml").write_text(text)
        site = Site.open(self.folder / "site.yaml", touches_nodes=False)
        site.credentials.ensure(site.context())
        return site

    def _here(self, node: str, text: str) -> str:
        """A text of a node with paths below its folder and with the ports of this test."""
        for path in ("/etc/sovctl", "/var/lib/sovctl"):
            text = text.replace(path, f"{self.folder}/{node}{path}")
        for port, other in self.ports.items():
            text = text.replace(f":{port}", f":{other}")
        return text

    def _lay(self, name: str) -> None:
        context = self.site.context()
        node = context.nodes[name]
        (self.folder / name / "var/lib/sovctl/metrics").mkdir(parents=True)
        for each in credentials_on(context, node):
            path = Path(self._here(name, each.path))
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(self.site.credentials.file(node, each.file).read_bytes())
        for service in services_on(context, node):
            for file in service.files:
                path = Path(self._here(name, file.path))
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(self._here(name, file.text))

    def _simulated(self, node: str) -> list[str]:
        """Return the first words of the command of a simulated exporter, with GPUs below the node's folder."""
        root = self.folder / node
        (root / "proc/77").mkdir(parents=True)
        for name, text in ((HOST_ENGINE_FILE, "77 4.5.2"), (LOADED_VERSION_FILE, "580.126.20")):
            (root / name).parent.mkdir(parents=True, exist_ok=True)
            (root / name).write_text(text)
        self.set_gpus(node)
        return [sys.executable, "-c", EXPORTER, str(root)]

    def set_gpus(self, node: str, *, remap_failure: str = "No") -> None:
        """Write the facts of a node, with the result of the last replacement of a memory row of GPU 3."""
        facts = inventory.facts("sovlab", node_named(node))
        facts["gpus"][3]["remapped_rows"]["failure"] = remap_failure
        path = self.folder / node / FACTS_FILE
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(facts))

    def _receive(self, port: int, stack: ExitStack) -> None:
        received = self.received

        class Receiver(http.server.BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["content-length"]))
                if self.headers["authorization"] == f"Bearer {TOKEN}":
                    received.extend(json.loads(body)["alerts"])
                self.send_response(200)
                self.end_headers()

            def log_message(self, *_arguments: object) -> None:
                """Print nothing."""

        server = http.server.ThreadingHTTPServer(("127.0.0.21", port), Receiver)
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        tls = self.folder / "s1/etc/sovctl/tls"
        context.load_cert_chain(tls / "node.pem", tls / "node.key")
        server.socket = context.wrap_socket(server.socket, server_side=True)
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        stack.callback(thread.join)
        stack.callback(server.server_close)
        stack.callback(server.shutdown)

    def measure(self, node: str) -> None:
        """Run the program of facts once."""
        program = ROLES / "monitoring/files/metrics"
        config = self._here(node, "/etc/sovctl/monitoring/facts.json")
        subprocess.run([sys.executable, program, "--config", config, "--once"], check=True, capture_output=True)

    def rows(self, what: str) -> str:
        """Return the output of the program of the checks, with the ports of nodes."""
        command = [sys.executable, SCRIPTS / "prometheus_client.py", what, str(self.ports[9090])]
        text = subprocess.run(command, check=False, capture_output=True, text=True).stdout
        for port, other in self.ports.items():
            text = text.replace(f":{other}", f":{port}")
        return text

    def judged(self, check: TargetsUp | RulesLoaded, **parts: str) -> Judgement:
        """Return the verdict of a check on s1."""
        context = build_context(self.site, today=date(2026, 11, 21))
        [expected] = check.expect(context, context.context.nodes["s1"])
        try:
            return check.judge(answer(parts), expected)  # type: ignore[arg-type]
        except Unreadable as error:  # as the runner of checks
            return unknown("an answer", str(error))

    def has(self, alert: str, status: str) -> bool:
        """Return whether the receiver got an alert of n1 with a status."""
        found = [each for each in self.received if each["status"] == status]
        return any(each["labels"]["alertname"] == alert and each["labels"].get("node") == "n1" for each in found)


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    with ExitStack() as stack:
        yield Running(tmp_path_factory.mktemp("running"), stack)


def test_all_targets_are_read_over_tls_and_the_check_passes(running: Running) -> None:
    def passes() -> bool:
        return running.judged(TargetsUp(), targets=running.rows("targets")).verdict is Verdict.PASS

    until(passes, "all targets up")


def test_an_exporter_refuses_a_client_without_a_certificate(running: Running) -> None:
    until(lambda: '"up"' in running.rows("targets"), "a target up")
    context = ssl.create_default_context(cafile=running.folder / "n1/etc/sovctl/tls/ca.pem")
    with pytest.raises((ssl.SSLError, urllib.error.URLError, ConnectionError)):
        urllib.request.urlopen(f"https://127.0.0.11:{running.ports[9100]}/metrics", timeout=10, context=context)
    context.load_cert_chain(*(running.folder / f"s1/etc/sovctl/tls/node.{end}" for end in ("pem", "key")))
    url = f"https://127.0.0.11:{running.ports[9100]}/metrics"
    with urllib.request.urlopen(url, timeout=10, context=context) as found:
        assert b"node_boot_time_seconds" in found.read()


def test_loaded_rules_are_those_of_the_site_and_a_changed_one_is_found(running: Running) -> None:
    path = running.folder / "s1/etc/sovctl/monitoring/rules.yaml"
    digest = subprocess.run(["sha256sum", path], check=True, capture_output=True, text=True).stdout

    def judged(rules: str) -> Judgement:
        return running.judged(RulesLoaded(), rules=rules, file=digest, times="@2\n@1\n")

    until(lambda: judged(running.rows("rules")).verdict is Verdict.PASS, "all rules evaluated")
    changed = judged(running.rows("rules").replace('"seconds": 1,', '"seconds": 3600,'))
    assert changed.verdict is Verdict.FAIL
    assert "SovctlTargetDown for 3600 s" in changed.reason


def test_an_alert_reaches_the_receiver_and_so_does_its_end(running: Running) -> None:
    alert, expiring = "SovctlCertificateNearlyExpired", running.folder / "n1/etc/sovctl/tls/expiring.pem"
    command = "openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -subj /CN=a -days 2"
    command += f" -keyout /dev/null -out {expiring}"
    subprocess.run(command.split(), check=True, capture_output=True)
    running.measure("n1")
    until(lambda: running.has(alert, "firing"), "the alert at the receiver")
    assert not running.has(alert, "resolved")
    expiring.unlink()
    running.measure("n1")
    until(lambda: running.has(alert, "resolved"), "the end of the alert at the receiver")


def test_a_gpu_that_cannot_replace_a_row_is_reported_until_it_can(running: Running) -> None:
    running.set_gpus("n1", remap_failure="Yes")
    until(lambda: running.has("SovctlGpuRowRemapFailed", "firing"), "the alert at the receiver")
    running.set_gpus("n1")
    until(lambda: running.has("SovctlGpuRowRemapFailed", "resolved"), "the end of the alert at the receiver")


def test_the_exporter_of_gpus_ends_without_a_host_engine(running: Running, tmp_path: Path) -> None:
    command = ["-f", "absent", "-r", "127.0.0.1:5555", "-a", "127.0.0.1:0", "--web-config-file", "absent"]
    done = subprocess.run(
        [sys.executable, "-c", EXPORTER, tmp_path, *command], capture_output=True, text=True, check=False
    )
    assert (done.returncode, "no host engine at 127.0.0.1:5555" in done.stderr) == (1, True)
