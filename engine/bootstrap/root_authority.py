"""Offline root of a site, and the certificate that it signs for the site's issuing authority.

    FOLDER/root.pem   certificate, 20 years
    FOLDER/root.key   private key, encrypted by a passphrase; or the URI of a PKCS#11 token
    FOLDER/root.crl   certificates of issuing authorities that were revoked (RFC 5280, 5); none yet

The certificate of the issuing authority is limited to addresses and names (RFC 5280, 4.2.1.10), and signs leaves only.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta
from ipaddress import IPv4Network
from pathlib import Path

from cryptography import x509
from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from sovctl.compliance.pkcs11_signer import PREFIX, parse_uri
from sovctl.support.atomic_files import read_error_reason, write_atomic
from sovctl.support.errors import InputError
from sovctl.support.secret_files import read_secret

from ..certificate_authority import certificate_builder, key_usage
from .token_root import TokenRoot

ROOT_DAYS = 7300
"""Chosen: twice the validity of the simple root, because every client has to be changed to replace it."""
CRL_DAYS = 400
"""Validity of the root's list, days; a yearly ceremony renews it with 35 days to spare."""
MIN_PASSPHRASE = 20
_HINT = "the file of `sovctl bootstrap ca root`"


class RootAuthority:
    """A root in a folder of an offline machine or medium."""

    def __init__(self, folder: Path) -> None:
        self.certificate_file, self.key_file = folder / "root.pem", folder / "root.key"
        self.revoked_file = folder / "root.crl"

    def create(self, site: str, *, passphrase_file: Path | None, token_file: Path | None, now: datetime) -> None:
        """Create root, key and list.

        Args:
            passphrase_file: encrypts a new key; mode 0600. Excludes `token_file`.
            token_file: URI of an existing P-256 key in a token.

        Raises:
            InputError: a root exists, or the passphrase or token is unusable.
        """
        if existing := [path for path in (self.certificate_file, self.key_file, self.revoked_file) if path.exists()]:
            raise InputError("a root exists; it is not replaced", where=str(existing[0]), hint="use another folder")
        if (passphrase_file is None) == (token_file is None):
            raise InputError("give either a passphrase file or a token file")
        key: ec.EllipticCurvePrivateKey
        if token_file is not None:
            uri = read_secret(token_file)
            key, stored = TokenRoot(parse_uri(uri, where=str(token_file))), (uri + "\n").encode()
        else:
            assert passphrase_file is not None
            key = ec.generate_private_key(ec.SECP256R1())
            stored = _encrypted(key, read_passphrase(passphrase_file))
        name = _name(site, "sovctl offline root")
        certificate = (
            certificate_builder(name, name, key.public_key(), now, now + timedelta(days=ROOT_DAYS))
            .add_extension(x509.BasicConstraints(ca=True, path_length=1), critical=True)
            .add_extension(key_usage(signs_certificates=True), critical=True)
            .add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False)
            .sign(key, hashes.SHA256())
        )
        revoked = (
            x509.CertificateRevocationListBuilder()
            .issuer_name(name)
            .last_update(now)
            .next_update(now + timedelta(days=CRL_DAYS))
            .add_extension(x509.CRLNumber(int(now.timestamp())), critical=False)
            .sign(key, hashes.SHA256())
        )
        write_atomic(self.key_file, stored, mode=0o600)
        write_atomic(self.revoked_file, revoked.public_bytes(serialization.Encoding.PEM))
        write_atomic(self.certificate_file, certificate.public_bytes(serialization.Encoding.PEM))

    def certificate(self) -> x509.Certificate:
        """Return the root certificate.

        Raises:
            InputError: absent or invalid.
        """
        return read_certificate(self.certificate_file)

    def sign(
        self,
        request: x509.CertificateSigningRequest,
        *,
        networks: Sequence[IPv4Network],
        names: Sequence[str],
        days: int,
        passphrase_file: Path | None,
        now: datetime,
    ) -> x509.Certificate:
        """Return the certificate of an issuing authority.

        Args:
            request: of `sovctl bootstrap ca request`; only its subject and public key are used.
            networks: permitted addresses of leaves; at least one.
            names: permitted DNS names of leaves, with their subdomains; at least one.
            days: validity.

        Raises:
            InputError: invalid request, or the key is unusable or of another certificate.
        """
        root, key = self.certificate(), self._key(passphrase_file)
        if key.public_key() != root.public_key():
            raise InputError("the key does not belong to root.pem", where=str(self.key_file))
        public = request.public_key()
        if not request.is_signature_valid or not isinstance(public, ec.EllipticCurvePublicKey):
            raise InputError("expected a request with a valid signature of an ECDSA key", where="--request")
        permitted: list[x509.GeneralName] = [x509.IPAddress(network) for network in networks]
        permitted += [x509.DNSName(name) for name in names]
        last = now + timedelta(days=days)
        if last > root.not_valid_after_utc:
            raise InputError(f"the root expires before: {root.not_valid_after_utc:%Y-%m-%d}", where="--days")
        return (
            certificate_builder(request.subject, root.subject, public, now, last)
            .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
            .add_extension(key_usage(signs_certificates=True), critical=True)
            .add_extension(x509.NameConstraints(permitted, None), critical=True)
            .add_extension(x509.SubjectKeyIdentifier.from_public_key(public), critical=False)
            .add_extension(x509.AuthorityKeyIdentifier.from_issuer_public_key(key.public_key()), critical=False)
            .sign(key, hashes.SHA256())
        )

    def _key(self, passphrase_file: Path | None) -> ec.EllipticCurvePrivateKey:
        stored = read_secret(self.key_file)
        if stored.startswith(PREFIX):
            return TokenRoot(parse_uri(stored, where=str(self.key_file)))
        if passphrase_file is None:
            raise InputError("the key of the root is encrypted", where=str(self.key_file), hint="--passphrase-file")
        try:
            key = serialization.load_pem_private_key(stored.encode(), read_passphrase(passphrase_file))
        except (ValueError, TypeError, UnsupportedAlgorithm):
            raise InputError("wrong passphrase, or not a private key", where=str(self.key_file)) from None
        if not isinstance(key, ec.EllipticCurvePrivateKey):
            raise InputError("not an ECDSA key", where=str(self.key_file))
        return key


def new_request(site: str, key: ec.EllipticCurvePrivateKey) -> x509.CertificateSigningRequest:
    """Return the request of a site's issuing authority."""
    builder = x509.CertificateSigningRequestBuilder().subject_name(_name(site, "sovctl issuing authority"))
    return builder.sign(key, hashes.SHA256())


def read_certificate(path: Path) -> x509.Certificate:
    """Read a certificate in PEM.

    Raises:
        InputError: absent, unreadable or invalid.
    """
    try:
        return x509.load_pem_x509_certificate(path.read_bytes())
    except OSError as error:
        raise InputError(f"unreadable: {read_error_reason(error)}", where=str(path)) from None
    except ValueError:
        raise InputError("not a certificate in PEM format", where=str(path)) from None


def read_request(path: Path) -> x509.CertificateSigningRequest:
    """Read a certificate request in PEM.

    Raises:
        InputError: absent, unreadable or invalid.
    """
    try:
        return x509.load_pem_x509_csr(path.read_bytes())
    except OSError as error:
        raise InputError(f"unreadable: {read_error_reason(error)}", where=str(path)) from None
    except ValueError:
        raise InputError("not a certificate request in PEM format", where=str(path)) from None


def read_passphrase(path: Path) -> bytes:
    """Read the passphrase of a root key.

    Raises:
        InputError: unreadable, readable by others, or too short.
    """
    passphrase = read_secret(path)
    if len(passphrase) < MIN_PASSPHRASE:
        hint = "openssl rand -base64 30"
        raise InputError(f"expected at least {MIN_PASSPHRASE} characters", where=str(path), hint=hint)
    return passphrase.encode()


def _encrypted(key: ec.EllipticCurvePrivateKey, passphrase: bytes) -> bytes:
    encryption = serialization.BestAvailableEncryption(passphrase)
    return key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, encryption)


def _name(site: str, common_name: str) -> x509.Name:
    organization = x509.NameAttribute(NameOID.ORGANIZATION_NAME, f"site {site}")
    return x509.Name([organization, x509.NameAttribute(NameOID.COMMON_NAME, common_name)])
