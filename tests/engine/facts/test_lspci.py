"""lspci -vvv: ACS and downgraded links count only on the path above a device."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sovctl.engine.facts.hardware.lspci import parse_lspci
from sovctl.engine.facts.unreadable import Unreadable

TEXT = """\
00:0c.0 PCI bridge: Example Port
\tNUMA node: 0
\tBus: primary=00, secondary=01, subordinate=01, sec-latency=0
\t\tLnkSta:\tSpeed 5GT/s (downgraded), Width x1 (ok)
\t\tACSCtl:\tSrcValid+ TransBlk- ReqRedir- CmpltRedir- UpstreamFwd- EgressCtrl- DirectTrans-

15:01.0 PCI bridge: Example Root
\tNUMA node: 0
\tBus: primary=15, secondary=16, subordinate=1a, sec-latency=0
\t\tLnkSta:\tSpeed 32GT/s (ok), Width x16 (ok)
\t\tACSCtl:\tSrcValid- TransBlk- ReqRedir- CmpltRedir- UpstreamFwd- EgressCtrl- DirectTrans-

16:00.0 PCI bridge: Example Switch
\tNUMA node: 0
\tBus: primary=16, secondary=17, subordinate=18, sec-latency=0
\t\tLnkSta:\tSpeed 32GT/s (ok), Width x16 (ok)
\t\tACSCtl:\tSrcValid- TransBlk- ReqRedir- CmpltRedir- UpstreamFwd- EgressCtrl- DirectTrans-

18:00.0 3D controller: Example GPU
\tNUMA node: 0
\t\tLnkSta:\tSpeed 32GT/s (ok), Width x16 (ok)
"""


def test_the_path_begins_with_the_nearest_bridge() -> None:
    tree = parse_lspci(TEXT)
    assert [each.address for each in tree.path("18:00.0")] == ["16:00.0", "15:01.0"]
    assert tree.redirecting("18:00.0") == ()
    assert tree.devices["00:0c.0"].is_downgraded


def test_acs_on_the_path_is_found() -> None:
    tree = parse_lspci(
        TEXT.replace("ReqRedir- CmpltRedir- UpstreamFwd- EgressCtrl- DirectTrans-\n\n18", "ReqRedir+ CmpltRedir+\n\n18")
    )
    assert [each.address for each in tree.redirecting("18:00.0")] == ["16:00.0"]


@pytest.mark.parametrize("text", ["", "lspci: Cannot open /proc/bus/pci\n", "18:00.0 3D controller: GPU\n"])
def test_text_without_links_is_refused(text: str) -> None:
    with pytest.raises(Unreadable):
        parse_lspci(text)


@given(data=st.data())
def test_changed_text_is_read_or_refused(data: st.DataObject) -> None:
    at = data.draw(st.integers(0, len(TEXT) - 1))
    try:
        parse_lspci(TEXT[:at] + data.draw(st.text(max_size=8)) + TEXT[at + data.draw(st.integers(0, 30)) :])
    except Unreadable:
        return


@pytest.mark.shared
def test_the_healthy_xe9680_has_acs_only_off_the_paths_of_gpus_and_adapters(captures: Path) -> None:
    tree = parse_lspci((captures / "lspci/8xh100-vvv-trimmed__leptonai-gpud.txt").read_text())
    with_acs = [each for each in tree.devices.values() if each.acs and each.acs["SrcValid"]]
    assert len(with_acs) == 6
    ends = [
        each.address
        for each in tree.devices.values()
        if ("3D controller" in each.kind and "NVIDIA" in each.name) or "ConnectX-7" in each.name
    ]
    assert len(ends) >= 16
    assert all(len(tree.path(each)) >= 3 for each in ends)
    assert [each for each in ends if tree.redirecting(each)] == []
