"""The ceremony of the root certificate, from the empty folder to a leaf that OpenSSL accepts."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from ipaddress import IPv4Address
from pathlib import Path

import pytest
import warm_processes
from cli_sites import ADDRESSES, make_site
from cryptography import x509
from cryptography.hazmat.primitives.serialization import Encoding

from sovctl.compliance.ledger.reader import LedgerReader
from sovctl.engine.certificate_authority import ISSUED_LEAF_DAYS, Authority
from sovctl.engine.checks.definitions.certificate._certificates import Expected, authorities, lifetime_findings
from sovctl.support.canonical_json import sha256_hex
from sovctl.support.errors import ExitCode, InputError

PASSPHRASE, TOKEN, PIN = "invented-passphrase-of-a-root", "root", "97531864"
NODES = ("hgx-1", "hgx-2", "hgx-3", "hgx-4", "gw-1", "gw-2")
MODULES = ("/usr/lib/softhsm/libsofthsm2.so", "/usr/lib64/softhsm/libsofthsm2.so")
MODULE = next((path for path in MODULES if Path(path).exists()), "")
_MAKE = """
import sys, pkcs11
from pkcs11 import Attribute, KeyType
from pkcs11.util.ec import encode_named_curve_parameters
module, token, pin, label = sys.argv[1:]
with pkcs11.lib(module).get_token(token_label=token).open(user_pin=pin, rw=True) as session:
    curve = {Attribute.EC_PARAMS: encode_named_curve_parameters("secp256r1")}
    session.create_domain_parameters(KeyType.EC, curve, local=True).generate_keypair(store=True, label=label)
"""


@dataclass
class Ceremony:
    """A site, an offline folder, and the environment of the commands."""

    folder: Path
    environ: dict[str, str]
    key: tuple[str, ...]

    def run(self, *words: str) -> subprocess.CompletedProcess[str]:
        done = warm_processes.sovctl("bootstrap", "ca", *words, cwd=self.folder, env=self.environ)
        assert "Traceback" not in done.stderr
        assert PASSPHRASE not in done.stdout + done.stderr
        assert PIN not in done.stdout + done.stderr
        return done

    def ok(self, *words: str) -> str:
        done = self.run(*words)
        assert done.returncode == ExitCode.OK, done.stderr
        return done.stdout

    def sign(self, *names: str, network: str = "127.0.0.0/24") -> subprocess.CompletedProcess[str]:
        dns = [word for name in names or NODES for word in ("--dns-name", name)]
        key = self.key if self.key[0] == "--passphrase-file" else ()
        return self.run("sign", "offline", "--request", "site.csr", "--network", network, *dns, *key, "-o", "site.pem")

    def words(self) -> str:
        data = (self.folder / "offline" / "root.pem").read_bytes()
        return sha256_hex(x509.load_pem_x509_certificate(data).public_bytes(Encoding.DER))

    def install(self, *, root: str = "", transcript: str = "ceremony.txt") -> subprocess.CompletedProcess[str]:
        return self.run("install", "--certificate", "site.pem", "--root", "offline/root.pem",
                        "--expect-root", root or self.words(), "--transcript", transcript)  # fmt: skip

    @property
    def authority(self) -> Authority:
        return Authority(self.folder / ".sovctl" / "pki", "example-ministry")


@pytest.fixture
def ceremony(tmp_path: Path) -> Ceremony:
    make_site(tmp_path, ssh_port=22)
    path = tmp_path / "passphrase"
    path.touch(mode=0o600)
    path.write_text(PASSPHRASE + "\n")
    made = Ceremony(tmp_path, dict(os.environ), ("--passphrase-file", "passphrase"))
    made.ok("script", "example-ministry", "-o", "ceremony.txt")
    text = (tmp_path / "ceremony.txt").read_text()
    assert "site example-ministry" in text
    (tmp_path / "ceremony.txt").write_text(text.replace("[ ]", "[x]"))
    return made


def held(ceremony: Ceremony) -> None:
    """Hold the whole ceremony."""
    printed = ceremony.ok("root", "offline", "--name", "example-ministry", *ceremony.key)
    assert ceremony.words() in printed
    ceremony.ok("request", "-o", "site.csr")
    assert ceremony.sign().returncode == ExitCode.OK
    done = ceremony.install()
    assert done.returncode == ExitCode.OK, done.stderr


def verified(ceremony: Ceremony, leaf: Path, address: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        ["openssl", "verify", "-x509_strict", "-purpose", "sslserver", "-verify_ip", address,
         "-CAfile", ceremony.authority.certificate_file, "-untrusted", leaf, leaf],
        capture_output=True, text=True, check=False,
    )  # fmt: skip


def check_leaves(ceremony: Ceremony) -> None:
    """A leaf for a node of the site is accepted for 90 days, one for another address by no client."""
    now = datetime.now(UTC)
    leaf, _ = ceremony.authority.issue("hgx-1", IPv4Address(ADDRESSES[0]), now=now)
    done = verified(ceremony, leaf, ADDRESSES[0])
    assert done.returncode == 0, done.stderr
    first, second = x509.load_pem_x509_certificates(leaf.read_bytes())
    assert first.not_valid_after_utc - now <= timedelta(days=ISSUED_LEAF_DAYS)
    assert second.public_bytes(Encoding.PEM) == ceremony.authority.issuer_file.read_bytes()
    issuers = authorities(leaf.read_text(), ceremony.authority.certificate_file.read_text())
    assert not list(lifetime_findings(first, issuers, Expected(today=now.date())))
    assert list(lifetime_findings(first, issuers[1:], Expected(today=now.date())))
    assert list(lifetime_findings(first, [first, *issuers], Expected(today=now.date())))
    assert ceremony.authority.is_good("hgx-1", IPv4Address(ADDRESSES[0]), now=now)
    other, _ = ceremony.authority.issue("hgx-2", IPv4Address("10.9.9.9"), now=now)
    done = verified(ceremony, other, "10.9.9.9")
    assert done.returncode != 0
    assert "permitted subtree violation" in done.stderr


def test_the_ceremony_ends_with_leaves_that_openssl_accepts(ceremony: Ceremony) -> None:
    held(ceremony)
    check_leaves(ceremony)
    key = (ceremony.folder / "offline" / "root.key").read_text()
    assert key.startswith("-----BEGIN ENCRYPTED PRIVATE KEY-----")
    assert (ceremony.folder / "offline" / "root.key").stat().st_mode & 0o777 == 0o600
    records = [entry.record for entry in LedgerReader(ceremony.folder / ".sovctl" / "ledger").entries()]
    (record,) = [each for each in records if each["type"] == "authority-installed"]
    assert record["transcript_sha256"] == sha256_hex((ceremony.folder / "ceremony.txt").read_bytes())
    assert record["root_sha256"] == ceremony.words()


def test_a_leaf_is_revoked_by_the_issuing_authority(ceremony: Ceremony) -> None:
    held(ceremony)
    now = datetime.now(UTC)
    leaf, _ = ceremony.authority.issue("hgx-1", IPv4Address(ADDRESSES[0]), now=now)
    serial = x509.load_pem_x509_certificate(leaf.read_bytes()).serial_number
    assert ceremony.authority.revoke("hgx-1", now=now)
    listed = x509.load_pem_x509_crl(ceremony.authority.revoked_file.read_bytes())
    assert [each.serial_number for each in listed] == [serial]
    issuer = x509.load_pem_x509_certificate(ceremony.authority.issuer_file.read_bytes())
    assert listed.is_signature_valid(issuer.public_key())  # type: ignore[arg-type]


@pytest.mark.skipif(not MODULE, reason="not run: no SoftHSM")
def test_the_key_of_the_root_may_be_in_a_token(ceremony: Ceremony) -> None:
    folder = ceremony.folder / "token"
    (folder / "tokens").mkdir(parents=True)
    config = folder / "softhsm2.conf"
    config.write_text(f"directories.tokendir = {folder}/tokens\nobjectstore.backend = file\nlog.level = ERROR\n")
    ceremony.environ["SOFTHSM2_CONF"] = str(config)
    init = ["softhsm2-util", "--init-token", "--free", "--label", TOKEN, "--pin", PIN, "--so-pin", PIN]
    subprocess.run(init, check=True, capture_output=True, env=ceremony.environ)
    words = [sys.executable, "-c", _MAKE, MODULE, TOKEN, PIN, "root"]
    subprocess.run(words, check=True, capture_output=True, env=ceremony.environ)
    for name, text in (
        ("pin", PIN),
        ("uri", f"pkcs11:token={TOKEN};object=root?module-path={MODULE}&pin-source=file:{folder}/pin"),
    ):
        (folder / name).touch(mode=0o600)
        (folder / name).write_text(text + "\n")
    ceremony.key = ("--token-file", "token/uri")
    held(ceremony)
    check_leaves(ceremony)
    assert (ceremony.folder / "offline" / "root.key").read_text().startswith("pkcs11:")


def test_replaces_no_root_and_no_authority(ceremony: Ceremony) -> None:
    held(ceremony)
    before = {path: path.read_bytes() for path in (ceremony.folder / "offline").iterdir()}
    for words in (("root", "offline", "--name", "x", *ceremony.key), ("request", "-o", "other.csr")):
        done = ceremony.run(*words)
        assert done.returncode == ExitCode.BAD_INPUT
        assert not (ceremony.folder / "other.csr").exists()
    assert ceremony.install().returncode == ExitCode.BAD_INPUT
    assert ceremony.sign().returncode == ExitCode.BAD_INPUT  # site.pem exists
    assert {path: path.read_bytes() for path in (ceremony.folder / "offline").iterdir()} == before


def test_the_site_refuses_a_simple_root_during_a_ceremony(ceremony: Ceremony) -> None:
    ceremony.ok("request", "-o", "site.csr")
    with pytest.raises(InputError, match="incomplete"):
        ceremony.authority.ensure(now=datetime.now(UTC))
    assert not ceremony.authority.certificate_file.exists()


def test_a_site_with_a_simple_root_is_told_to_replace_it_first(ceremony: Ceremony) -> None:
    ceremony.authority.ensure(now=datetime.now(UTC))
    done = ceremony.run("request", "-o", "site.csr")
    assert done.returncode == ExitCode.BAD_INPUT
    assert "authority.md" in done.stderr


def test_refuses_what_the_ceremony_did_not_make(ceremony: Ceremony) -> None:
    ceremony.ok("root", "offline", "--name", "example-ministry", *ceremony.key)
    ceremony.ok("request", "-o", "site.csr")
    assert ceremony.sign("hgx-1").returncode == ExitCode.OK
    assert "does not permit hgx-2" in ceremony.install().stderr
    (ceremony.folder / "site.pem").unlink()
    assert ceremony.sign(network="10.0.0.0/8").returncode == ExitCode.OK
    assert "does not permit hgx-1" in ceremony.install().stderr
    assert "not the expected one" in ceremony.install(root="0" * 64).stderr
    (ceremony.folder / "open.txt").write_text((ceremony.folder / "ceremony.txt").read_text().replace("[x]", "[ ]", 2))
    assert "2 steps are not checked" in ceremony.install(transcript="open.txt").stderr
    (ceremony.folder / "short.txt").write_text("[x] done\n")
    assert re.search(r"expected \d+ checked steps, got 1", ceremony.install(transcript="short.txt").stderr)
    assert not ceremony.authority.issuer_file.exists()


def test_refuses_a_wrong_passphrase(ceremony: Ceremony) -> None:
    ceremony.ok("root", "offline", "--name", "example-ministry", *ceremony.key)
    ceremony.ok("request", "-o", "site.csr")
    (ceremony.folder / "passphrase").write_text("another-passphrase-of-a-root\n")
    done = ceremony.sign()
    assert done.returncode == ExitCode.BAD_INPUT
    assert "wrong passphrase" in done.stderr
    (ceremony.folder / "passphrase").write_text("short\n")
    assert "at least 20 characters" in ceremony.sign().stderr
