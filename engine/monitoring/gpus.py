"""Alerts of GPUs and NVLink, from metrics of the DCGM exporter. Not run on real GPUs.

`DCGM_FI_DEV_XID_ERRORS` is a gauge of the last code: it remains after the event, and a series that begins with a code
has no change. Therefore two alerts read it by changes, and two read the counts of `DCGM_EXP_XID_ERRORS_COUNT`.
"""

from __future__ import annotations

from collections.abc import Iterable

from ..catalog.check_limits import limit
from ..catalog.xids import load_xids
from .labels import ON_GPU
from .rule import Alert, Group, Severity

_XID, _XID_COUNT = "DCGM_FI_DEV_XID_ERRORS", "DCGM_EXP_XID_ERRORS_COUNT"


def gpu_group() -> Group:
    """Return the alerts of GPUs; the catalogue of Xid codes gives the severity of a code."""
    fatal, ignored = _codes("FAIL"), _codes("PASS")
    changed = f"changes({_XID}[10m]) > 0 and {_XID} > 0"
    return Group(
        "sovctl-gpus",
        (
            Alert(
                "SovctlGpuXidFatal",
                f"({changed}) and ({_is_one_of(fatal)})",
                Severity.CRITICAL,
                f"{ON_GPU} reported Xid {{{{ $value }}}}, which requires a reset, a restart or support.",
            ),
            Alert(
                "SovctlGpuXid",
                f"({changed}) unless ({_is_one_of([*fatal, *ignored])})",
                Severity.WARNING,
                f"{ON_GPU} reported Xid {{{{ $value }}}}.",
            ),
            Alert(
                "SovctlGpuXidFatalCounted",
                f'{_XID_COUNT}{{xid=~"{_pattern(fatal)}"}} > 0',
                Severity.CRITICAL,
                f"{ON_GPU} counts Xid {{{{ $labels.xid }}}}, which requires a reset, a restart or support.",
            ),
            Alert(
                "SovctlGpuXidCounted",
                f'{_XID_COUNT}{{xid!~"{_pattern([*fatal, *ignored])}"}} > 0',
                Severity.WARNING,
                f"{ON_GPU} counts Xid {{{{ $labels.xid }}}}.",
            ),
            *_MEMORY,
            *_links(),
        ),
    )


_MEMORY = (
    Alert(
        "SovctlGpuDoubleBitErrors",
        "increase(DCGM_FI_DEV_ECC_DBE_VOL_TOTAL[15m]) > 0",
        Severity.CRITICAL,
        f"Memory of {ON_GPU} has uncorrectable errors.",
    ),
    Alert(
        "SovctlGpuRowRemapFailed",
        "DCGM_FI_DEV_ROW_REMAP_FAILURE > 0",
        Severity.CRITICAL,
        f"{ON_GPU} could not replace a memory row.",
    ),
    Alert(
        "SovctlGpuRowsRemapped",
        "increase(DCGM_FI_DEV_UNCORRECTABLE_REMAPPED_ROWS[1h]) > 0",
        Severity.WARNING,
        f"{ON_GPU} replaced memory rows after uncorrectable errors.",
    ),
)


def _links() -> tuple[Alert, ...]:
    replays, recoveries = limit("bus.replay-rate.most-a-minute"), limit("nvlink.no-flapping.recoveries-a-day")
    return (
        Alert(
            "SovctlNvlinkCrcErrors",
            "increase(DCGM_FI_DEV_NVLINK_CRC_FLIT_ERROR_COUNT_TOTAL[15m]) > 0"
            " or increase(DCGM_FI_DEV_NVLINK_CRC_DATA_ERROR_COUNT_TOTAL[15m]) > 0",
            Severity.WARNING,
            f"NVLink of {ON_GPU} has CRC errors.",
        ),
        Alert(
            "SovctlNvlinkRecoveries",
            f"increase(DCGM_FI_DEV_NVLINK_RECOVERY_ERROR_COUNT_TOTAL[1d]) > {recoveries}",
            Severity.CRITICAL,
            f"NVLink of {ON_GPU} recovered more than {recoveries} times in a day.",
        ),
        Alert(
            "SovctlGpuPcieReplays",
            f"rate(DCGM_FI_DEV_PCIE_REPLAY_COUNTER[15m]) * 60 > {replays}",
            Severity.CRITICAL,
            f"The PCIe link of {ON_GPU} repeats more than {replays} packets a minute.",
        ),
    )


def _codes(verdict: str) -> list[int]:
    """Codes whose action has this verdict, in ascending order."""
    catalog = load_xids()
    return sorted(
        code for action, codes in catalog.actions.items() if catalog.verdicts[action] == verdict for code in codes
    )


def _is_one_of(codes: Iterable[int]) -> str:
    return " or ".join(f"{_XID} == {code}" for code in codes)


def _pattern(codes: Iterable[int]) -> str:
    return "|".join(map(str, codes))
