"""Probes: whole shell texts with every part that a judge reads, and programs that say what really happened."""

from __future__ import annotations

import http.server
import json
import re
import socket
import ssl
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from datetime import UTC, datetime, timedelta
from ipaddress import IPv4Address
from pathlib import Path
from typing import Any, ClassVar

import pytest
from check_cases.case import answer
from check_samples import SAMPLES

from sovctl.compliance.verdict import Verdict
from sovctl.engine.certificate_authority import ROOT_DAYS, Authority
from sovctl.engine.checks.definitions.certificate import _certificates
from sovctl.engine.checks.definitions.gateway import _gateway_check
from sovctl.engine.checks.definitions.model import checksum
from sovctl.engine.checks.definitions.pool._mutual_tls import UNAUTHENTICATED_PATHS
from sovctl.engine.checks.definitions.site import root_certificate_lasts
from sovctl.engine.checks.model.check import judge
from sovctl.engine.checks.model.probe import Probe, ProbeOutput
from sovctl.engine.checks.model.probe_sections import parse_sections
from sovctl.engine.checks.probes.commands import SCRIPTS, python_command
from sovctl.engine.checks.registry import BY_ID, CHECKS
from sovctl.engine.facts.unreadable import Unreadable
from sovctl.engine.resources.context import render
from sovctl.engine.resources.credential import TLS
from sovctl.engine.resources.gateway import service as gateway_config
from sovctl.engine.spec.service_accounts import GATEWAY_USER

TLS_VERSIONS = [ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3]


def sh(command: str, stdin: str = "") -> ProbeOutput:
    done = subprocess.run(["sh", "-c", command], input=stdin, capture_output=True, text=True, timeout=60, check=False)
    return ProbeOutput(done.returncode, done.stdout, done.stderr)


@pytest.mark.parametrize("check_id", [check.id for check in CHECKS])
def test_a_probe_is_whole_shell_and_asks_for_every_part_its_judge_reads(check_id: str) -> None:
    sample = SAMPLES[check_id]
    command = BY_ID[check_id].probe(sample.expectation).command
    subprocess.run(["sh", "-n", "-c", command], check=True)
    assert set(sample.good) <= set(re.findall(r"=== sovctl begin (\S+)'; echo", command))


def test_the_root_certificate_is_read_where_it_lies_and_unknown_where_it_does_not(tmp_path: Path) -> None:
    authority, check = Authority(tmp_path / "of a site", "s"), BY_ID["site.root-certificate-lasts"]
    day = datetime.now(UTC)
    expectation = root_certificate_lasts.Expected(
        file=str(authority.certificate_file),
        needed_until=day.date() + timedelta(days=ROOT_DAYS - 365),
        wanted_until=day.date() + timedelta(days=ROOT_DAYS - 1),
    )
    command = check.probe(expectation).command
    assert judge(check, sh(command), expectation).verdict is Verdict.UNKNOWN
    authority.ensure(now=day)
    assert judge(check, sh(command), expectation).verdict is Verdict.PASS


def test_samples_have_the_form_that_the_shell_prints() -> None:
    probe = Probe.of(one="echo first; echo noise >&2", two="printf cut-short", three="echo x; exit 7", four="true")
    real = sh(probe.command)
    assert real.stdout == answer({"one": "first\n", "two": "cut-short", "three": (7, "x\n"), "four": ""}).stdout
    sections = parse_sections(real)
    assert [sections.section(name).text.strip() for name in ("one", "two", "three", "four")] == [
        "first",
        "cut-short",
        "x",
        "",
    ]
    assert sections.section("one").errors.strip() == "noise"


def test_the_gateways_own_check_loads_the_compiled_patterns_of_the_service() -> None:
    command = BY_ID["gateway.only-tokens-leave"].probe(SAMPLES["gateway.only-tokens-leave"].expectation).command
    unit = render("gateway", "unit.service.j2", user=GATEWAY_USER, data=gateway_config.DATA)
    cache = re.findall(r"^CacheDirectory=(.+)$", unit, re.MULTILINE)
    assert f"/var/cache/{cache[0]}" == gateway_config.CACHE
    assert f"CACHE_DIRECTORY={gateway_config.CACHE} " in command


def test_a_part_that_fails_says_what_it_said() -> None:
    sections = parse_sections(sh(Probe.of(gone="definitely-no-such-command --help").command))
    with pytest.raises(Unreadable, match=r"exit code 0 of gone, got 127: .*definitely-no-such-command"):
        sections.text("gone")


def test_a_command_with_quotes_reaches_python_unchanged(tmp_path: Path) -> None:
    """Programs are sent as text; none may depend on what a shell does to it."""
    for name in ("egress", "mutual_tls", "gateway_client"):
        text = (SCRIPTS / f"{name}.py").read_text()
        shown = sh(python_command(name).replace("python3 -B -c", "printf %s", 1)).stdout
        assert shown == text


def attempts(*targets: str) -> dict[str, dict[str, object]]:
    out = sh(python_command("egress", *targets, interpreter=sys.executable)).stdout
    return {f"{row['address']}:{row['port']}": row for row in map(json.loads, out.splitlines())}


def test_reach_tells_an_open_door_from_a_closed_one() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server, socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))  # bound and not listening: nobody else can open it meanwhile
        open_port, closed_port = server.getsockname()[1], closed.getsockname()[1]
        found = attempts(f"127.0.0.1:{open_port}", f"127.0.0.1:{closed_port}")
    assert found[f"127.0.0.1:{open_port}"]["tcp"] == "connected"
    assert found[f"127.0.0.1:{closed_port}"]["tcp"] == "refused"
    assert found[f"127.0.0.1:{open_port}"]["udp"] == "sent"


@pytest.fixture(scope="module")
def identity(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path, Path]:
    """CA, certificate and key of 127.0.0.1, made by our own authority."""
    authority = Authority(tmp_path_factory.mktemp("pki"), "test")
    certificate, key = authority.issue("here", IPv4Address("127.0.0.1"), now=datetime.now(UTC))
    return authority.certificate_file, certificate, key


@contextmanager
def serving(handler: type[http.server.BaseHTTPRequestHandler], context: ssl.SSLContext | None) -> Iterator[int]:
    """An HTTP server on loopback, in TLS when there is a context; yields its port."""

    class Server(http.server.ThreadingHTTPServer):
        daemon_threads = True

        def get_request(self) -> tuple[socket.socket, object]:
            raw, address = self.socket.accept()
            if context is None:
                return raw, address
            return context.wrap_socket(raw, server_side=True, do_handshake_on_connect=False), address

        def handle_error(self, request: object, client_address: object) -> None:
            """Authenticator who are turned away are the point here."""

    with Server(("127.0.0.1", 0), handler) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        try:
            yield server.server_address[1]
        finally:
            server.shutdown()
            thread.join()


class Quiet(http.server.BaseHTTPRequestHandler):
    """Answers everything with 200."""

    def do_GET(self) -> None:
        self.send_response(200)
        self.send_header("content-length", "0")
        self.end_headers()

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the base class's name
        pass


def server_context(identity: tuple[Path, Path, Path], *, mutual: bool, version: ssl.TLSVersion) -> ssl.SSLContext:
    authority, certificate, key = identity
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, key)
    context.minimum_version = context.maximum_version = version
    if mutual:
        context.load_verify_locations(authority)
        context.verify_mode = ssl.CERT_REQUIRED
    return context


def unauthenticated(port: int, identity: tuple[Path, Path, Path]) -> ProbeOutput:
    words = ("127.0.0.1", str(port), *map(str, identity), "/health", *UNAUTHENTICATED_PATHS)
    return sh(Probe.of(ways=python_command("mutual_tls", *words, interpreter=sys.executable)).command)


@pytest.mark.parametrize("version", TLS_VERSIONS)
def test_doors_pass_where_certificates_are_required(identity: tuple[Path, Path, Path], version: ssl.TLSVersion) -> None:
    with serving(Quiet, server_context(identity, mutual=True, version=version)) as port:
        output = unauthenticated(port, identity)
    for check_id in ("pool.tls-client-certificate-required", "pool.unauthenticated-paths-closed"):
        judgement = BY_ID[check_id].judge(output, SAMPLES[check_id].expectation)
        assert judgement.verdict == "PASS", judgement.reason


@pytest.mark.parametrize("version", TLS_VERSIONS)
def test_doors_fail_where_anybody_gets_in(identity: tuple[Path, Path, Path], version: ssl.TLSVersion) -> None:
    with serving(Quiet, server_context(identity, mutual=False, version=version)) as port:
        output = unauthenticated(port, identity)
    for check_id in ("pool.tls-client-certificate-required", "pool.unauthenticated-paths-closed"):
        judgement = BY_ID[check_id].judge(output, SAMPLES[check_id].expectation)
        assert judgement.verdict == "FAIL", judgement.reason


def test_a_presented_certificate_is_read_without_a_client_certificate(identity: tuple[Path, Path, Path]) -> None:
    authority, certificate, _ = identity
    context = server_context(identity, mutual=True, version=ssl.TLSVersion.TLSv1_3)
    with serving(Quiet, context) as port:
        expectation = _certificates.Expected(today=datetime.now(UTC).date(), address="127.0.0.1", port=port)
        command = BY_ID["certificate.pool-lasts"].probe(expectation).command
        command = command.replace(f"{TLS}/node.pem", str(certificate)).replace(f"{TLS}/ca.pem", str(authority))
        output = sh(command)
    judgement = BY_ID["certificate.pool-lasts"].judge(output, expectation)
    assert judgement.verdict == "PASS", judgement.reason


def test_doors_are_unknown_where_nobody_listens(identity: tuple[Path, Path, Path]) -> None:
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))
        output = unauthenticated(closed.getsockname()[1], identity)
    check_id = "pool.tls-client-certificate-required"
    judgement = BY_ID[check_id].judge(output, SAMPLES[check_id].expectation)
    assert judgement.verdict == "UNKNOWN", judgement.reason


class Gateway(Quiet):
    """A server with the gateway's manners: one key, a request id, a route; writes what it tokenizes to `vault`."""

    key, vault, route = "k" * 32, Path(), "cloud"
    seals = True
    answers: ClassVar = {
        "/v1/chat/completions": {"choices": [{"message": {"content": "ready"}}]},
        "/v1/embeddings": {"data": [{"embedding": [0.5]}]},
        "/v1/rerank": {"results": [{"index": 0}]},
        "/v1/audio/transcriptions": {"text": ""},
    }

    def do_GET(self) -> None:
        self.send_response(200 if self.path == "/healthz" else 401)
        self.send_header("content-length", "0")
        self.end_headers()

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["content-length"]))
        if self.headers.get("authorization") != f"Bearer {self.key}":
            self.send_response(401)
            self.send_header("content-length", "0")
            self.end_headers()
            return
        if self.vault.name:
            import sqlite3

            with closing(sqlite3.connect(self.vault, isolation_level=None)) as connection:
                connection.execute("CREATE TABLE IF NOT EXISTS t (sealed BLOB)")
                connection.execute("INSERT INTO t VALUES (?)", (bytes(255 - b for b in body) if self.seals else body,))
            connection.close()
            self.vault.chmod(0o600)
        is_form = self.headers["content-type"].startswith("multipart/form-data")
        data = json.dumps(self.answers[self.path] if is_form == ("audio" in self.path) else {}).encode()
        self.send_response(200)
        for name, value in (("x-sovctl-route", self.route), ("x-sovctl-request-id", "r-1")):
            self.send_header(name, value)
        self.send_header("content-length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)


@pytest.fixture
def ask(identity: tuple[Path, Path, Path]) -> Iterator[Callable[..., ProbeOutput]]:
    context = server_context(identity, mutual=False, version=ssl.TLSVersion.TLSv1_3)
    with serving(Gateway, context) as port:

        def run(mode: str, *arguments: str, key: str = Gateway.key) -> ProbeOutput:
            words = (mode, f"https://127.0.0.1:{port}", str(identity[0]), *arguments)
            command = python_command("gateway_client", *words, interpreter=sys.executable)
            return sh(Probe.of(ask=command).command, stdin=f"{key}\n")

        yield run


def judged(check_id: str, output: ProbeOutput) -> str:
    expectation = SAMPLES[check_id].expectation
    assert isinstance(expectation, _gateway_check.Expected)
    return BY_ID[check_id].judge(output, expectation).verdict.value


def test_a_client_with_a_key_is_answered_and_its_key_is_printed_nowhere(ask: Callable[..., ProbeOutput]) -> None:
    output = ask("answers", "assistant", "chat", "private", "chat")
    assert judged("gateway.answers", output) == "PASS"
    assert Gateway.key not in output.stdout + output.stderr


def test_a_wrong_key_is_a_failure_of_the_chat(ask: Callable[..., ProbeOutput]) -> None:
    assert judged("gateway.answers", ask("answers", "assistant", "chat", "private", "chat", key="wrong")) == "FAIL"


@pytest.mark.parametrize("task", ["chat", "embedding", "reranker", "asr"])
def test_every_task_has_a_request_and_a_complete_answer(
    ask: Callable[..., ProbeOutput], monkeypatch: pytest.MonkeyPatch, task: str
) -> None:
    def row() -> dict[str, Any]:
        [found] = _gateway_check.rows(ask("answers", "private", task))
        return found

    assert (row()["status"], row()["has_answer"]) == (200, True)
    monkeypatch.setattr(Gateway, "answers", {path: {"data": [], "results": []} for path in Gateway.answers})
    assert (row()["status"], row()["has_answer"]) == (200, False)


def test_knocking_without_a_key_is_refused(ask: Callable[..., ProbeOutput]) -> None:
    assert judged("gateway.rejects-without-key", ask("unauthenticated", "assistant")) == "PASS"


@pytest.mark.parametrize(
    ("seals", "route", "verdict"), [(True, "cloud", "PASS"), (False, "cloud", "FAIL"), (True, "pool", "UNKNOWN")]
)
def test_readable_identifiers_in_the_vault_are_found(
    ask: Callable[..., ProbeOutput],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    seals: bool,
    route: str,
    verdict: str,
) -> None:
    import sqlite3

    vault = tmp_path / "vault.db"
    with closing(sqlite3.connect(vault, isolation_level=None)) as connection:
        connection.execute("CREATE TABLE t (sealed BLOB)")
    connection.close()
    for name, value in (("vault", vault), ("seals", seals), ("route", route)):
        monkeypatch.setattr(Gateway, name, value)
    assert judged("gateway.vault-encrypted", ask("sealed_values", "assistant", str(vault))) == verdict


def test_invented_ibans_are_valid_and_of_no_bank() -> None:
    text = (SCRIPTS / "gateway_client.py").read_text().partition("\ntry:\n")[0]
    names: dict[str, Any] = {}
    exec(compile(text, "ask.py", "exec"), names)
    for _ in range(200):
        iban = names["invented_iban"]()
        assert re.fullmatch(r"DE\d{2}00000000\d{10}", iban)
        assert int(iban[4:] + "1314" + iban[2:4]) % 97 == 1


def test_every_byte_of_a_model_is_hashed_on_the_node(tmp_path: Path) -> None:
    from hashlib import sha256

    folder = tmp_path / "echo"
    (folder / "sub folder").mkdir(parents=True)
    files = {"config.json": b"{}", "sub folder/weights": b"w" * 70000}
    for name, data in files.items():
        (folder / name).write_bytes(data)
    manifest = "".join(f"{sha256(data).hexdigest()}  {name}\n" for name, data in sorted(files.items()))
    (folder / "MANIFEST").write_text(manifest)
    expectation = checksum.Expected(subject="echo", manifest_sha256=sha256(manifest.encode()).hexdigest())
    check = BY_ID["model.checksum"]
    command = check.probe(expectation).command.replace(checksum.STORE, str(tmp_path))
    assert check.judge(sh(command), expectation).verdict == "PASS"
    (folder / "sub folder" / "weights").write_bytes(b"w" * 69999 + b"x")
    assert "sub folder/weights" in check.judge(sh(command), expectation).reason
    (folder / "sub folder" / "weights").write_bytes(files["sub folder/weights"])
    (folder / "link").symlink_to("config.json")
    assert check.judge(sh(command), expectation).verdict == "FAIL"
