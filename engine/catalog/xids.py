"""Xid codes of the NVIDIA driver: which action NVIDIA documents for each code, by branch of the driver.

    xid_policy(79, 580, "GPU has fallen off the bus.")      # "RESTART_BM"
    xid_verdict("RESTART_BM")                               # "FAIL"

- Codes 144 to 150 (NVLink 5) are decoded from the registers in the message, whose layout changed in driver 575.
- Code 154 reports the recovery action in its text.
- A code or a message without a documented action is `UNDOCUMENTED`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache
from types import MappingProxyType
from typing import Literal

from .figure import CatalogModel, Figure, Kind, read_catalog

UNDOCUMENTED = "UNDOCUMENTED"
READ_154 = "READ_154"
"""Action of an NVLink 5 message whose consequence only the Xid 154 after it states."""
RECOVERY_ACTION_CHANGED = 154
_REGISTERS = re.compile(r"\((0x[0-9a-fA-F]{8}(?: 0x[0-9a-fA-F]{8})+)\)")
_CHANGED_TO = re.compile(r" to 0x[0-9a-fA-F]+ \(([^)]+)\)")


class NvlinkRule(CatalogModel):
    """Decoding of one NVLink 5 error; patterns of 32 bits, most significant first, "-" for any."""

    unit: str
    before_575: str
    from_575: str
    status: tuple[str, ...]
    action: str

    def matches(self, interrupt: int, status: int, *, is_new_layout: bool) -> bool:
        """Return whether the rule describes these registers."""
        pattern = self.from_575 if is_new_layout else self.before_575
        bits = f"{interrupt:032b}"
        if any(want not in ("-", bit) for want, bit in zip(pattern, bits, strict=True)):
            return False
        return not self.status or status in {int(word, 16) for word in self.status}


class XidCatalog(CatalogModel):
    """The whole catalogue."""

    source: str
    kind: Kind
    register_layout_changed: Figure
    verdicts: Mapping[str, Literal["PASS", "WARN", "FAIL"]]
    recovery_actions: Mapping[str, str]
    actions: Mapping[str, tuple[int, ...]]
    nvlink5: Mapping[int, tuple[NvlinkRule, ...]]


@cache
def load_xids() -> XidCatalog:
    """Return the catalogue."""
    content = read_catalog("xids")
    return XidCatalog.model_validate({name: value for name, value in content.items() if name != "read"})


@cache
def _action_by_code() -> Mapping[int, str]:
    return MappingProxyType({code: action for action, codes in load_xids().actions.items() for code in codes})


def xid_policy(code: int, branch: int, text: str) -> str:
    """Return the action of a message; `UNDOCUMENTED` if it is not documented.

    Args:
        branch: of the driver, such as 580.
        text: the message after the code.
    """
    if code == RECOVERY_ACTION_CHANGED:
        found = _CHANGED_TO.search(text)
        return load_xids().recovery_actions.get(found[1], UNDOCUMENTED) if found else UNDOCUMENTED
    if rules := load_xids().nvlink5.get(code):
        return _decode(rules, branch, text)
    return _action_by_code().get(code, UNDOCUMENTED)


def xid_verdict(action: str) -> Literal["PASS", "WARN", "FAIL"] | None:
    """Return the effect of an action on a check; None if it is not known."""
    return load_xids().verdicts.get(action)


def _decode(rules: tuple[NvlinkRule, ...], branch: int, text: str) -> str:
    match = _REGISTERS.search(text)
    if match is None:
        return UNDOCUMENTED
    interrupt, status, *_ = (int(word, 16) for word in match[1].split())
    changed = load_xids().register_layout_changed.value
    is_new_layout = isinstance(changed, int) and branch >= changed
    unit = text.split()[0]
    found = [
        rule.action
        for rule in rules
        if unit in rule.unit.split("/")[0] and rule.matches(interrupt, status, is_new_layout=is_new_layout)
    ]
    return found[0] if len(set(found)) == 1 else UNDOCUMENTED
