"""Cases of the checks of retrieval."""

from __future__ import annotations

from check_cases.case import FAIL, UNKNOWN, Bad, Sample, lines

from sovctl.engine.checks.definitions.retrieval import client_certificate_required, database_rights
from sovctl.engine.checks.definitions.retrieval.database_rights import RIGHTS


def rights(*without: str, **states: str) -> str:
    """Lines of the program; a state by the last word of a right."""
    return "".join(
        f"{states.get(name.rpartition(' ')[2], 'passed')}  {name}\n" for name in RIGHTS if name not in without
    )


def doors(
    certificate: str = "http 200", no_certificate: str = "tls-alert", plain: str = "closed", search: str = "closed"
) -> str:
    """Answers of the service."""
    found = [("certificate", "/health", certificate), ("no-certificate", "/health", no_certificate)]
    found += [("plain", "/health", plain), ("no-certificate", "/v1/search", search)]
    found += [("no-certificate", path, "tls-alert") for path in ("/v1/documents", "/v1/directory", "/metrics")]
    return lines(*({"door": door, "path": path, "answer": answer} for door, path, answer in found))


SAMPLES = {
    "retrieval.database-rights": Sample(
        database_rights.Expected(rights=RIGHTS),
        {"rights": rights()},
        {
            "forged": Bad({"rights": rights(claim="failed")}, FAIL, "forged claim"),
            "selects": Bad({"rights": rights(table="failed")}, FAIL, "no right on a table"),
            "not-tested": Bad({"rights": rights(RIGHTS[3])}, UNKNOWN, RIGHTS[3]),
            "no-answer": Bad({"rights": ""}, UNKNOWN, "not tested"),
            "other-text": Bad({"rights": "error\n"}, UNKNOWN, "`passed` or `failed`"),
        },
        RIGHTS,
    ),
    "retrieval.client-certificate-required": Sample(
        client_certificate_required.Expected(address="10.77.0.21", port=8446),
        {"ways": doors()},
        {
            "open": Bad({"ways": doors(no_certificate="http 200")}, FAIL, "http 200"),
            "plain-http": Bad({"ways": doors(plain="http 404")}, FAIL, "plain"),
            "open-search": Bad({"ways": doors(search="http 401")}, FAIL, "/v1/search"),
            "nobody-home": Bad({"ways": doors(certificate="refused")}, UNKNOWN, "refused"),
        },
        ('"certificate"', '"plain"', "/v1/search", "/v1/documents", "/v1/directory", "/metrics"),
    ),
}
