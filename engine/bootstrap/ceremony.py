"""Ceremony of the site's root: its printed script, and the installation of the signed issuing authority at the site."""

from __future__ import annotations

import re
from ipaddress import IPv4Network
from pathlib import Path

from cryptography import x509
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec

from sovctl.support.atomic_files import read_error_reason, write_atomic
from sovctl.support.canonical_json import sha256_hex
from sovctl.support.errors import InputError
from sovctl.support.package_files import package_folder, package_text

from ..site.site import Site
from .ledger import record
from .root_authority import new_request

RECORD_TYPE = "authority-installed"
SCRIPT = package_folder("templates/ceremony") / "authority.txt"
_OPEN_BOX = re.compile(r"^\s*\[\s*\]", re.MULTILINE)
_CHECKED_BOX = re.compile(r"^\s*\[[xX]\]", re.MULTILINE)


def script(site: str) -> str:
    """Return the script of the ceremony, with a box for each step."""
    return package_text(SCRIPT).replace("{site}", site)


def transcript_sha256(path: Path) -> str:
    """Return the SHA-256 of a completed script.

    Raises:
        InputError: unreadable, steps are missing, or a box is not checked.
    """
    try:
        data = path.read_bytes()
        text = data.decode()
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"unreadable: {read_error_reason(error)}", where=str(path)) from None
    if left := len(_OPEN_BOX.findall(text)):
        raise InputError(f"{left} steps are not checked", where=str(path), hint="complete the ceremony, and write [x]")
    steps, checked = len(_OPEN_BOX.findall(package_text(SCRIPT))), len(_CHECKED_BOX.findall(text))
    if checked < steps:
        raise InputError(f"expected {steps} checked steps, got {checked}", where=str(path))
    return sha256_hex(data)


def request(site: Site) -> bytes:
    """Create the key of the site's issuing authority, and return its request in PEM. The caller holds the site's lock.

    Raises:
        InputError: the site has an authority or an open request.
    """
    authority = site.credentials.authority
    for path in (authority.certificate_file, authority.issuer_file, authority.issuer_key_file):
        if path.exists():
            hint = "to replace an authority: docs/runbooks/authority.md"
            raise InputError("the site has an authority or an open request", where=str(path), hint=hint)
    key = ec.generate_private_key(ec.SECP256R1())
    site.state.prepare()
    authority.folder.mkdir(exist_ok=True, mode=0o700)
    pem = key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    write_atomic(authority.issuer_key_file, pem, mode=0o600)
    return new_request(site.spec.site.name, key).public_bytes(serialization.Encoding.PEM)


def install(site: Site, issuer: x509.Certificate, root: x509.Certificate, *, expected: str, transcript: Path) -> None:
    """Install the certificates of a ceremony. The caller holds the site's lock.

    Args:
        expected: SHA-256 of the root certificate in DER, hex, from a second channel.
        transcript: completed script of the ceremony.

    Raises:
        InputError: a certificate is not the expected one, does not permit a node, or an authority is installed.
    """
    authority = site.credentials.authority
    digest = transcript_sha256(transcript)
    if fingerprint(root) != expected:
        raise InputError("the root is not the expected one", where="--root", hint="compare the words of the ceremony")
    if authority.certificate_file.exists():
        raise InputError("the site has an authority", where=str(authority.certificate_file))
    _check_chain(issuer, root)
    _check_key(issuer, authority.issuer_key_file)
    _check_permits(site, issuer)
    digests = {"root_sha256": fingerprint(root), "issuer_sha256": fingerprint(issuer), "transcript_sha256": digest}
    record(site, RECORD_TYPE, **digests)
    # In this order, a crash leaves an incomplete authority that `Authority` refuses, and not a second root.
    write_atomic(authority.issuer_file, issuer.public_bytes(serialization.Encoding.PEM))
    write_atomic(authority.certificate_file, root.public_bytes(serialization.Encoding.PEM))


def fingerprint(certificate: x509.Certificate) -> str:
    """Return the SHA-256 of a certificate in DER, hex."""
    return certificate.fingerprint(hashes.SHA256()).hex()


def _check_chain(issuer: x509.Certificate, root: x509.Certificate) -> None:
    try:
        issuer.verify_directly_issued_by(root)
        constraints = issuer.extensions.get_extension_for_class(x509.BasicConstraints).value
    except (ValueError, TypeError, InvalidSignature, x509.ExtensionNotFound):
        raise InputError("the root did not sign this certificate", where="--certificate") from None
    if not constraints.ca or constraints.path_length != 0:
        raise InputError("expected an authority that signs leaves only", where="--certificate")


def _check_key(issuer: x509.Certificate, path: Path) -> None:
    if not path.exists():
        raise InputError("no open request", where=str(path), hint="sovctl bootstrap ca request")
    key = serialization.load_pem_private_key(path.read_bytes(), None)
    if key.public_key() != issuer.public_key():
        raise InputError("the certificate is of another request", where="--certificate")


def _check_permits(site: Site, issuer: x509.Certificate) -> None:
    try:
        permitted = issuer.extensions.get_extension_for_class(x509.NameConstraints).value.permitted_subtrees or []
    except x509.ExtensionNotFound:
        raise InputError("expected name constraints", where="--certificate") from None
    networks = [each.value for each in permitted if isinstance(each, x509.IPAddress)]
    names = {each.value for each in permitted if isinstance(each, x509.DNSName)}
    for _, node in site.spec.nodes():
        inside = any(node.address in network for network in networks if isinstance(network, IPv4Network))
        if not inside or node.name not in names:
            hint = f"sign again with --network of {node.address} and --dns-name {node.name}"
            raise InputError(f"the certificate does not permit {node.name}", where="--certificate", hint=hint)
