"""Cases of the checks of gateway."""

from __future__ import annotations

import json

from check_cases.case import FAIL, UNKNOWN, Bad, Sample, lines

from sovctl.engine.checks.definitions.gateway import _gateway_check, only_tokens_leave
from sovctl.engine.checks.probes import ledger_check
from sovctl.engine.spec.types import Secret

GATEWAY = _gateway_check.Expected(
    url="https://10.77.0.21:8443",
    models=("assistant", "private"),
    tasks=("chat", "chat"),
    cloud_model="assistant",
    key=Secret(file="key"),
)


def chats(**changes: object) -> str:
    """What `ask chat` prints; `changes` are to the answer of `private`."""
    good = {"status": 200, "request_id": "r-1", "has_answer": True, "latency_ms": 12}
    return lines(
        {"model": "assistant", "route": "cloud", **good}, {"model": "private", "route": "pool", **good, **changes}
    )


def knocks(**status: int) -> str:
    """What `ask unauthenticated` prints."""
    cases = {"healthz": 200, "no key": 401, "wrong key": 401, "models without key": 401}
    cases |= {name.replace("_", " "): code for name, code in status.items()}
    return lines(*({"case": name, "status": code} for name, code in cases.items()))


def sealed(**changes: object) -> str:
    """What `ask sealed_values` prints."""
    good = {"status": 200, "route": "cloud", "rows_before": 4, "rows_after": 7, "copies": 0, "open_files": []}
    return lines({**good, **changes})


def recorded(**changes: object) -> str:
    """What `ask record` prints."""
    good = {"status": 200, "request_id": "r-7", "records": {"gateway.request": 1, "gateway.answer": 1}, "texts": 0}
    return lines({**good, **changes})


def ledger(**changes: object) -> str:
    """What `sovctl audit verify --json` prints."""
    good = {"is_whole": True, "origin": "sovctl.lab/site", "entries": 60, "signed_size": 60, "findings": []}
    return json.dumps({"facts": [], "findings": [], "ledger": {**good, **changes}}, indent=2)


def self_check(**leaving: str) -> str:
    """What the gateway's `check --json` prints."""
    return json.dumps([{"check": "keys", "verdict": "PASS", "detail": "ok"}, {"check": "leaving", **leaving}])


SAMPLES = {
    "gateway.answers": Sample(
        GATEWAY,
        {"ask": chats()},
        {
            "refused": Bad({"ask": chats(status=503, has_answer=False)}, FAIL, "status 503 and no complete answer"),
            "empty": Bad({"ask": chats(has_answer=False)}, FAIL, "no complete answer"),
            "no-answer": Bad({"ask": lines({"error": "ConnectionRefusedError"})}, UNKNOWN, "ConnectionRefusedError"),
        },
        ("assistant", "private"),
    ),
    "gateway.rejects-without-key": Sample(
        GATEWAY,
        {"ask": knocks()},
        {
            "lets-in": Bad({"ask": knocks(no_key=200)}, FAIL, "401 with no key, got 200"),
            "lets-guess": Bad({"ask": knocks(wrong_key=200)}, FAIL, "wrong key"),
            "down": Bad({"ask": knocks(healthz=503)}, UNKNOWN, "/healthz"),
        },
        ("healthz", "no key", "wrong key", "models without key"),
    ),
    "gateway.vault-encrypted": Sample(
        GATEWAY,
        {"ask": sealed()},
        {
            "readable": Bad({"ask": sealed(copies=2)}, FAIL, "got 2"),
            "nothing-stored": Bad({"ask": sealed(rows_after=4)}, UNKNOWN, "more than 4 rows"),
            "stayed-here": Bad({"ask": sealed(route="pool")}, UNKNOWN, "no value was encrypted"),
            "open-file": Bad(
                {"ask": sealed(open_files=["/var/lib/sovctl/gateway/vault.db"])}, FAIL, "not readable for other users"
            ),
        },
        ("rows_after",),
    ),
    "gateway.ledger-verifies": Sample(
        ledger_check.Expected(
            program="/opt/sovctl/gateway/bin/sovctl", directory="/var/lib/x", origin="sovctl.lab/site"
        ),
        {"verify": ledger()},
        {
            "cut": Bad({"verify": (1, ledger(is_whole=False, findings=[{"kind": "cut-tail"}]))}, FAIL, "cut-tail"),
            "another-log": Bad({"verify": ledger(origin="sovctl.other/site")}, FAIL, "sovctl.other/site"),
            "empty": Bad({"verify": ledger(entries=0, signed_size=0)}, UNKNOWN, "0 entries"),
            "disagrees": Bad({"verify": (1, ledger())}, UNKNOWN, "exit code 0"),
        },
        ("is_whole", "origin", "entries", "signed_size"),
    ),
    "gateway.audit-record-per-request": Sample(
        GATEWAY,
        {"ask": recorded()},
        {
            "none": Bad({"ask": recorded(records={})}, FAIL, "gateway.request of the request, got 0"),
            "twice": Bad({"ask": recorded(records={"gateway.request": 2, "gateway.answer": 1})}, FAIL, "got 2"),
            "half": Bad(
                {"ask": recorded(records={"gateway.request": 1})}, FAIL, "gateway.answer of the request, got 0"
            ),
            "text": Bad({"ask": recorded(texts=1)}, FAIL, "1 entries with the text"),
            "not-counted": Bad({"ask": recorded(texts=None)}, UNKNOWN, "counts"),
            "no-id": Bad({"ask": recorded(request_id=None)}, UNKNOWN, "with an id"),
        },
        ("records",),
    ),
    "gateway.only-tokens-leave": Sample(
        only_tokens_leave.Expected(config="/etc/sovctl/gateway.yaml"),
        {"check": self_check(verdict="PASS", detail="EMAIL, IBAN leave as tokens; PERSON leave not at all")},
        {
            "value-leaves": Bad(
                {"check": self_check(verdict="FAIL", detail="expected a token for IBAN")}, FAIL, "IBAN"
            ),
            "not-tried": Bad(
                {"check": self_check(verdict="UNKNOWN", detail="the check itself failed")}, UNKNOWN, "itself"
            ),
        },
        ("verdict",),
    ),
}
