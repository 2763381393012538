"""Parsers of ipmitool about the management controller: `mc info`, `lan print`, `user list` and the event log.

Sources: ipmitool 1.8.18 and 1.8.19, lib/ipmi_mc.c, ipmi_lanp.c, ipmi_user.c and ipmi_sel.c; IPMI 2.0 revision 1.1,
20.1 (device), 22.10 (authentication types), 22.15 (cipher suites), 31 (event log); read 2026-11-28.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import lru_cache
from ipaddress import IPv4Address, IPv4Interface

from ..numbers import integer
from ..unreadable import Unreadable

_ROW = re.compile(r"^(?P<name>\S.*?) *: ?(?P<value>.*)$")
_MORE = re.compile(r"^ +: ?(?P<value>.*)$")
_ENTRY = re.compile(r"^ *(?P<id>[0-9a-f]{1,4}) *\|(?P<rest>.*)$")
_TIMELESS = ("OEM record ", "Linux kernel panic")
_DATES = ("%m/%d/%Y %H:%M:%S", "%m/%d/%y %H:%M:%S")
_UNUSED = "X"
"""Letter of a cipher suite that no privilege level may use (ipmi_lanp.c)."""
_LEVELS = frozenset({"NO ACCESS", "CALLBACK", "USER", "OPERATOR", "ADMINISTRATOR", "OEM", "Unknown (0x00)"})
_BLOCK = re.compile(r"^## ", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class ManagementController:
    """The controller, as it describes itself.

    Args:
        firmware: revision, followed by the auxiliary revision in brackets if the controller states one.
        is_available: False during an update of its firmware.
    """

    firmware: str
    ipmi_version: str
    manufacturer: str
    product: str
    is_available: bool


@dataclass(frozen=True, slots=True)
class LanChannel:
    """A network channel of the controller.

    Args:
        address: with its mask; None if the channel has no address.
        authentications: types that are enabled for any privilege level.
        usable_suites: cipher suites of RMCP+ that a privilege level may use; None if the controller lists none.
    """

    number: int
    source: str
    address: IPv4Interface | None
    authentications: frozenset[str]
    usable_suites: frozenset[int] | None


@dataclass(frozen=True, slots=True)
class ControllerUser:
    """A user of a channel, without the name."""

    number: int
    has_name: bool
    may_send: bool
    level: str


@dataclass(frozen=True, slots=True)
class LogState:
    """The event log.

    Args:
        used_percent: None if the controller does not state it.
    """

    entries: int
    used_percent: int | None
    is_overflowed: bool


@dataclass(frozen=True, slots=True)
class LoggedEvent:
    """An entry of the event log.

    Args:
        time: None for an event before the controller knew the time.
    """

    number: int
    time: datetime | None
    sensor: str
    text: str
    is_asserted: bool


def parse_mc_info(text: str) -> ManagementController:
    """Parse `mc info`.

    Raises:
        Unreadable: a value is missing.
    """
    rows = _rows(text, "ipmitool mc info")
    try:
        auxiliary = " ".join(rows.get("Aux Firmware Rev Info", ())[1:])
        revision, available = rows["Firmware Revision"][0], rows["Device Available"][0]
        found = ManagementController(
            firmware=f"{revision} ({auxiliary})" if auxiliary else revision,
            ipmi_version=rows["IPMI Version"][0],
            manufacturer=rows["Manufacturer Name"][0],
            product=rows["Product ID"][0],
            is_available=available == "yes",
        )
    except KeyError as error:
        raise Unreadable(str(error).strip("'"), text, where="ipmitool mc info") from None
    if available not in ("yes", "no") or not revision:
        raise Unreadable("a revision, and yes or no", available, where="ipmitool mc info")
    return found


@lru_cache(maxsize=4)
def parse_lan_channels(text: str) -> tuple[LanChannel, ...]:
    """Parse blocks `## channel`, each with the output of `lan print`.

    Raises:
        Unreadable: no block, or a value is missing.
    """
    found = []
    for block in _BLOCK.split(text)[1:]:
        number, _, body = block.partition("\n")
        rows = _rows(body, "ipmitool lan print")
        try:
            address, mask = rows["IP Address"][0], rows["Subnet Mask"][0]
            enabled = [each.partition(":")[2].split() for each in rows["Auth Type Enable"]]
            found.append(
                LanChannel(
                    number=integer(number),
                    source=rows["IP Address Source"][0],
                    address=None if IPv4Address(address).is_unspecified else IPv4Interface(f"{address}/{mask}"),
                    authentications=frozenset(name for names in enabled for name in names),
                    usable_suites=_usable_suites(rows),
                )
            )
        except (KeyError, ValueError) as error:
            raise Unreadable("settings of a network channel", str(error), where="ipmitool lan print") from None
    if not found:
        raise Unreadable("a network channel", text, where="ipmitool lan print")
    return tuple(found)


def _usable_suites(rows: Mapping[str, list[str]]) -> frozenset[int] | None:
    """Return the suites that have a privilege level; letter n of the levels is that of suite n in the list."""
    listed, levels = rows.get("RMCP+ Cipher Suites", [""])[0], rows.get("Cipher Suite Priv Max", [""])[0]
    numbers = re.fullmatch(r"\d+(?:, ?\d+)*", listed)
    if numbers is None or not re.fullmatch(r"[XcuoaO]+", levels):
        return None
    suites = [integer(each) for each in listed.split(",")]
    if len(suites) > len(levels):
        raise ValueError(f"{len(levels)} privilege levels of {len(suites)} cipher suites")
    return frozenset(suite for suite, level in zip(suites, levels, strict=False) if level != _UNUSED)


def parse_users(text: str) -> tuple[ControllerUser, ...]:
    """Parse lines `user number,named|anonymous,callin,link,messages,level` of the blocks of `parse_lan_channels`.

    They are from `ipmitool -c user list`, without the names.

    Raises:
        Unreadable: no block, a block without a user, or a line of another form.
    """
    found: list[ControllerUser] = []
    for block in _BLOCK.split(text)[1:]:
        lines = [line.removeprefix("user ") for line in block.splitlines() if line.startswith("user ")]
        if not lines:
            raise Unreadable("users of each channel", block, where="ipmitool user list")
        found += map(_user, lines)
    if not found:
        raise Unreadable("users", text, where="ipmitool user list")
    return tuple(found)


def _user(line: str) -> ControllerUser:
    words = line.strip().split(",")
    if len(words) != 6 or not words[0].isdecimal() or words[1] not in ("named", "anonymous"):
        raise Unreadable("number, name, three rights and level of a user", line, where="ipmitool user list")
    if words[4] not in ("true", "false") or words[5] not in _LEVELS:
        raise Unreadable("true or false, and a privilege level", line, where="ipmitool user list")
    return ControllerUser(integer(words[0]), words[1] == "named", words[4] == "true", words[5])


def parse_sel_info(text: str) -> LogState:
    """Parse `sel info`.

    Raises:
        Unreadable: the number of entries or the overflow is missing.
    """
    rows = _rows(text, "ipmitool sel info")
    entries, overflow = rows.get("Entries", [""])[0], rows.get("Overflow", [""])[0]
    if not entries.isdecimal() or overflow not in ("true", "false"):
        raise Unreadable("entries and overflow", text, where="ipmitool sel info")
    used = re.fullmatch(r"(\d+)%", rows.get("Percent Used", [""])[0])
    return LogState(integer(entries), integer(used[1]) if used else None, overflow == "true")


def parse_sel_list(text: str) -> tuple[LoggedEvent, ...]:
    """Parse `sel elist` in UTC and the C locale, oldest first; empty without an entry.

    Raises:
        Unreadable: a line of another form.
    """
    found = []
    for line in text.splitlines():
        if not line.strip() or line.strip() == "SEL has no entries":
            continue
        match = _ENTRY.match(line)
        cells = [cell.strip() for cell in match["rest"].split("|")] if match else []
        if match is None or len(cells) < 2:
            raise Unreadable("number, date, time, sensor, event and direction", line, where="ipmitool sel elist")
        found.append(_event(integer(match["id"], 16), cells, line))
    return tuple(found)


def parse_sel_time(text: str) -> datetime:
    """Parse `sel time get` in UTC and the C locale.

    Raises:
        Unreadable: the text has another form.
    """
    day, _, time = text.strip().partition(" ")
    found = _time(day, time.strip())
    if found is None:
        raise Unreadable("a date and a time", text, where="ipmitool sel time get")
    return found


def _event(number: int, cells: list[str], line: str) -> LoggedEvent:
    """Return an entry. Entries of vendors have no direction, and some no time; a threshold follows the direction."""
    if cells[0].startswith(_TIMELESS):
        return LoggedEvent(number, None, cells[0], " | ".join(cells[1:]), is_asserted=True)
    if len(cells) > 3 and cells[2].startswith(_TIMELESS):
        return LoggedEvent(number, _time(*cells[:2]), cells[2], " | ".join(cells[3:]), is_asserted=True)
    at = next((at for at, cell in enumerate(cells) if at > 3 and cell in ("Asserted", "Deasserted")), None)
    if at is None:
        raise Unreadable("number, date, time, sensor, event and direction", line, where="ipmitool sel elist")
    words = " | ".join((*cells[3:at], *cells[at + 1 :]))
    return LoggedEvent(number, _time(*cells[:2]), cells[2], words, cells[at] == "Asserted")


def _time(day: str, time: str) -> datetime | None:
    if day.lower().replace(" ", "").startswith("pre-init"):
        return None
    for form in _DATES:
        try:
            return datetime.strptime(f"{day} {time.removesuffix(' UTC')}", form).replace(tzinfo=UTC)
        except ValueError:
            continue
    raise Unreadable("a date such as 11/28/2026 and a time", f"{day} {time}", where="ipmitool sel elist")


def _rows(text: str, where: str) -> dict[str, list[str]]:
    """Return the values by name; a name has several values if lines without a name follow.

    Raises:
        Unreadable: no line has a name and a value, or a name occurs twice.
    """
    rows: dict[str, list[str]] = {}
    last = ""
    for line in text.splitlines():
        if match := _MORE.match(line) or re.match(r"^ {4,}(?P<value>\S.*)$", line):
            rows.setdefault(last, []).append(match["value"].strip())
        elif match := _ROW.match(line):
            last = match["name"]
            if last in rows:
                raise Unreadable(f"{last} once", line, where=where)
            rows[last] = [match["value"].strip()]
    if not rows:
        raise Unreadable("names and values", text, where=where)
    return rows
