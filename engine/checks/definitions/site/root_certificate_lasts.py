"""site.root-certificate-lasts: the root certificate outlives the certificates that it signs, by one year."""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date, timedelta

from cryptography import x509

from ....certificate_authority import LEAF_DAYS
from ....facts.unreadable import Unreadable
from ...model.check import Check, Expectation, Judgement, Method, Severity, failed, warned, worst
from ...model.check_context import CheckContext
from ...model.probe import Probe, ProbeOutput
from ...model.probe_sections import parse_sections

_REPLACEMENT_DAYS = 365


@dataclass(frozen=True, kw_only=True)
class Expected(Expectation):
    """The root certificate of the site's authority, in PEM.

    Args:
        file: absolute path.
        needed_until: last day of a certificate that is signed today; the check fails if the root ends before.
        wanted_until: one year later; the check warns if the root ends before.
    """

    file: str
    needed_until: date
    wanted_until: date


class RootCertificateLasts(Check[Expected]):
    id, version, method = "site.root-certificate-lasts", 1, Method.EXAMINE
    title = "the root certificate is valid one year longer than the certificates that it signs"
    controls = ("sc-12", "sc-17")
    severity = Severity.HIGH
    remedy = "create a new root certificate, and run `sovctl plan` and `sovctl apply`"

    def expect_controller(self, site: CheckContext) -> Iterator[Expected]:
        """Expect the root certificate in the site's state folder to be valid long enough."""
        needed = site.today + timedelta(days=LEAF_DAYS)
        yield Expected(
            file=site.controller.root_certificate,
            needed_until=needed,
            wanted_until=needed + timedelta(days=_REPLACEMENT_DAYS),
        )

    def probe(self, expected: Expected) -> Probe:
        """Print the root certificate, which is public."""
        return Probe.of(certificate=f"cat {shlex.quote(expected.file)}")

    def judge(self, output: ProbeOutput, expected: Expected) -> Judgement:
        """Fail if the root ends before `needed_until`, warn if it ends before `wanted_until`."""
        text = parse_sections(output).text("certificate")
        try:
            last = x509.load_pem_x509_certificate(text.encode()).not_valid_after_utc.date()
        except ValueError:
            raise Unreadable("a certificate in PEM", text, where=expected.file) from None
        if last < expected.needed_until:
            return failed(f"a root certificate until {expected.needed_until} at least", f"{last}: replace it now")
        if last < expected.wanted_until:
            return warned(f"a root certificate until {expected.wanted_until}", f"{last}: plan to replace it")
        return worst((), otherwise=f"expected a root certificate until {expected.wanted_until}, got {last}")
