"""Checks that TUF cannot make: audience, sequence, first import, and the clock.

TUF trusts the clock and remembers nothing before its first refresh. A fresh site therefore needs the sequence and the
root from a second channel, such as a telephone call. The clock must not be earlier than any signed or recorded time.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from sovctl import __released__
from sovctl.support.errors import InputError

from ..trust import Refused, Verified
from .history import History, State

_SKEW = timedelta(minutes=5)  # between the clocks of builder and site; Kerberos has the same default (RFC 4120, 8.2)


@dataclass(frozen=True)
class Expected:
    """Values from a second channel.

    Args:
        sequence: of the bundle; None if not given.
        root_sha256: of the first root; None if not given.
    """

    sequence: int | None = None
    root_sha256: str | None = None


def check_clock(history: History, *, now: datetime, created: datetime | None = None) -> None:
    """Check that the clock is not earlier than the newest known time.

    Args:
        created: time of the bundle; None before it is known.

    Raises:
        Refused: the clock is earlier.
    """
    known = [
        (datetime.fromisoformat(__released__).replace(tzinfo=UTC), "the release of this sovctl"),
        (history.newest_time, "the newest record of the site's ledger"),
        *((_created(each.opened), f"bundle {each.sequence}") for each in history.bundles.values()),
    ]
    if created is not None:
        known.append((created, "the bundle"))
    floor, source = max(known)
    if now + _SKEW < floor:
        raise Refused(
            f"the clock is wrong: it is {now:%Y-%m-%d %H:%M} UTC, but {source} is of {floor:%Y-%m-%d %H:%M} UTC",
            hint="set the clock, then repeat the command",
        )


def trusted_root(history: History, expected: Expected) -> str:
    """Return the digest of the root from which media are verified.

    Raises:
        InputError: the first import without values of a second channel.
    """
    if (newest := history.newest) is not None:
        return str(newest.opened["root_sha256"])
    if expected.sequence is None or expected.root_sha256 is None:
        raise InputError(
            "the first import of a site needs --expect-sequence and --expect-root",
            hint="get the sequence by telephone from the builder, and the root's words from the paper of the ceremony",
        )
    return expected.root_sha256


def check(bundle: Verified, history: History, expected: Expected, *, site: str) -> None:
    """Check audience and sequence.

    Raises:
        Refused: another site, an older or different bundle, or a rejected one.
    """
    manifest = bundle.manifest
    if manifest.site != site:
        raise Refused(f"the bundle is for site {manifest.site!r}, this site is {site!r}", hint="use the site's media")
    if expected.sequence is not None and manifest.sequence != expected.sequence:
        raise Refused(
            f"expected sequence {expected.sequence}, got {manifest.sequence}",
            hint="the builder named another bundle; use the newest media",
        )
    newest = history.newest
    if newest is None:
        return
    if manifest.sequence < newest.sequence:
        raise Refused(
            f"rollback: the site has accepted sequence {newest.sequence}, this bundle has {manifest.sequence}",
            hint="use the newest media",
        )
    if manifest.sequence == newest.sequence and bundle.id != newest.id:
        raise Refused(f"the site has another bundle with sequence {manifest.sequence}", hint="build a new bundle")
    if bundle.id == newest.id and newest.state is State.REJECTED:
        raise Refused(f"bundle {bundle.id} was rejected", hint="build a new bundle")


def _created(record: object) -> datetime:
    assert isinstance(record, dict)
    return datetime.fromisoformat(str(record["created"]))
