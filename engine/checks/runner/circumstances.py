"""Circumstances of a run, which all its records state: actor, tool, clock, site.yaml and the last apply.

about = Circumstances.of(site)        # before the first probe, under the lock of the site
"""

from __future__ import annotations

import json
import os
import pwd
import re
import socket
import subprocess
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, distribution

from sovctl.compliance.evidence.layout import NONE
from sovctl.compliance.evidence.record import Actor, Clock, Tool
from sovctl.compliance.ledger.reader import LedgerReader
from sovctl.support.canonical_json import sha256_hex
from sovctl.support.errors import InputError
from sovctl.support.operator_name import operator_name

from ...facts.chrony import parse_tracking
from ...facts.unreadable import Unreadable
from ...plan import code_wheel
from ...site.site import Site
from ...site.state_folder import SiteState
from ..model.result import utc_now

_CLOCK_S = 5
"""Seconds for a command that reads the clock (guess, 2026-11; both answer from memory)."""
_UNIT_US = {"us": 1, "ms": 1_000, "s": 1_000_000, "min": 60_000_000}
_OFFSET = re.compile(r"^\s*Offset: (?P<value>[+-]?[\d.]+)(?P<unit>us|ms|s|min)$", re.MULTILINE)
_SERVER = re.compile(r"^\s*Server: (?P<name>.+)$", re.MULTILINE)


@dataclass(frozen=True)
class Circumstances:
    """Values that are equal in all records of a run.

    Args:
        plan_sha256: digest of the plan applied last, or `none`.
        apply_run: id of its apply, or `none`.
    """

    actor: Actor
    tool: Tool
    clock: Clock
    spec_sha256: str
    plan_sha256: str
    apply_run: str

    @classmethod
    def of(cls, site: Site, *, applied: tuple[str, str] | None = None) -> Circumstances:
        """Return the circumstances now.

        Args:
            applied: plan and run of an apply that is not finished; None: those of the last finished apply.

        Raises:
            InputError: sovctl is not an installed distribution.
        """
        plan_sha256, apply_run = applied or last_apply(site.state)
        return cls(actor(), tool(), controller_clock(), site.loaded.spec_sha256, plan_sha256, apply_run)


def actor() -> Actor:
    """Return the user, the account of the process, and the host; under sudo the user who called it."""
    return Actor(user=operator_name(), account=_account(), host=socket.gethostname())


def tool() -> Tool:
    """Return version and digest of the installed distribution.

    Raises:
        InputError: sovctl is not an installed distribution.
    """
    try:
        found = distribution("sovctl")
    except PackageNotFoundError:
        found = None
    record = found.read_text("RECORD") if found else None
    if found is None or not record:
        raise InputError(
            "sovctl has no installed distribution, so evidence cannot state its digest",
            hint="install sovctl from a bundle or with pip, and run it from there",
        )
    origin = json.loads(found.read_text("direct_url.json") or "{}")
    is_editable = bool(origin.get("dir_info", {}).get("editable"))
    return Tool(version=code_wheel.version(), record_sha256=sha256_hex(record), is_editable=is_editable)


def controller_clock() -> Clock:
    """Return the offset of the controller's clock, from chrony or systemd-timesyncd."""
    measured, reasons = utc_now(), []
    for name, command, parse in (
        ("chronyc tracking", ("chronyc", "-c", "tracking"), parse_chronyc),
        ("timedatectl timesync-status", ("timedatectl", "timesync-status"), parse_timedatectl),
    ):
        try:
            done = subprocess.run(
                command,
                capture_output=True,
                text=True,
                timeout=_CLOCK_S,
                check=True,
                env={**os.environ, "LC_ALL": "C"},
                stdin=subprocess.DEVNULL,
            )
            offset_us, source = parse(done.stdout)
        except FileNotFoundError:
            reasons.append(f"{name}: not installed")
        except (OSError, subprocess.SubprocessError, UnicodeDecodeError) as error:
            reasons.append(f"{name}: failed ({type(error).__name__})")
        except Unreadable:
            reasons.append(f"{name}: not synchronized")
        else:
            return Clock(measured=measured, offset_us=offset_us, source=f"{source}, by {name}")
    return Clock(measured=measured, offset_us="not measured", source="; ".join(reasons))


def parse_chronyc(text: str) -> tuple[int, str]:
    """Return offset and source from `chronyc -c tracking`; a positive offset is slow (chrony 4.5, client.c, format %O).

    Raises:
        Unreadable: another form, or no source is selected.
    """
    tracking = parse_tracking(text)
    if tracking.leap == "Not synchronised" or not tracking.reference:
        raise Unreadable("a selected source", tracking.leap, where="chronyc -c tracking")
    return round(tracking.offset_s * 1_000_000), tracking.reference


def parse_timedatectl(text: str) -> tuple[int, str]:
    """Return offset and source from `timedatectl timesync-status`; a positive offset is slow (RFC 5905, 8).

    Raises:
        Unreadable: another form, or no source answered.
    """
    offset, server = _OFFSET.search(text), _SERVER.search(text)
    if offset is None or server is None:
        raise Unreadable("an offset and a server", text, where="timedatectl timesync-status")
    return round(float(offset["value"]) * _UNIT_US[offset["unit"]]), server["name"].strip()


def last_apply(state: SiteState) -> tuple[str, str]:
    """Return plan digest and run id of the last apply that finished, from the site's ledger; `none` without one."""
    try:
        entries = LedgerReader(state.ledger).entries()
        finished = [entry.record for entry in entries if b'"apply-finished"' in entry.data]
    except InputError:
        return NONE, NONE
    found = [each for each in finished if each.get("type") == "apply-finished"]
    return (str(found[-1]["plan_sha256"]), str(found[-1]["run"])) if found else (NONE, NONE)


def _account() -> str:
    try:
        return pwd.getpwuid(os.geteuid()).pw_name
    except KeyError:
        return f"uid-{os.geteuid()}"
