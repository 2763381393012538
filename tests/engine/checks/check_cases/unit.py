"""Cases of the checks of units."""

from __future__ import annotations

from check_cases.case import FAIL, UNKNOWN, Bad, Sample

from sovctl.engine.checks.definitions.unit import _watched

EXPECTED = _watched.Expected(units=("chrony.service", "nftables.service"))


def unit(name: str, **changes: str) -> str:
    """The properties of a packaged unit."""
    values = {
        "Id": f"{name}.service",
        "LoadState": "loaded",
        "ActiveState": "active",
        "SubState": "running",
        "UnitFileState": "enabled",
        "FragmentPath": f"/lib/systemd/system/{name}.service",
        "DropInPaths": "",
        "NeedDaemonReload": "no",
    }
    return "".join(f"{key}={value}\n" for key, value in (values | changes).items())


def units(**changes: str) -> dict[str, str]:
    """Two units; the second one has the changes."""
    return {"units": f"{unit('chrony')}\n{unit('nftables', **changes)}"}


OVERRIDE = "/etc/systemd/system/nftables.service.d/override.conf"
ESSENTIAL = ("LoadState", "ActiveState", "UnitFileState", "FragmentPath", "DropInPaths", "NeedDaemonReload", "Id=")

SAMPLES = {
    "unit.no-foreign-drop-ins": Sample(
        EXPECTED,
        units(),
        {
            "override": Bad(units(DropInPaths=OVERRIDE), FAIL, OVERRIDE),
            "replaced": Bad(units(FragmentPath="/run/systemd/system/nftables.service"), FAIL, "/run/systemd"),
            "masked": Bad(units(LoadState="masked", UnitFileState="masked"), FAIL, "masked"),
            "unread": Bad(units(NeedDaemonReload="yes"), FAIL, "has not read"),
            "one-of-two": Bad({"units": unit("chrony")}, UNKNOWN, "2 units"),
        },
        ESSENTIAL,
    ),
    "unit.none-failed": Sample(
        EXPECTED,
        units(),
        {
            "failed": Bad(units(ActiveState="failed"), FAIL, "nftables.service not failed"),
            "unloadable": Bad(units(LoadState="bad-setting", ActiveState="inactive"), FAIL, "bad-setting"),
            "unknown-word": Bad(units(ActiveState="dreaming"), UNKNOWN, "dreaming"),
        },
        ESSENTIAL,
    ),
}
