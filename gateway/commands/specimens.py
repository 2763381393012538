"""One specimen a kind, so that `check` can try what the detector finds and what policy does with it.

Each is an example from public documentation (of its issuer, its standard or a registry), valid in form and nobody's.
`ORG` has none: companies are only found from the site's own list or by its own models.

    for kind, specimen in SPECIMENS.items():
        detector.find(f"Please check {specimen} for us.")
"""

from __future__ import annotations

from collections.abc import Mapping

from ..domain.entities import Kind

SPECIMENS: Mapping[Kind, str] = {
    Kind.SECRET: "password: correct-horse",
    Kind.IBAN: "DE89370400440532013000",
    Kind.CARD: "4111 1111 1111 1111",
    Kind.CRYPTO: "1A1zP1eP5QGefi2DMPTfTL5SLmv7DivfNa",  # of Bitcoin's first block
    Kind.NATIONAL_ID: "44051401359",
    Kind.HEALTH_ID: "NHS number 943 476 5919",
    Kind.TAX_ID: "DE136695976",
    Kind.PASSPORT: "passport no. C01X00T47",
    Kind.DRIVING_LICENCE: "driving licence MORGA657054SM9IJ",
    Kind.ACCOUNT: "CLABE 032180000118359719",
    Kind.SWIFT: "BIC DEUTDEFF500",
    Kind.VEHICLE: "1M8GDM9AXKP042788",
    Kind.IMEI: "IMEI 490154203237518",
    Kind.EMAIL: "anna@example.com",  # RFC 2606
    Kind.PHONE: "+49 30 901820",
    Kind.IP: "192.0.2.17",  # RFC 5737
    Kind.MAC: "00:00:5E:00:53:01",  # RFC 7042
    Kind.BIRTH_DATE: "her date of birth, 12 March 1971,",
    Kind.PERSON: "Mr. Ola Nordmann",
}
