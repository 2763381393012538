"""A real gateway process on loopback, without TLS, in front of whatever listens at a port.

    config = write_loopback_config(folder, cloud_port=8765)
    with running_gateway(config) as gateway:
        gateway.base_url, gateway.log(), gateway.records()

Its pool is a port where nothing listens unless a test names one, so that nothing is answered that should have left.
"""

from __future__ import annotations

import contextlib
import hashlib
import http.client
import json
import os
import secrets
import signal
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml
from clients_digests import with_digests
from loopback_ports import unused_port
from warm_processes import GATEWAY, Process, start

from sovctl.compliance.ledger.reader import LedgerReader

UPKEEP_TYPES = ("gateway.heartbeat", "gateway.stop")
"""Types of records that a gateway writes apart from requests."""
KEY = "test-key-of-the-loopback-client"
MODEL = "assistant"


def write_loopback_config(
    folder: Path, *, cloud_port: int, pool_port: int | None = None, patience_s: float = 40, **changes: Any
) -> Path:
    """A gateway.yaml with everything it names.

    Args:
        patience_s: how long an upstream may say nothing; short only where that is what a test is about.
        changes: replace top-level keys.
    """
    folder.mkdir(parents=True, exist_ok=True)

    def secret(name: str, text: str) -> str:
        (folder / name).write_text(text + "\n")
        (folder / name).chmod(0o600)
        return str(folder / name)

    sha256 = hashlib.sha256(KEY.encode()).hexdigest()
    client = {"name": "loopback", "tenant": "retail", "key_sha256": sha256, "is_monitor": True}
    silences = ("first_byte_timeout_s", "read_timeout_s", "answer_timeout_s")
    timeouts = {"connect_timeout_s": 20.0, **dict.fromkeys(silences, patience_s)}

    def upstream(name: str, kind: str, port: int) -> dict[str, Any]:
        urls = [f"http://127.0.0.1:{port}/v1"]
        return {
            "name": name,
            "kind": kind,
            "base_urls": urls,
            "model": "big",
            "max_model_len": 131072,
            "down_s": 0,
            **timeouts,
        }

    settings = {
        "site": "lab",
        "listen": {"host": "127.0.0.1", "port": unused_port()},
        "clients_file": secret("clients.json", json.dumps([client])),
        "token_key_file": secret("token.key", secrets.token_hex(32)),
        "vault": {"path": str(folder / "vault/vault.db"), "kek_file": secret("vault.kek", secrets.token_hex(32))},
        "ledger": {
            "directory": str(folder / "ledger"),
            "key_file": str(folder / "ledger.key"),
            "origin": "sovctl.lab/gateway",
        },
        "upstreams": [upstream("chat", "pool", pool_port or unused_port()), upstream("cloud", "cloud", cloud_port)],
        "routes": [{"model": MODEL, "pool": "chat", "cloud": "cloud", "prefer": "cloud"}],
        "policy": {"name_languages": ["en"]},
        **changes,
    }
    path = folder / "gateway.yaml"
    path.write_text(yaml.safe_dump(settings if "clients_sha256" in changes else with_digests(settings)))
    return path


@dataclass(frozen=True)
class LoopbackGateway:
    """A gateway process."""

    config: Path
    port: int
    process: Process
    log_file: Path

    @property
    def base_url(self) -> str:
        """For clients, ending in /v1."""
        return f"http://127.0.0.1:{self.port}/v1"

    def log(self) -> str:
        """Everything it wrote so far."""
        return self.log_file.read_text()

    def records(self) -> list[dict[str, Any]]:
        """The audit records on the disk, in order, without those of the upkeep, which come at any time."""
        folder = Path(yaml.safe_load(self.config.read_text())["ledger"]["directory"])
        records = [dict(entry.record) for entry in LedgerReader(folder).entries()]
        return [each for each in records if each["type"] not in UPKEEP_TYPES]

    def post(
        self,
        body: Mapping[str, Any] | bytes | Iterator[bytes],
        *,
        path: str = "/v1/chat/completions",
        headers: Mapping[str, str] | None = None,
        timeout_s: float = 60,
        begun: Callable[[], None] | None = None,
    ) -> tuple[int, dict[str, str], bytes]:
        """Status, headers and body of one request on a connection of its own.

        Args:
            begun: called when the first piece of the answer is there.
        """
        data = json.dumps(body).encode() if isinstance(body, Mapping) else body
        asked = {"authorization": f"Bearer {KEY}", "content-type": "application/json", **(headers or {})}
        return self._send("POST", path, data, asked, timeout_s, begun)

    def get(self, path: str) -> tuple[int, bytes]:
        """Status and body; with the key for what only monitoring may read."""
        headers = {"authorization": f"Bearer {KEY}"} if path in ("/readyz", "/metrics") else {}
        status, _, body = self._send("GET", path, None, headers, 60, None)
        return status, body

    def _send(
        self,
        method: str,
        path: str,
        data: bytes | Iterator[bytes] | None,
        headers: Mapping[str, str],
        timeout_s: float,
        begun: Callable[[], None] | None,
    ) -> tuple[int, dict[str, str], bytes]:
        with contextlib.closing(http.client.HTTPConnection("127.0.0.1", self.port, timeout=timeout_s)) as connection:
            connection.request(method, path, data, dict(headers))
            response = connection.getresponse()
            first = b""
            if begun is not None:
                first = response.read1()
                begun()
            return response.status, {k.lower(): v for k, v in response.getheaders()}, first + response.read()

    def stop(self, sig: int = signal.SIGTERM) -> int:
        """Send a signal and wait for the end; the exit code."""
        if self.process.poll() is None:
            self.process.send_signal(sig)
        return self.process.wait(60)


@contextlib.contextmanager
def running_gateway(config: Path, *, start_s: float = 60) -> Iterator[LoopbackGateway]:
    """Start `python -m sovctl.gateway serve`, wait until it answers, stop it at the end."""
    port = yaml.safe_load(config.read_text())["listen"]["port"]
    log_file = config.parent / "log"
    with log_file.open("ab") as log, Path(os.devnull).open("rb") as nothing:
        process = start(
            GATEWAY,
            ["serve", "--config", str(config)],
            cwd=Path.cwd(),
            env=os.environ,
            files=(nothing.fileno(), log.fileno(), log.fileno()),
        )
    gateway = LoopbackGateway(config, port, process, log_file)
    try:
        deadline = time.monotonic() + start_s
        while True:
            try:
                if gateway.get("/healthz")[0] == 200:
                    break
            except OSError:
                assert process.poll() is None, gateway.log()
                assert time.monotonic() < deadline, "the gateway did not start"
                time.sleep(0.02)
        yield gateway
    finally:
        gateway.stop()


def say(content: Any, **more: Any) -> dict[str, Any]:
    """A chat completion of one message."""
    return {"model": MODEL, "messages": [{"role": "user", "content": content}], **more}
