"""Cases of the checks of site."""

from __future__ import annotations

import json
from datetime import UTC, date, datetime
from pathlib import Path
from tempfile import TemporaryDirectory

from check_cases.case import FAIL, NOT_APPLICABLE, UNKNOWN, WARN, Bad, Sample
from check_cases.gateway import SAMPLES as GATEWAY_SAMPLES

from sovctl.engine.certificate_authority import Authority
from sovctl.engine.checks.definitions.site import imports_approved, keys_private, root_certificate_lasts
from sovctl.engine.checks.definitions.site.keys_private import GROUP_MAY_READ, PrivateFile


def root_certificate(year: int) -> str:
    """As `apply` makes it in the middle of that year."""
    with TemporaryDirectory() as folder:
        authority = Authority(Path(folder), "example")
        authority.ensure(now=datetime(year, 7, 1, tzinfo=UTC))
        return authority.certificate_file.read_text()


_BUNDLE = {
    "bundle": "1-abc",
    "sequence": 1,
    "state": "published",
    "states": ["opened", "received", "verified", "scanned", "approved", "published"],
    "created": "2026-11-01T00:00:00Z",
    "signers": ["a", "b"],
    "importer": "anna",
    "importer_keyid": "k1",
    "approver": "ben",
    "approver_keyid": "k2",
    "scanner": "ClamAV 1.4.3",
    "accepted_by": None,
    "published": "2026-11-02T00:00:00Z",
    "files": 3,
}


def imports(**changed: object) -> dict[str, str]:
    """Two bundles; the second one has other values, or is absent for `absent`."""
    rejected = {**_BUNDLE, "sequence": 2, "state": "rejected", "states": ["opened", "rejected"], "published": None}
    return {"imports": json.dumps({"bundles": [rejected, {**_BUNDLE, **changed}]})}


SAMPLES = {
    "site.imports-approved": Sample(
        imports_approved.Expected(program="/bin/sovctl", site_file="/site.yaml", state="/state"),
        imports(),
        {
            "none": Bad({"imports": json.dumps({"bundles": []})}, NOT_APPLICABLE, "none in the ledger"),
            "not-approved": Bad(
                imports(states=["opened", "received", "verified", "scanned", "published"]), FAIL, "approved before"
            ),
            "not-scanned": Bad(
                imports(states=["opened", "received", "verified", "approved", "published"]), FAIL, "scanned before"
            ),
            "one-key": Bad(imports(approver_keyid="k1"), FAIL, "anna in both roles"),
            "one-person": Bad(imports(approver="anna"), FAIL, "anna in both roles"),
            "no-approver": Bad(imports(approver_keyid=None), UNKNOWN, "keys of importer and approver"),
            "no-scanner": Bad(imports(scanner="none", accepted_by="office"), WARN, "accepted by office"),
            "incomplete": Bad(imports(files=None), UNKNOWN, "import status --json"),
            "another-document": Bad({"imports": "{}"}, UNKNOWN, "import status --json"),
        },
    ),
    "site.keys-private": Sample(
        keys_private.Expected(
            files=(
                PrivateFile("/etc/sovctl/tls/node.key", GROUP_MAY_READ, owner=0),
                PrivateFile("/etc/sovctl/secrets/vault.kek", owner=964),
            )
        ),
        {"self": "0\n", "files": "640 0 /etc/sovctl/tls/node.key\n600 964 /etc/sovctl/secrets/vault.kek\n600 0 /k/x\n"},
        {
            "for-all": Bad({"files": "644 0 /etc/sovctl/tls/node.key\n"}, FAIL, "mode 0644"),
            "group-may-write": Bad({"files": "660 0 /etc/sovctl/tls/node.key\n"}, FAIL, "mode 0660"),
            "group-may-read": Bad({"files": "640 964 /etc/sovctl/secrets/vault.kek\n"}, FAIL, "mode 0640"),
            "another-owner": Bad({"files": "640 1000 /etc/sovctl/tls/node.key\n"}, FAIL, "user 1000"),
            "absent": Bad(
                {"files": "absent - /etc/sovctl/tls/node.key\n600 964 /etc/sovctl/secrets/vault.kek\n"},
                UNKNOWN,
                "no such file",
            ),
        },
        ("/etc/sovctl/tls/node.key", "/etc/sovctl/secrets/vault.kek"),
    ),
    "site.root-certificate-lasts": Sample(
        root_certificate_lasts.Expected(
            file="/s/pki/ca.pem", needed_until=date(2027, 12, 24), wanted_until=date(2028, 12, 23)
        ),
        {"certificate": root_certificate(2026)},
        {
            "last-year": Bad({"certificate": root_certificate(2017)}, FAIL, "replace it now"),
            "last-but-one": Bad({"certificate": root_certificate(2018)}, WARN, "plan to replace it"),
            "key": Bad(
                {"certificate": "-----BEGIN PRIVATE KEY-----\nx\n-----END PRIVATE KEY-----\n"}, UNKNOWN, "in PEM"
            ),
        },
        ("BEGIN CERTIFICATE", "END CERTIFICATE"),
    ),
    "site.ledger-verifies": GATEWAY_SAMPLES["gateway.ledger-verifies"],
}
