"""NVLink status, NVLink counters and the topology matrices."""

from __future__ import annotations

import contextlib
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sovctl.engine.facts.hardware.nvlink import parse_nvlink_errors, parse_nvlink_status
from sovctl.engine.facts.hardware.topology import parse_p2p, parse_topology
from sovctl.engine.facts.unreadable import Unreadable

STATUS = """\
GPU 0: NVIDIA H100 80GB HBM3 (UUID: GPU-00000000-0000-0000-0000-000000000000)
\t Link 0: 26.562 GB/s
\t Link 1: <inactive>
GPU 1: NVIDIA H100 80GB HBM3 (UUID: GPU-00000000-0000-0000-0000-000000000001)
NVML: Unable to retrieve NVLink information as all links are inactive
"""
ERRORS = """\
GPU 0: NVIDIA H100 80GB HBM3 (UUID: GPU-00000000-0000-0000-0000-000000000000)
\t Link 0: Replay Errors: 0
\t Link 0: Recovery Errors: 3
\t Link 0: CRC Errors: N/A

\t Link 1: FEC Errors - 0: 36140749276
"""
P2P = " \tGPU0\tGPU1\t\n GPU0\tX\tOK\t\n GPU1\tNS\tX\t\n\nLegend:\n\n  X    = Self\n  OK   = Status Ok\n"


def test_reads_active_and_inactive_links() -> None:
    first, second = parse_nvlink_status(STATUS)
    assert [link.speed_gb_s for link in first.links] == [26.562, None]
    assert (first.active, first.message) == (1, None)
    assert (second.links, second.active) == ((), 0)
    assert "all links are inactive" in (second.message or "")


@pytest.mark.parametrize("parse", [parse_nvlink_status, parse_nvlink_errors])
@pytest.mark.parametrize("text", ["", "\n \n", "Link 0: 25 GB/s", "GPU 0: x (UUID: y)\n what is this"])
def test_no_output_and_unknown_lines_are_refused(parse, text: str) -> None:  # type: ignore[no-untyped-def]
    with pytest.raises(Unreadable):
        parse(text)


def test_counters_keep_their_names_and_unreadable_values_are_none() -> None:
    counters = parse_nvlink_errors(ERRORS)
    assert [(each.link, each.name, each.value) for each in counters] == [
        (0, "Replay Errors", 0),
        (0, "Recovery Errors", 3),
        (0, "CRC Errors", None),
        (1, "FEC Errors - 0", 36140749276),
    ]


@given(st.text(max_size=300))
@pytest.mark.parametrize("parse", [parse_nvlink_status, parse_nvlink_errors, parse_topology, parse_p2p])
def test_any_text_is_read_or_refused(parse, text: str) -> None:  # type: ignore[no-untyped-def]
    with contextlib.suppress(Unreadable):
        parse(text)


def test_peer_access_is_read_in_both_directions() -> None:
    matrix = parse_p2p(P2P)
    assert matrix.gpu_pairs() == {("GPU0", "GPU1"): "OK", ("GPU1", "GPU0"): "NS"}


def test_a_row_that_is_cut_is_refused() -> None:
    with pytest.raises(Unreadable, match="cells in row GPU1"):
        parse_p2p(" \tGPU0\tGPU1\n GPU0\tX\tOK\n GPU1\tOK\n")
    with pytest.raises(Unreadable, match="a row for GPU1"):
        parse_p2p(" \tGPU0\tGPU1\n GPU0\tX\tOK\n")


@pytest.mark.shared
def test_reads_the_a100_capture(captures: Path) -> None:
    gpus = parse_nvlink_status((captures / "nvidia-smi-nvlink/8xa100__leptonai-gpud.txt").read_text())
    assert [each.active for each in gpus] == [12] * 8
    assert {link.speed_gb_s for each in gpus for link in each.links} == {25.0}


@pytest.mark.shared
def test_good_and_bad_captures_differ(captures: Path) -> None:
    folder = captures / "nvidia-smi-nvlink"
    (good,) = parse_nvlink_status((folder / "good__Azure-azurehpc-health-checks.txt").read_text())
    (bad,) = parse_nvlink_status((folder / "bad__Azure-azurehpc-health-checks.txt").read_text())
    assert (good.active, bad.active) == (12, 0)
    assert bad.message is not None


@pytest.mark.shared
@pytest.mark.parametrize(
    ("name", "gpus", "nics", "link"),
    [
        ("2xh100-ansi-header__NVIDIA-NVSentinel.txt", 2, ("mlx5_0", "mlx5_1"), "NV18"),
        ("4xgb200-allsys__NVIDIA-NVSentinel.txt", 4, tuple(f"mlx5_{n}" for n in range(6)), "NV18"),
        ("4xh100-niclegend__NVIDIA-NVSentinel.txt", 4, tuple(f"mlx5_{n}" for n in range(4)), "NV18"),
        ("8xh100-mlx5cols__NVIDIA-NVSentinel.txt", 8, tuple(f"mlx5_{n}" for n in range(10)), "NV18"),
    ],
)
def test_reads_every_form_of_the_topology(
    captures: Path, name: str, gpus: int, nics: tuple[str, ...], link: str
) -> None:
    matrix = parse_topology((captures / "nvidia-smi-topo" / name).read_text())
    assert len(matrix.gpus) == gpus
    assert matrix.nics == nics
    assert set(matrix.gpu_pairs().values()) == {link}


@pytest.mark.shared
def test_gpus_are_split_over_two_sockets(captures: Path) -> None:
    matrix = parse_topology((captures / "nvidia-smi-topo/8xh100-mlx5cols__NVIDIA-NVSentinel.txt").read_text())
    assert matrix.numa_nodes == {f"GPU{n}": "0" if n < 4 else "1" for n in range(8)}
    assert matrix.cells["GPU3", "mlx5_3"] == "PIX"
