"""Rolling change of driver, engine and gateways in the `ha` lab, while a client keeps asking through both gateways.

    make bench-rolling                          builds or reuses the lab `rolling`, writes build/bench/rolling.json
    python -m bench.rolling --change gateway    one of driver, engine, gateway; default: all three in one plan
    python -m bench.rolling --rollback          then also `sovctl apply --rollback`, to the lock of the driver before it

The client is a load balancer with health checks: it asks ready gateways in turn, and another one if a connection is
refused. A request that a gateway accepted must not fail. Meanwhile the health of both pool servers is sampled once a
second from a gateway node. GPUs are simulated; Linux, systemd, vLLM on the CPU, gateways and Ansible are real. Requires
root, and Debian or Ubuntu; without them the bench is not run.
"""

from __future__ import annotations

import argparse
import http.client
import json
import os
import re
import ssl
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

from sovctl.engine.lab.layout import Lab, node_named
from sovctl.engine.lab.linux import network
from sovctl.engine.lab.node.shell import ssh_command
from sovctl.engine.spec.service_accounts import GATEWAY_USER
from sovctl.support.atomic_files import write_atomic

NAME = "rolling"
RESULT = Path("build/bench/rolling.json")
GATEWAYS = ("10.77.0.21", "10.77.0.22")
POOLS = ("10.77.0.11", "10.77.0.12")
PORT = 8443
HEALTH_EVERY_S = 1.0
LANES = 2
FLOOR = 1
"""`rollout.min_serving` of the preset `ha`, of two replicas and of two gateways."""
CHANGES = {
    "driver": (r"(?m)^  lock: \S+", ("  lock: nvidia-580.173.02", "  lock: nvidia-580.126.20")),
    "engine": (r"(?m)^    max_num_seqs: \d+", ("    max_num_seqs: 9", "    max_num_seqs: 8")),
    "gateway": (r"(?m)^gateway:\n  workers: \d+", ("gateway:\n  workers: 2", "gateway:\n  workers: 1")),
}
"""Pattern in site.yaml, and the values between which a run alternates."""

# Samples the health of both pool servers as the gateway of a node, whose certificate they accept and whose user its
# firewall permits: one JSON line a second.
_SAMPLER = """
import http.client, json, ssl, sys, time
context = ssl.create_default_context(cafile="/etc/sovctl/tls/ca.pem")
context.load_cert_chain("/etc/sovctl/tls/node.pem", "/etc/sovctl/tls/node.key")
while True:
    healthy = []
    for host in sys.argv[1:]:
        connection = http.client.HTTPSConnection(host, 8000, context=context, timeout=10)
        try:
            connection.request("GET", "/health")
            status = connection.getresponse().status
            healthy.append("serves" if status == 200 else f"status {status}")
        except OSError as error:
            healthy.append(type(error).__name__)
        finally:
            connection.close()
    print(json.dumps([time.time(), healthy]), flush=True)
    time.sleep(1)
"""


class Client:
    """The client: `LANES` threads that ask, and one that checks the health of the gateways.

    Args:
        ca_file: of the gateways' certificates.
        key: API key.
    """

    def __init__(self, ca_file: str, key: str) -> None:
        self._tls = ssl.create_default_context(cafile=ca_file)
        self._key = key
        self._stop = threading.Event()
        self.ready = dict.fromkeys(GATEWAYS, False)
        self.least_ready = len(GATEWAYS)
        self.results: Counter[str] = Counter()
        self.failures: list[str] = []
        self.slowest_s = 0.0
        self._lock = threading.Lock()

    def run(self) -> None:
        """Ask until standard input ends; then print the result as one JSON line."""
        self._check_health()
        threads = [threading.Thread(target=self._ask_on, args=(lane,)) for lane in range(LANES)]
        threads.append(threading.Thread(target=self._watch))
        for thread in threads:
            thread.start()
        sys.stdin.read()
        self._stop.set()
        for thread in threads:
            thread.join()
        print(
            json.dumps(
                {
                    "results": self.results,
                    "failures": self.failures[:200],
                    "slowest_s": round(self.slowest_s, 2),
                    "least_ready_gateways": self.least_ready,
                }
            )
        )

    def _watch(self) -> None:
        while not self._stop.wait(HEALTH_EVERY_S):
            self._check_health()
            self.least_ready = min(self.least_ready, sum(self.ready.values()))

    def _check_health(self) -> None:
        for host in GATEWAYS:
            try:
                self.ready[host] = self._request(host, "GET", "/readyz", None, timeout_s=5)[0] == 200
            except OSError:
                self.ready[host] = False

    def _ask_on(self, lane: int) -> None:
        number = lane
        while not self._stop.is_set():
            number += 1
            started = time.monotonic()
            result = self._ask(number)
            with self._lock:
                self.results[result.partition(":")[0]] += 1
                self.slowest_s = max(self.slowest_s, time.monotonic() - started)
                if result not in ("answered", "answered after a refused connection"):
                    self.failures.append(f"{time.time():.1f} {result}")
            self._stop.wait(0.1)

    def _ask(self, number: int) -> str:
        """Ask one gateway; another one only if the connection is refused."""
        ready = [host for host in GATEWAYS if self.ready[host]] or list(GATEWAYS)
        first = ready[number % len(ready)]
        text = f"question {number}"
        # Temperature 0, because the model repeats a text exactly only with its most likely tokens.
        message = {"role": "user", "content": text}
        body = json.dumps({"model": "private", "temperature": 0, "messages": [message]}).encode()
        for host in (first, *(each for each in GATEWAYS if each != first)):
            try:
                status, answer = self._request(host, "POST", "/v1/chat/completions", body, timeout_s=120)
            except ConnectionRefusedError:
                continue
            except (OSError, http.client.HTTPException) as error:
                return f"failed: {host}: {type(error).__name__}: {error}"
            if status != 200:
                return f"failed: {host}: status {status}: {answer[:200]}"
            if text not in answer:
                return f"failed: {host}: another answer to {text!r}: {answer[:300]}"
            return "answered" if host == first else "answered after a refused connection"
        return "failed: all gateways refused the connection"

    def _request(self, host: str, method: str, path: str, body: bytes | None, *, timeout_s: float) -> tuple[int, str]:
        connection = http.client.HTTPSConnection(host, PORT, context=self._tls, timeout=timeout_s)
        try:
            headers = {"authorization": f"Bearer {self._key}", "content-type": "application/json"}
            connection.request(method, path, body, headers if body is not None else {})
            response = connection.getresponse()
            return response.status, response.read().decode("utf-8", "replace")
        finally:
            connection.close()


def change_site(file: Path, names: list[str]) -> None:
    """Change the values of `CHANGES` in a site.yaml."""
    text = file.read_text()
    if "\n  workers: " not in text:
        text = text.replace("gateway:\n", "gateway:\n  workers: 1\n", 1)
    for name in names:
        pattern, (one, other) = CHANGES[name]
        found = re.search(pattern, text)
        assert found is not None, name
        text = text[: found.start()] + (other if found[0] == one else one) + text[found.end() :]
    write_atomic(file, text)


def change(site: Path, names: list[str]) -> int:
    """Change site.yaml, plan and apply; return the exit code."""
    change_site(site, names)
    _sovctl("plan", str(site))
    return _sovctl("apply", str(site), "--yes", may_fail=True)


def roll_back(site: Path, names: list[str]) -> int:
    """Roll back to the site.yaml before a change, and restore that file; return the exit code."""
    code = _sovctl("apply", str(site), "--rollback", "--yes", may_fail=True)
    change_site(site, names)
    return code


def measure(lab: Lab, folder: Path, names: list[str], step: Callable[[Path, list[str]], int]) -> dict[str, Any]:
    """Run a step while the client asks; return the figures."""
    site = folder / "site.yaml"
    ca_file = folder / ".sovctl" / "pki" / "ca.pem"
    inside = network.inside(lab.namespace)
    client = subprocess.Popen(
        [*inside, sys.executable, "-m", "bench.rolling", "--client", str(ca_file), str(folder / "secrets/client-key")],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    sampler = subprocess.Popen(
        ssh_command(
            lab, node_named("s1"), ["sudo", "-u", GATEWAY_USER, "python3", "-u", "-c", f"'{_SAMPLER}'", *POOLS]
        ),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        text=True,
    )
    samples: list[tuple[float, list[str]]] = []
    assert sampler.stdout is not None
    reading = threading.Thread(target=lambda: samples.extend(json.loads(line) for line in sampler.stdout or ()))
    reading.start()
    started = time.monotonic()
    try:
        applied = step(site, names)
        seconds = time.monotonic() - started
        time.sleep(5)  # requests after the change count too
    finally:
        sampler.terminate()
        out, _ = client.communicate("", timeout=180)
        reading.join(30)
    return {
        "step": step.__name__,
        "changes": names,
        "apply_exit_code": applied,
        "seconds": round(seconds, 1),
        "least_serving_pool_servers": min((states.count("serves") for _, states in samples), default=None),
        "samples": len(samples),
        "samples_below_floor": [each for each in samples if each[1].count("serves") < FLOOR],
        **json.loads(out),
    }


def problems_of(found: dict[str, Any]) -> list[str]:
    """Return the missed targets; empty if all are met."""
    broken = [f"request failed: {each}" for each in found["failures"]]
    if found["apply_exit_code"] != 0:
        broken.append(f"apply ended with {found['apply_exit_code']}")
    if not found["results"].get("answered"):
        broken.append("no request was answered")
    least = {name: found[name] for name in ("least_serving_pool_servers", "least_ready_gateways")}
    return broken + [
        f"expected at least {FLOOR} as {name}, got {count}"
        for name, count in least.items()
        if count is None or count < FLOOR
    ]


def main() -> int:
    """Run the bench; return 1 with --check if a promise is broken."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--change", action="append", choices=list(CHANGES), help="default: all")
    parser.add_argument("--rollback", action="store_true", help="also roll the change back")
    parser.add_argument("--name", default=NAME, help="name of the lab")
    parser.add_argument("--directory", type=Path, default=Path("build/rolling-site"))
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--client", nargs=2, metavar=("CA_FILE", "KEY_FILE"), help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.client:
        Client(options.client[0], Path(options.client[1]).read_text().strip()).run()
        return 0
    if os.geteuid() != 0:
        print("not run: the lab requires root")
        return 0
    lab, folder = Lab(options.name), options.directory.resolve()
    _sovctl("lab", "up", "--preset", "ha", "--name", lab.name, "--directory", str(folder))
    _sovctl("plan", str(folder / "site.yaml"))
    _sovctl("apply", str(folder / "site.yaml"), "--yes")
    steps, broken = [], []
    for step in (change, roll_back) if options.rollback else (change,):
        found = measure(lab, folder, options.change or list(CHANGES), step)
        found["problems"] = problems_of(found)
        broken += found["problems"]
        steps.append(found)
        print(_summary(found), flush=True)
        write_atomic(RESULT, json.dumps({"simulated": True, "steps": steps}, indent=1) + "\n")
    for problem in broken:
        print(f"missed: {problem}", file=sys.stderr)
    return 1 if broken and options.check else 0


def _summary(found: dict[str, Any]) -> str:
    return (
        f"simulated hardware: {found['step']} of {', '.join(found['changes'])} in {found['seconds']} s; requests: "
        + ", ".join(f"{count} {name}" for name, count in found["results"].items())
        + f"; slowest {found['slowest_s']} s; least serving: {found['least_serving_pool_servers']} of 2 pool servers, "
        f"{found['least_ready_gateways']} of 2 gateways"
    )


def _sovctl(*arguments: str, may_fail: bool = False) -> int:
    done = subprocess.run([sys.executable, "-m", "sovctl.cli", *arguments], check=False)
    if done.returncode != 0 and not may_fail:
        raise SystemExit(f"sovctl {arguments[0]} ended with {done.returncode}")
    return done.returncode


if __name__ == "__main__":
    sys.exit(main())
