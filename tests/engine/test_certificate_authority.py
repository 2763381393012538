"""The site's own authority: chains verify, addresses are named, and a crash between two files heals."""

from __future__ import annotations

import subprocess
from datetime import UTC, datetime, timedelta
from ipaddress import IPv4Address
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.x509.verification import PolicyBuilder, Store

from sovctl.engine.certificate_authority import LEAF_DAYS, RENEW_BEFORE, Authority
from sovctl.support.errors import InputError

NOW = datetime(2026, 11, 21, 9, tzinfo=UTC)
ADDRESS = IPv4Address("10.20.1.11")


@pytest.fixture
def authority(tmp_path: Path) -> Authority:
    return Authority(tmp_path / "pki", "example-bank")


def certificate(path: Path) -> x509.Certificate:
    return x509.load_pem_x509_certificate(path.read_bytes())


def test_a_certificate_verifies_for_its_address_and_name_and_no_other(authority: Authority) -> None:
    path, _ = authority.issue("dgx-1", ADDRESS, now=NOW)
    builder = PolicyBuilder().store(Store([certificate(authority.certificate_file)])).time(NOW)
    for subject in (x509.IPAddress(ADDRESS), x509.DNSName("dgx-1.example.test")):
        verifier = builder.build_server_verifier(subject)
        if isinstance(subject, x509.IPAddress):
            assert len(verifier.verify(certificate(path), [])) == 2
        else:
            with pytest.raises(x509.verification.VerificationError):
                verifier.verify(certificate(path), [])
    names = certificate(path).extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    assert names.get_values_for_type(x509.DNSName) == ["dgx-1"]


def test_openssl_agrees_for_serving_and_for_calling(authority: Authority) -> None:
    path, _ = authority.issue("dgx-1", ADDRESS, now=NOW)
    moment = str(int(NOW.timestamp()))
    for purpose in ("sslserver", "sslclient"):
        command = ["openssl", "verify", "-x509_strict", "-attime", moment, "-purpose", purpose]
        command += ["-verify_ip", str(ADDRESS), "-CAfile", str(authority.certificate_file), str(path)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout + done.stderr


def test_a_certificate_stays_until_it_is_about_to_run_out(authority: Authority) -> None:
    path, _ = authority.issue("dgx-1", ADDRESS, now=NOW)
    first = path.read_bytes()
    last_day = NOW + timedelta(days=LEAF_DAYS) - RENEW_BEFORE
    authority.issue("dgx-1", ADDRESS, now=last_day - timedelta(minutes=1))
    assert path.read_bytes() == first
    assert not authority.is_good("dgx-1", ADDRESS, now=last_day)
    authority.issue("dgx-1", ADDRESS, now=last_day)
    assert path.read_bytes() != first
    assert authority.is_good("dgx-1", ADDRESS, now=last_day)


def test_nothing_outlives_the_root_and_near_its_end_nothing_is_issued(authority: Authority) -> None:
    authority.ensure(now=NOW)
    last = certificate(authority.certificate_file).not_valid_after_utc
    path, _ = authority.issue("dgx-1", ADDRESS, now=last - RENEW_BEFORE - timedelta(minutes=1))
    assert certificate(path).not_valid_after_utc == last
    with pytest.raises(InputError, match=r"the root certificate expires within 30 days: 2036-11-18") as caught:
        authority.issue("dgx-1", ADDRESS, now=last - RENEW_BEFORE)
    for name in ("ca.pem", "ca.key"):  # as the runbook says
        (authority.folder / name).rename(authority.folder / f"old-{name}")
    assert "docs/runbooks/authority.md" in caught.value.hint
    path, _ = authority.issue("dgx-1", ADDRESS, now=last)
    certificate(path).verify_directly_issued_by(certificate(authority.certificate_file))
    assert certificate(path).not_valid_after_utc == last + timedelta(days=LEAF_DAYS)


def test_a_new_address_needs_a_new_certificate(authority: Authority) -> None:
    authority.issue("dgx-1", ADDRESS, now=NOW)
    assert not authority.is_good("dgx-1", IPv4Address("10.20.1.99"), now=NOW)


def test_a_crash_between_key_and_certificate_heals(authority: Authority) -> None:
    _, key = authority.issue("dgx-1", ADDRESS, now=NOW)
    _, other = authority.issue("dgx-2", IPv4Address("10.20.1.12"), now=NOW)
    key.write_bytes(other.read_bytes())  # the new key is there, its certificate is not yet
    assert not authority.is_good("dgx-1", ADDRESS, now=NOW)
    authority.issue("dgx-1", ADDRESS, now=NOW)
    assert authority.is_good("dgx-1", ADDRESS, now=NOW)


@pytest.mark.parametrize("lost", ["ca.pem", "ca.key"])
def test_half_a_root_is_made_anew_and_what_it_issued_with_it(authority: Authority, lost: str) -> None:
    path, _ = authority.issue("dgx-1", ADDRESS, now=NOW)
    (authority.folder / lost).unlink()
    assert not authority.has_root()
    assert not authority.is_good("dgx-1", ADDRESS, now=NOW)
    authority.issue("dgx-1", ADDRESS, now=NOW)
    certificate(path).verify_directly_issued_by(certificate(authority.certificate_file))


def test_keys_are_closed(authority: Authority) -> None:
    authority.issue("dgx-1", ADDRESS, now=NOW)
    assert {path.stat().st_mode & 0o777 for path in authority.folder.glob("*.key")} == {0o600}


@pytest.mark.parametrize("name", ["ca.pem", "ca.key", "dgx-1.pem", "dgx-1.key"])
@pytest.mark.parametrize("content", [b"", b"\xff\x00", b"-----BEGIN CERTIFICATE-----\n"])
def test_a_spoilt_file_is_said_and_not_made_anew(authority: Authority, name: str, content: bytes) -> None:
    authority.issue("dgx-1", ADDRESS, now=NOW)
    spoilt = authority.folder / name
    spoilt.write_bytes(content)
    with pytest.raises(InputError, match="in PEM format") as caught:
        authority.issue("dgx-1", ADDRESS, now=NOW)
    assert caught.value.where == str(spoilt)
    assert spoilt.read_bytes() == content
