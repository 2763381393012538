"""Records of bootstrap actions in the site's ledger.

A record is not left for another writer of the ledger, because a writer accepts only some types of left records.
"""

from __future__ import annotations

from datetime import UTC, datetime

from sovctl.compliance.ledger.store import Ledger
from sovctl.compliance.signing import load_or_create
from sovctl.support.operator_name import operator_name

from ..site.site import Site

Value = str | int | None | list[str]


def record(site: Site, kind: str, **values: Value) -> None:
    """Append a record with time, operator and site; the ledger is created if absent.

    Args:
        kind: of `RECORD_TYPES`.

    Raises:
        Busy: another process writes the ledger; nothing was recorded.
        LedgerDamaged, LedgerUnwritable: nothing was recorded.
    """
    name = site.spec.site.name
    head: dict[str, Value] = {"type": kind, "time": f"{datetime.now(UTC):%Y-%m-%dT%H:%M:%SZ}"}
    head |= {"operator": operator_name(), "site": name}
    key = load_or_create(site.state.prepare().keys / "ledger.key")
    with Ledger.open(site.state.ledger, origin=f"sovctl.{name}/site", key=key) as ledger:
        ledger.append([{**head, **values}])
