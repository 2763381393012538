"""Cases of the checks of certificates. The certificates are made for the run."""

from __future__ import annotations

import tempfile
from datetime import UTC, date, datetime, timedelta
from ipaddress import IPv4Address
from pathlib import Path

from check_cases.case import FAIL, UNKNOWN, WARN, Bad, Sample

from sovctl.engine.certificate_authority import LEAF_DAYS, Authority
from sovctl.engine.checks.definitions.certificate import _certificates, key_fits

DAY = datetime(2026, 11, 21, tzinfo=UTC)


def issued(day: datetime) -> tuple[str, str]:
    """Authority and certificate of a new site, as of a day."""
    with tempfile.TemporaryDirectory() as folder:
        authority = Authority(Path(folder), "cases")
        certificate, _ = authority.issue("n1", IPv4Address("10.77.0.11"), now=day)
        return authority.certificate_file.read_text(), certificate.read_text()


ROOT, NODE = issued(DAY)
OTHER_ROOT, OTHER_NODE = issued(DAY)
OLD_ROOT, OLD_NODE = issued(DAY - timedelta(days=LEAF_DAYS - 3))
AGED_ROOT, AGED_NODE = issued(DAY - timedelta(days=LEAF_DAYS - 20))
FILES = {"certificate": NODE, "authority": ROOT}
SERVED = {"served": NODE, **FILES}
EXPECTED = _certificates.Expected(today=date(2026, 11, 21), address="10.77.0.11", port=8000)
LIFETIMES = {
    "three-days-left": Bad({"certificate": OLD_NODE, "authority": OLD_ROOT}, FAIL, "for 7 days"),
    "twenty-days-left": Bad({"certificate": AGED_NODE, "authority": AGED_ROOT}, WARN, "for 30 days"),
    "other-authority": Bad({"authority": OTHER_ROOT}, FAIL, "another issuer or signature"),
    "no-certificate": Bad({"certificate": "none\n"}, UNKNOWN, "in PEM"),
}
PRESENTED = {
    "not-yet-read": Bad({"served": OTHER_NODE, "authority": OTHER_ROOT}, FAIL, "has not read the file"),
    "other-authority": Bad({"served": OTHER_NODE}, FAIL, "another issuer or signature"),
    "no-answer": Bad({"served": (1, "")}, UNKNOWN, "exit code 0 of served"),
}

SAMPLES = {
    "certificate.node-lasts": Sample(EXPECTED, FILES, LIFETIMES, ("BEGIN",)),
    "certificate.gateway-lasts": Sample(EXPECTED, SERVED, PRESENTED, ("BEGIN",)),
    "certificate.pool-lasts": Sample(EXPECTED, SERVED, PRESENTED, ("BEGIN",)),
    "certificate.key-fits": Sample(
        key_fits.Expected(),
        {"pair": "fits\n"},
        {
            "other-key": Bad({"pair": "differs KEY_VALUES_MISMATCH\n"}, FAIL, "KEY_VALUES_MISMATCH"),
            "garbled": Bad({"pair": "maybe\n"}, UNKNOWN, "fits or differs"),
        },
        ("fits",),
    ),
}
