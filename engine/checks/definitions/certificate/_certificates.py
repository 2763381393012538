"""Parsed certificates of the checks of this topic, and the limits of their remaining time."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime
from itertools import pairwise

from cryptography import x509
from cryptography.exceptions import InvalidSignature

from ....certificate_authority import RENEW_BEFORE
from ....facts.unreadable import Unreadable
from ...model.check import Expectation, Judgement, failed, warned

_MIN_DAYS = "certificate.min-days"


@dataclass(frozen=True, kw_only=True)
class Expected(Expectation):
    """Days, in UTC.

    Args:
        today: day of the check.
        address, port: of a server; empty and 0 for the file of the node.
    """

    today: date
    address: str = ""
    port: int = 0


def parse_certificate(text: str, where: str) -> x509.Certificate:
    """Parse one certificate in PEM.

    Raises:
        Unreadable: the text has another form.
    """
    try:
        return x509.load_pem_x509_certificate(text.encode())
    except ValueError:
        raise Unreadable("a certificate in PEM", text, where=where) from None


def authorities(node: str, root: str) -> list[x509.Certificate]:
    """Return the issuing authorities in node.pem after the certificate of the node, and then the root.

    Raises:
        Unreadable: a text has another form.
    """
    parse_certificate(node, "node.pem")
    return [*x509.load_pem_x509_certificates(node.encode())[1:], parse_certificate(root, "ca.pem")]


def lifetime_findings(
    certificate: x509.Certificate, issuers: Sequence[x509.Certificate], expected: Expected
) -> Iterator[Judgement]:
    """Yield findings about the time until the expiry, and about the signatures of the authorities.

    Args:
        issuers: of the certificate first, the root last.
    """
    min_days = expected.limit_of(_MIN_DAYS)
    last, first = certificate.not_valid_after_utc, certificate.not_valid_before_utc
    today = expected.today
    now = datetime(today.year, today.month, today.day, 23, 59, 59, tzinfo=UTC)
    left = (last - now).days
    if first > now:
        yield failed("a certificate that is valid today", f"one from {first.date()}")
    if left < min_days:
        yield failed(f"a certificate for {min_days} days at least", f"one until {last.date()}")
    elif left < RENEW_BEFORE.days:
        yield warned(f"a certificate for {RENEW_BEFORE.days} days at least", f"one until {last.date()}")
    ends = min(issuer.not_valid_after_utc for issuer in issuers)
    if last > ends:
        yield failed(f"a certificate that ends before the root, {ends.date()}", str(last.date()))
    if not all(_is_issued_by(issued, issuer) for issued, issuer in pairwise([certificate, *issuers])):
        yield failed("a certificate of the site's authority", "another issuer or signature")


def _is_issued_by(issued: x509.Certificate, issuer: x509.Certificate) -> bool:
    try:
        issued.verify_directly_issued_by(issuer)
        return issuer.extensions.get_extension_for_class(x509.BasicConstraints).value.ca
    except (ValueError, TypeError, InvalidSignature, x509.ExtensionNotFound):
        return False
