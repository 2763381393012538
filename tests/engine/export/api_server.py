"""A real API server of custom kinds on loopback, for tests: Kubernetes' apiextensions-apiserver with etcd.

It evaluates schemas and rules in CEL as a cluster does. It has no core kinds, no webhooks and no controllers, so an
accepted object is not one that works.
"""

from __future__ import annotations

import http.client
import json
import ssl
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from loopback_ports import unused_port
from waiting import until

BUILD = Path(__file__).resolve().parents[3] / ".ci" / "api-server"
_NO_PACKAGES = 7  # exit code of BUILD
_LIMIT_S = 60
_KUBECONFIG = {
    "apiVersion": "v1",
    "kind": "Config",
    "clusters": [{"name": "none", "cluster": {"server": "https://127.0.0.1:9"}}],
    "users": [{"name": "none", "user": {}}],
    "contexts": [{"name": "none", "context": {"cluster": "none", "user": "none"}}],
    "current-context": "none",
}
"""The server of core kinds that it asks for delegated decisions; nothing listens there."""
_WITHOUT = (
    "NamespaceLifecycle",
    "MutatingAdmissionPolicy",
    "MutatingAdmissionWebhook",
    "ValidatingAdmissionWebhook",
    "ValidatingAdmissionPolicy",
)
"""Admission plugins that read core kinds."""


class Absent(Exception):
    """Debian's packages are not to be had."""


@dataclass(frozen=True)
class ApiServer:
    """Client of a running server."""

    port: int
    tls: ssl.SSLContext
    version: str

    def define(self, definition: dict[str, Any]) -> None:
        """Create a custom kind, and wait until its objects are served."""
        path = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/" + definition["metadata"]["name"]
        status, answer = self._call("PATCH", f"{path}?fieldManager=test&force=true", definition)
        assert status in (200, 201), answer

        def is_established() -> bool:
            conditions = self._call("GET", path)[1].get("status", {}).get("conditions") or []
            return any(each["type"] == "Established" and each["status"] == "True" for each in conditions)

        until(is_established, "the kind is established", timeout_s=_LIMIT_S)

    def problem(self, made: dict[str, Any], plural: str) -> str:
        """Return why the server refuses an object; empty if it accepts it. Nothing is stored."""
        metadata = made["metadata"]
        within = f"/namespaces/{metadata['namespace']}" if "namespace" in metadata else ""
        path = f"/apis/{made['apiVersion']}{within}/{plural}?dryRun=All&fieldValidation=Strict"
        deadline = time.monotonic() + _LIMIT_S
        while True:
            status, answer = self._call("POST", path, made)
            if (
                status != 404 or time.monotonic() > deadline
            ):  # the handler of a new kind comes seconds after its condition
                return "" if status == 201 else f"{status} {answer.get('message', '')}"
            time.sleep(0.2)

    def _call(self, method: str, path: str, body: dict[str, Any] | None = None) -> tuple[int, dict[str, Any]]:
        connection = http.client.HTTPSConnection("127.0.0.1", self.port, context=self.tls, timeout=_LIMIT_S)
        kind = "application/apply-patch+yaml" if method == "PATCH" else "application/json"
        try:
            connection.request(method, path, json.dumps(body) if body else None, {"content-type": kind})
            answer = connection.getresponse()
            text = answer.read()
            return answer.status, json.loads(text) if text.startswith(b"{") else {"message": text.decode()}
        finally:
            connection.close()


def programs() -> Path:
    """Return the folder of apiextensions-apiserver and etcd, which is built if it is absent.

    Raises:
        Absent: Debian unstable has other packages now.
    """
    built = subprocess.run([str(BUILD)], stdout=subprocess.PIPE, text=True, check=False, timeout=3600)
    if built.returncode == _NO_PACKAGES:
        raise Absent
    assert built.returncode == 0
    return BUILD.parents[1] / built.stdout.strip()


@contextmanager
def running(folder: Path) -> Iterator[ApiServer]:
    """Run etcd and the server, with their data in a folder."""
    found = programs()
    certificate, key, kubeconfig = folder / "all.pem", folder / "all.key", folder / "kubeconfig"
    # One certificate for server and client. Members of system:masters may do everything.
    subject = ("-subj", "/O=system:masters/CN=test", "-addext", "subjectAltName=IP:127.0.0.1")
    curve = ("-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes")
    command = ["openssl", "req", "-x509", *curve, *subject, "-days", "1", "-keyout", str(key), "-out", str(certificate)]
    subprocess.run(command, check=True, capture_output=True)
    kubeconfig.write_text(json.dumps(_KUBECONFIG))
    tls = ssl.create_default_context(cafile=str(certificate))
    tls.load_cert_chain(certificate, key)
    etcd = f"http://127.0.0.1:{unused_port()}"
    server = ApiServer(unused_port(), tls, found.name)
    store = [str(found / "etcd"), "--data-dir", str(folder / "etcd"), "--unsafe-no-fsync", "--log-level", "error"]
    store += ["--listen-client-urls", etcd, "--advertise-client-urls", etcd]
    store += ["--listen-peer-urls", f"http://127.0.0.1:{unused_port()}"]
    options = {
        "etcd-servers": etcd,
        "bind-address": "127.0.0.1",
        "secure-port": server.port,
        "tls-cert-file": certificate,
        "tls-private-key-file": key,
        "client-ca-file": certificate,
        "authentication-skip-lookup": "true",
        "authentication-kubeconfig": kubeconfig,
        "authorization-kubeconfig": kubeconfig,
        "kubeconfig": kubeconfig,
        "enable-priority-and-fairness": "false",
        "disable-admission-plugins": ",".join(_WITHOUT),
    }
    command = [str(found / "apiextensions-apiserver"), *(f"--{name}={value}" for name, value in options.items())]
    with (folder / "log").open("wb") as log, _process(store, log), _process(command, log):
        until(lambda: _is_alive(server), "the API server is alive", timeout_s=_LIMIT_S)
        yield server


def _is_alive(server: ApiServer) -> bool:
    """Whether the server is alive. It is never ready, because it has no core kinds."""
    try:
        return server._call("GET", "/livez")[0] == 200
    except OSError:
        return False


@contextmanager
def _process(command: list[str], log: Any) -> Iterator[None]:
    process = subprocess.Popen(command, stdout=log, stderr=log)
    try:
        yield
    finally:
        process.terminate()
        process.wait(timeout=_LIMIT_S)
