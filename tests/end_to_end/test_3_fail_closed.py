"""The gateway on its node when its disk, its ledger or its vault fails: no answer, or only the pool; never out."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from lab_site import SENT, LabSite, wait_for

pytestmark = pytest.mark.lab

UNIT = "sovctl-gateway"
DATA = "/var/lib/sovctl/gateway"
LIMIT_S = 60.0
CLEAN = "What is the capital of France?"
# Holds the vault's write lock, as a stuck backup would, until it is told to let go.
LOCKER = (
    f"sudo systemd-run --quiet --collect --unit=test-locker python3 -c "
    f'\'import sqlite3, time; d = sqlite3.connect("{DATA}/vault.db", isolation_level=None); '
    f'd.execute("BEGIN IMMEDIATE"); print("locked", flush=True); time.sleep(120)\''
)


@pytest.fixture
def gateway(site: LabSite) -> Iterator[LabSite]:
    """The site; whatever was done to its gateway, a new one serves afterwards."""
    yield site
    site.on("s1", f"sudo systemctl restart {UNIT}")
    wait_for("the gateway to be ready", site.gateway_is_ready, limit_s=LIMIT_S)


def test_without_an_audit_record_nobody_is_answered_and_nothing_leaves(gateway: LabSite) -> None:
    """The running gateway may write no further byte into any file, as on a full disk."""
    before = gateway.captured()
    gateway.on("s1", f"sudo runuser -u {UNIT} -- prlimit --pid $(systemctl show -P MainPID {UNIT}) --fsize=1:")
    for model, text in (("assistant", CLEAN), ("assistant", SENT), ("private", CLEAN)):
        status, _, body = gateway.post(model, text)
        assert (status, body["error"]["code"]) == (503, "audit_unavailable")
    assert gateway.captured() == before


def test_a_gateway_that_may_not_write_its_ledger_does_not_open_its_door(gateway: LabSite) -> None:
    before = gateway.captured()
    with _broken(gateway, f"sudo mount --bind -o ro {DATA}/ledger {DATA}/ledger", f"sudo umount {DATA}/ledger"):
        gateway.on("s1", f"sudo systemctl restart --no-block {UNIT}")
        wait_for("the gateway to give up", lambda: _restarts(gateway) >= 1, limit_s=LIMIT_S)
        assert not gateway.gateway_is_ready()
    assert gateway.captured() == before


def test_what_the_vault_cannot_keep_is_served_on_prem(gateway: LabSite) -> None:
    before = gateway.captured()
    with _broken(gateway, LOCKER, "sudo systemctl stop test-locker"):
        wait_for(
            "the vault to be locked",
            lambda: "locked" in gateway.on("s1", "sudo journalctl --unit test-locker --output cat", accept=(0, 1)),
            limit_s=LIMIT_S,
        )
        assert gateway.chat("assistant", SENT, stream=False) == {"text": SENT, "route": "pool"}
    assert gateway.captured() == before


def test_a_vault_that_was_taken_away_keeps_everything_on_prem(gateway: LabSite) -> None:
    before = gateway.captured()
    with _broken(gateway, f"sudo mv {DATA}/vault.db {DATA}/taken", f"sudo mv {DATA}/taken {DATA}/vault.db"):
        assert gateway.chat("assistant", SENT, stream=False) == {"text": SENT, "route": "pool"}
    assert gateway.captured() == before


def test_once_mended_the_gateway_serves_as_before(site: LabSite) -> None:
    assert site.chat("assistant", SENT, stream=False) == {"text": SENT, "route": "cloud"}
    assert site.changes() == {}


@contextmanager
def _broken(site: LabSite, break_it: str, mend_it: str) -> Iterator[None]:
    site.on("s1", break_it)
    try:
        yield
    finally:
        site.on("s1", mend_it)


def _restarts(site: LabSite) -> int:
    return int(site.unit("s1", UNIT, "NRestarts"))
