"""Our own gateway with everything on: detection, tokens, vault, durable audit. Its settings, keys and certificate."""

from __future__ import annotations

import datetime
import hashlib
import ipaddress
import json
import secrets
from pathlib import Path
from typing import Any

import yaml
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec

from bench.traffic.wrk import Target
from sovctl.gateway.settings import load_settings
from sovctl.support.errors import SpecError

_KEY = "bench-key"


def write_config(folder: Path, upstream_port: int, port: int, *, workers: int) -> tuple[Path, Target]:
    """Write a gateway.yaml and the files it names; return its path and the target.

    Uses plain HTTP, like all contenders, if the settings permit it on loopback; else TLS.

    Raises:
        SpecError: invalid settings, such as an unsupported number of workers.
    """
    folder.mkdir(parents=True, exist_ok=True)

    def secret(name: str, text: str) -> str:
        (folder / name).write_text(text + "\n")
        (folder / name).chmod(0o600)
        return str(folder / name)

    clients = json.dumps(
        [{"name": "bench", "tenant": "bench", "key_sha256": hashlib.sha256(_KEY.encode()).hexdigest()}]
    )
    upstream = {"base_urls": [f"http://127.0.0.1:{upstream_port}/v1"], "model": "bench", "max_model_len": 100_000}
    settings: dict[str, Any] = {
        "site": "bench",
        "listen": {"host": "127.0.0.1", "port": port},
        "workers": workers,
        "clients_file": secret("clients.json", clients),
        "clients_sha256": hashlib.sha256(f"{clients}\n".encode()).hexdigest(),
        "token_key_file": secret("token.key", secrets.token_hex(32)),
        "vault": {"path": str(folder / "vault/vault.db"), "kek_file": secret("vault.kek", secrets.token_hex(32))},
        "ledger": {
            "directory": str(folder / "ledger"),
            "key_file": str(folder / "ledger.key"),
            "origin": "sovctl.bench/gateway",
        },
        "upstreams": [{"name": "pool", "kind": "pool", **upstream}, {"name": "cloud", "kind": "cloud", **upstream}],
        "routes": [{"model": "bench", "pool": "pool", "cloud": "cloud", "prefer": "cloud"}],
        "policy": {"default": "tokenize", "name_languages": ["en"]},
    }
    path = folder / "gateway.yaml"
    path.write_text(json.dumps(settings))
    try:
        load_settings(path)
        is_tls = False
    except SpecError:
        certificate_file, key_file = _certificate(folder)
        settings["listen"] |= {"certificate_file": str(certificate_file), "key_file": str(key_file)}
        path.write_text(yaml.safe_dump(settings))
        load_settings(path)
        is_tls = True
    return path, Target("127.0.0.1", port, key=_KEY, is_tls=is_tls)


def _certificate(folder: Path) -> tuple[Path, Path]:
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "bench")])
    now = datetime.datetime.now(datetime.UTC)
    certificate = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - datetime.timedelta(hours=1))
        .not_valid_after(now + datetime.timedelta(days=2))
        .add_extension(x509.SubjectAlternativeName([x509.IPAddress(ipaddress.ip_address("127.0.0.1"))]), critical=False)
        .sign(key, hashes.SHA256())
    )
    certificate_file, key_file = folder / "tls.pem", folder / "tls.key"
    certificate_file.write_bytes(certificate.public_bytes(serialization.Encoding.PEM))
    key_file.write_bytes(
        key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    )
    key_file.chmod(0o600)
    return certificate_file, key_file
