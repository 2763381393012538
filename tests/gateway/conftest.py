"""A real gateway between a real client and two recording upstreams, all on loopback with TLS."""

from __future__ import annotations

import contextlib
import datetime
import http.client
import ipaddress
import os
import signal
import ssl
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import openai
import pytest
import warm_processes
import yaml
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from echo_upstream import EchoUpstream
from gateway_yaml import API_KEY, MONITOR_KEY, Pki, write_config
from loopback_gateway import UPKEEP_TYPES
from postgresql_server import PostgresqlServer

from sovctl.compliance.ledger.reader import LedgerReader


@pytest.fixture(scope="session")
def pki(tmp_path_factory: pytest.TempPathFactory) -> Pki:
    folder = tmp_path_factory.mktemp("pki")
    now = datetime.datetime.now(datetime.UTC)
    ca_key = ec.generate_private_key(ec.SECP256R1())
    ca_name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "sovctl test CA")])

    def make(name: str, *, is_ca: bool = False) -> tuple[Path, Path]:
        key = ca_key if is_ca else ec.generate_private_key(ec.SECP256R1())
        subject = ca_name if is_ca else x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, name)])
        builder = (
            x509.CertificateBuilder()
            .subject_name(subject)
            .issuer_name(ca_name)
            .public_key(key.public_key())
            .serial_number(x509.random_serial_number())
            .not_valid_before(now - datetime.timedelta(hours=1))
            .not_valid_after(now + datetime.timedelta(days=1))
            .add_extension(x509.BasicConstraints(ca=is_ca, path_length=None), critical=True)
            .add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False)
            .add_extension(x509.AuthorityKeyIdentifier.from_issuer_public_key(ca_key.public_key()), critical=False)
        )
        if is_ca:
            usage = x509.KeyUsage(True, False, False, False, False, True, True, False, False)
            builder = builder.add_extension(usage, critical=True)
        else:
            address = x509.IPAddress(ipaddress.ip_address("127.0.0.1"))
            builder = builder.add_extension(x509.SubjectAlternativeName([address]), critical=False)
        certificate_file, key_file = folder / f"{name}.pem", folder / f"{name}.key"
        certificate_file.write_bytes(builder.sign(ca_key, hashes.SHA256()).public_bytes(serialization.Encoding.PEM))
        key_file.write_bytes(
            key.private_bytes(
                serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
            )
        )
        key_file.chmod(0o600)
        return certificate_file, key_file

    ca_file, _ = make("ca", is_ca=True)
    return Pki(ca_file, *make("server"), *make("client"))


@pytest.fixture(scope="session")
def postgresql(pki: Pki) -> Iterator[PostgresqlServer]:
    """One server for all tests of a session."""
    server = PostgresqlServer(pki.certificate_file, pki.key_file, pki.ca_file)
    server.start()
    yield server
    server.stop()


@pytest.fixture(scope="module")
def pool(pki: Pki) -> Iterator[EchoUpstream]:
    with EchoUpstream(pki.certificate_file, pki.key_file, client_ca_file=pki.ca_file) as upstream:
        yield upstream


@pytest.fixture(scope="module")
def cloud(pki: Pki) -> Iterator[EchoUpstream]:
    with EchoUpstream(pki.certificate_file, pki.key_file) as upstream:
        yield upstream


@pytest.fixture(name="write_config")
def write_config_fixture(pki: Pki, pool: EchoUpstream, cloud: EchoUpstream) -> Callable[[Path], Path]:
    """Writes a gateway.yaml with everything it names into a folder."""
    return lambda folder: write_config(folder, pki, pool, cloud)


@dataclass
class RunningGateway:
    """A gateway process."""

    config: Path
    process: warm_processes.Process
    port: int
    tls: ssl.SSLContext
    log_file: Path
    clients: dict[str, openai.OpenAI] = field(default_factory=dict)

    def client(self, key: str = API_KEY) -> openai.OpenAI:
        """The real client; it does not retry, so that a test sees every answer."""
        if key not in self.clients:
            self.clients[key] = openai.OpenAI(
                api_key=key,
                base_url=f"https://127.0.0.1:{self.port}/v1",
                max_retries=0,
                timeout=60,
                http_client=openai.DefaultHttpxClient(verify=self.tls),
            )
        return self.clients[key]

    def request(
        self, method: str, path: str, body: bytes | None = None, headers: dict[str, str] | None = None
    ) -> tuple[int, dict[str, str], bytes]:
        """Status, headers and body of a request; without headers, with the key of monitoring where it is needed."""
        if headers is None and path in ("/readyz", "/metrics"):
            headers = {"authorization": f"Bearer {MONITOR_KEY}"}
        connection = http.client.HTTPSConnection("127.0.0.1", self.port, context=self.tls, timeout=60)
        with contextlib.closing(connection):
            connection.request(method, path, body, headers or {})
            response = connection.getresponse()
            return response.status, {k.lower(): v for k, v in response.getheaders()}, response.read()

    def log(self) -> str:
        """Everything it wrote so far."""
        return self.log_file.read_text()

    def records(self) -> list[dict[str, Any]]:
        """The audit records on the disk, in order, without those of the upkeep, which come at any time."""
        folder = Path(yaml.safe_load(self.config.read_text())["ledger"]["directory"])
        return [each for each in read_ledger(folder) if each["type"] not in UPKEEP_TYPES]

    def stop(self, sig: int = signal.SIGTERM) -> int:
        """Send a signal and wait for the end; the exit code."""
        for client in self.clients.values():
            client.close()
        self.clients.clear()
        if self.process.poll() is None:
            self.process.send_signal(sig)
        return self.process.wait(60)


def read_ledger(folder: Path) -> list[dict[str, Any]]:
    """Every record in a ledger's folder."""
    return [dict(entry.record) for entry in LedgerReader(folder).entries()]


def start_gateway(config: Path, pki: Pki, log_file: Path, *, wait: bool = True) -> RunningGateway:
    """Start `python -m sovctl.gateway serve` and wait until it answers."""
    port = yaml.safe_load(config.read_text())["listen"]["port"]
    with log_file.open("ab") as log, Path(os.devnull).open("rb") as nothing:
        process = warm_processes.start(
            warm_processes.GATEWAY,
            ["serve", "--config", str(config)],
            cwd=Path.cwd(),
            files=(nothing.fileno(), log.fileno(), log.fileno()),
            env={**os.environ, "https_proxy": "http://192.0.2.1:9", "HTTPS_PROXY": "http://192.0.2.1:9"},
        )
    gateway = RunningGateway(config, process, port, ssl.create_default_context(cafile=pki.ca_file), log_file)
    if wait:
        try:
            until_healthy(gateway)
        except BaseException:
            gateway.stop()
            raise
    return gateway


def until_healthy(gateway: RunningGateway) -> None:
    """Wait until it answers."""
    deadline = time.monotonic() + 60
    while True:
        try:
            if gateway.request("GET", "/healthz")[0] == 200:
                return
        except OSError:
            assert gateway.process.poll() is None, gateway.log_file.read_text()
            assert time.monotonic() < deadline, "the gateway did not start"
            time.sleep(0.02)


@pytest.fixture
def start_from(pki: Pki) -> Iterator[Callable[..., RunningGateway]]:
    """Starts gateways from a configuration that exists; all are stopped at the end of the test."""
    running: list[RunningGateway] = []

    def start_one(config: Path, log_file: Path, *, wait: bool = True) -> RunningGateway:
        running.append(start_gateway(config, pki, log_file, wait=wait))
        return running[-1]

    yield start_one
    for gateway in running:
        gateway.stop()


@pytest.fixture(scope="module")
def start(
    tmp_path_factory: pytest.TempPathFactory, pki: Pki, pool: EchoUpstream, cloud: EchoUpstream
) -> Iterator[Callable[..., RunningGateway]]:
    """Starts gateways with changed settings; all are stopped at the end of the module."""
    running: list[RunningGateway] = []

    def start_one(**changes: Any) -> RunningGateway:
        folder = tmp_path_factory.mktemp("gateway")
        wait = changes.pop("wait", True)
        config = write_config(folder, pki, changes.pop("pool", pool), cloud, **changes)
        running.append(start_gateway(config, pki, folder / "log", wait=wait))
        return running[-1]

    yield start_one
    for gateway in running:
        gateway.stop()


@pytest.fixture(scope="module")
def gateway(start: Callable[..., RunningGateway]) -> RunningGateway:
    return start()


@pytest.fixture(autouse=True)
def _fresh_upstreams(request: pytest.FixtureRequest) -> None:
    for name in ("pool", "cloud"):
        if name in request.fixturenames:
            request.getfixturevalue(name).forget()
