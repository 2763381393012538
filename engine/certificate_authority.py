"""Certificate authority of a site: one ECDSA P-256 root, and one leaf for each node with a server or a client.

- The root is created on the controller; or, after `sovctl bootstrap ca`, it is offline, and an issuing authority with
  name constraints signs the leaves (`issuer.pem`, `issuer.key`).
- All keys and certificates are in the state folder.
- `ca.crl` is the list of revoked certificates (RFC 5280, 5). vLLM 0.32 has no option for such a list, so that a stolen
  key of a node needs a new root.
- A leaf is renewed 30 days before it expires, or if the node's address changes. It does not outlast the root.
- Operators replace the root (docs/runbooks/authority.md), because clients must trust the new one.
- Leaves of the root are valid for 398 days, the limit of the CA/Browser Forum for public certificates until 2026-03.
  Leaves of an issuing authority are valid for 90 days, and their files also contain its certificate.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timedelta
from ipaddress import IPv4Address, ip_address
from pathlib import Path
from typing import TypeVar

from cryptography import x509
from cryptography.exceptions import InvalidSignature, UnsupportedAlgorithm
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from sovctl.support.atomic_files import write_atomic
from sovctl.support.errors import InputError

_Loaded = TypeVar("_Loaded")
ROOT_DAYS = 3650
LEAF_DAYS = 398
ISSUED_LEAF_DAYS = 90
RENEW_BEFORE = timedelta(days=30)
"""Remaining validity below which a plan renews a certificate. Chosen: a site that applies a plan once a month keeps all
certificates valid."""


class Authority:
    """Root key and certificate in `folder`, created on first use.

    Args:
        folder: `pki/` of the state folder.
        site: name in the subject of all certificates.
    """

    def __init__(self, folder: Path, site: str) -> None:
        self.folder = folder
        self.site = site
        self.certificate_file = folder / "ca.pem"
        self.revoked_file = folder / "ca.crl"
        self.issuer_file, self.issuer_key_file = folder / "issuer.pem", folder / "issuer.key"

    def ensure(self, *, now: datetime) -> None:
        """Create the root if absent, or if its key does not match after a crash.

        Raises:
            InputError: an issuing authority is requested, or its installation is incomplete.
        """
        key_file = self.folder / "ca.key"
        if self.has_root():
            return
        if self.issuer_file.exists() or self.issuer_key_file.exists():
            hint = "finish the ceremony: sovctl bootstrap ca install"
            raise InputError("the issuing authority is incomplete", where=str(self.issuer_file), hint=hint)
        self.folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        key = ec.generate_private_key(ec.SECP256R1())
        name = self._name("sovctl authority")
        certificate = (
            certificate_builder(name, name, key.public_key(), now, now + timedelta(days=ROOT_DAYS))
            .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
            .add_extension(key_usage(signs_certificates=True), critical=True)
            .add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False)
            .sign(key, hashes.SHA256())
        )
        _write_key(key_file, key)
        write_atomic(self.certificate_file, certificate.public_bytes(serialization.Encoding.PEM))

    def issue(self, node: str, address: IPv4Address, *, now: datetime) -> tuple[Path, Path]:
        """Return the certificate and key files of a node for servers and clients; create or renew them if necessary.

        Raises:
            InputError: the root expires within 30 days.
        """
        self.ensure(now=now)
        certificate_file, key_file = self.folder / f"{node}.pem", self.folder / f"{node}.key"
        if self.is_good(node, address, now=now):
            return certificate_file, key_file
        root, root_key = self._issuer()
        last = root.not_valid_after_utc
        if last - RENEW_BEFORE <= now:
            raise InputError(
                f"the root certificate expires within {RENEW_BEFORE.days} days: {last:%Y-%m-%d}",
                where=str(self._issuer_files()[0]),
                hint="replace it: docs/runbooks/authority.md",
            )
        key = ec.generate_private_key(ec.SECP256R1())
        names = [x509.DNSName(node), x509.IPAddress(ip_address(str(address)))]
        certificate = (
            certificate_builder(
                self._name(node), root.subject, key.public_key(), now, min(now + self._leaf_validity(), last)
            )
            .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
            .add_extension(key_usage(signs_certificates=False), critical=True)
            .add_extension(
                x509.ExtendedKeyUsage([ExtendedKeyUsageOID.SERVER_AUTH, ExtendedKeyUsageOID.CLIENT_AUTH]),
                critical=False,
            )
            .add_extension(x509.SubjectAlternativeName(names), critical=False)
            .add_extension(x509.AuthorityKeyIdentifier.from_issuer_public_key(root_key.public_key()), critical=False)
            .sign(root_key, hashes.SHA256())
        )
        pem = certificate.public_bytes(serialization.Encoding.PEM)
        if self.issuer_file.exists():
            pem += root.public_bytes(serialization.Encoding.PEM)
        _write_key(key_file, key)
        write_atomic(certificate_file, pem)
        return certificate_file, key_file

    def is_good(self, node: str, address: IPv4Address, *, now: datetime) -> bool:
        """Return whether a node has a certificate of this root for its address, with its key, that needs no renewal."""
        pair = _pair(self.folder / f"{node}.pem", self.folder / f"{node}.key")
        if pair is None or not self.has_root():
            return False
        root = x509.load_pem_x509_certificate(self._issuer_files()[0].read_bytes())
        names = pair.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
        return (
            pair.not_valid_after_utc - RENEW_BEFORE > now
            and address in names.get_values_for_type(x509.IPAddress)
            and _is_issued_by(pair, root)
        )

    def renewal(self, node: str, *, now: datetime) -> str:
        """Return the reason why a certificate of a node expires too soon; empty if it does not, or is absent."""
        pair = _pair(self.folder / f"{node}.pem", self.folder / f"{node}.key")
        if pair is None or pair.not_valid_after_utc - RENEW_BEFORE > now:
            return ""
        last, days = pair.not_valid_after_utc, (pair.not_valid_after_utc - now).days
        state = f"expires on {last:%Y-%m-%d}, in {days} days" if last > now else f"expired on {last:%Y-%m-%d}"
        return f"{state}; renewed {RENEW_BEFORE.days} days before"

    def revoke(self, node: str, *, now: datetime) -> str | None:
        """Add the certificate of a node to the list of revoked certificates, and delete it with its key.

        Returns:
            Its serial number and last day, such as `7b2f until 2027-12-01`; None without a certificate.
        """
        certificate_file, key_file = self.folder / f"{node}.pem", self.folder / f"{node}.key"
        revoked = None
        if certificate_file.exists() and self.has_root():
            certificate = _read(certificate_file, "a certificate", x509.load_pem_x509_certificate)
            self._add_to_list(certificate, now=now)
            revoked = f"{certificate.serial_number:x} until {certificate.not_valid_after_utc:%Y-%m-%d}"
        key_file.unlink(missing_ok=True)
        certificate_file.unlink(missing_ok=True)
        return revoked

    def _add_to_list(self, certificate: x509.Certificate, *, now: datetime) -> None:
        root, root_key = self._issuer()
        builder = x509.CertificateRevocationListBuilder().issuer_name(root.subject)
        builder = builder.last_update(now).next_update(root.not_valid_after_utc)
        earlier: list[x509.RevokedCertificate] = []
        if self.revoked_file.exists():
            earlier = list(_read(self.revoked_file, "a list of revoked certificates", x509.load_pem_x509_crl))
        added = x509.RevokedCertificateBuilder(certificate.serial_number, now).build()
        for each in (*earlier, *([] if any(e.serial_number == added.serial_number for e in earlier) else [added])):
            builder = builder.add_revoked_certificate(each)
        made = builder.add_extension(x509.CRLNumber(int(now.timestamp())), critical=False).sign(
            root_key, hashes.SHA256()
        )
        write_atomic(self.revoked_file, made.public_bytes(serialization.Encoding.PEM))

    def has_root(self) -> bool:
        """Return whether a root certificate exists, and the key that signs leaves with its certificate."""
        return self.certificate_file.exists() and _pair(*self._issuer_files()) is not None

    def _issuer_files(self) -> tuple[Path, Path]:
        """Return the certificate and key that sign leaves."""
        if self.issuer_file.exists():
            return self.issuer_file, self.issuer_key_file
        return self.certificate_file, self.folder / "ca.key"

    def _issuer(self) -> tuple[x509.Certificate, ec.EllipticCurvePrivateKey]:
        certificate_file, key_file = self._issuer_files()
        key = serialization.load_pem_private_key(key_file.read_bytes(), None)
        assert isinstance(key, ec.EllipticCurvePrivateKey)
        return x509.load_pem_x509_certificate(certificate_file.read_bytes()), key

    def _leaf_validity(self) -> timedelta:
        return timedelta(days=ISSUED_LEAF_DAYS if self.issuer_file.exists() else LEAF_DAYS)

    def _name(self, common_name: str) -> x509.Name:
        return x509.Name(
            [
                x509.NameAttribute(NameOID.ORGANIZATION_NAME, f"site {self.site}"),
                x509.NameAttribute(NameOID.COMMON_NAME, common_name),
            ]
        )


def _pair(certificate_file: Path, key_file: Path) -> x509.Certificate | None:
    """Return the certificate if its key exists; None if not. After a crash the key may belong to another certificate.

    Raises:
        InputError: a file is invalid. It is not replaced, because it may have been edited.
    """
    if not certificate_file.exists() or not key_file.exists():
        return None
    certificate = _read(certificate_file, "a certificate", x509.load_pem_x509_certificate)
    key = _read(key_file, "a private key", lambda data: serialization.load_pem_private_key(data, None))
    return certificate if certificate.public_key() == key.public_key() else None


def _read(path: Path, what: str, load: Callable[[bytes], _Loaded]) -> _Loaded:
    try:
        return load(path.read_bytes())
    except (ValueError, TypeError, UnsupportedAlgorithm):
        hint = "restore it from a backup; without one, move it away, and the next apply creates a new one"
        raise InputError(f"not {what} in PEM format", where=str(path), hint=hint) from None


def _is_issued_by(certificate: x509.Certificate, root: x509.Certificate) -> bool:
    try:
        certificate.verify_directly_issued_by(root)
    except (ValueError, TypeError, InvalidSignature):
        return False
    return True


def certificate_builder(
    subject: x509.Name, issuer: x509.Name, key: ec.EllipticCurvePublicKey, now: datetime, last: datetime
) -> x509.CertificateBuilder:
    """Return a builder of a certificate with a random serial number, valid from one hour before `now` to `last`."""
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(key)
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - timedelta(hours=1))  # for nodes with a slow clock
        .not_valid_after(last)
    )


def key_usage(*, signs_certificates: bool) -> x509.KeyUsage:
    """Return the key usage of an authority or of a leaf."""
    return x509.KeyUsage(
        digital_signature=not signs_certificates,
        key_cert_sign=signs_certificates,
        crl_sign=signs_certificates,
        content_commitment=False,
        key_encipherment=False,
        data_encipherment=False,
        key_agreement=False,
        encipher_only=False,
        decipher_only=False,
    )


def _write_key(path: Path, key: ec.EllipticCurvePrivateKey) -> None:
    pem = key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    write_atomic(path, pem, mode=0o600)
