"""One specimen per entity type, with which `check` tests detector and policy.

Each is an example from public documentation (of its issuer, its standard or a registry), valid in form and not assigned
to a person.
`ORG` is missing: companies are found only from the site's own list or by its own models. `SPECIAL_CATEGORY` is missing:
it is found in whole requests. `CUSTOM` is missing: the site's recognizers have their own examples.

for kind, specimen in SPECIMENS.items():
    detector.find(f"Please check {specimen} for us.")
"""

from __future__ import annotations

from collections.abc import Mapping

from ..domain.entities import EntityType

SPECIMENS: Mapping[EntityType, str] = {
    EntityType.SECRET: "password: correct-horse",
    EntityType.IBAN: "DE89370400440532013000",
    EntityType.CARD: "4111 1111 1111 1111",
    EntityType.CRYPTO: "1A1zP1eP5QGefi2DMPTfTL5SLmv7DivfNa",  # of Bitcoin's first block
    EntityType.NATIONAL_ID: "44051401359",
    EntityType.HEALTH_ID: "NHS number 943 476 5919",
    EntityType.TAX_ID: "DE136695976",
    EntityType.PASSPORT: "passport no. C01X00T47",
    EntityType.DRIVING_LICENCE: "driving licence MORGA657054SM9IJ",
    EntityType.ACCOUNT: "CLABE 032180000118359719",
    EntityType.SWIFT: "BIC DEUTDEFF500",
    EntityType.VEHICLE: "1M8GDM9AXKP042788",
    EntityType.IMEI: "IMEI 490154203237518",
    EntityType.EMAIL: "anna@example.com",  # RFC 2606
    EntityType.PHONE: "+49 30 901820",
    EntityType.IP: "192.0.2.17",  # RFC 5737
    EntityType.MAC: "00:00:5E:00:53:01",  # RFC 7042
    EntityType.BIRTH_DATE: "her date of birth, 12 March 1971,",
    EntityType.ADDRESS: "10 Downing Street, London SW1A 2AA",
    EntityType.PERSON: "Mr. Ola Nordmann",
}
