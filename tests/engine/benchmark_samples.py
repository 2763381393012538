"""Outputs of nccl-tests, NCCL and perftest as the programs print them, for any bandwidth."""

from __future__ import annotations

from collections.abc import Sequence

GIB = 1 << 30
NCCL_HEADER = (
    "# nccl-tests version 2.19.6 nccl-headers=22703 nccl-library=22703\n"
    "# Collective test starting: all_reduce_perf\n"
    "# nThread 1 nGpus {ranks} minBytes {low} maxBytes {high} step: 2(factor) warmup iters: 1 iters: 20 agg iters: 1 "
    "validation: 1 graph: 0 unalign: 0\n#\n# Using devices\n"
)
NCCL_COLUMNS = (
    "#\n#                                                              out-of-place                       in-place\n"
    "#       size         count      type   redop    root     time   algbw   busbw #wrong     time   algbw   busbw "
    "#wrong\n"
    "#        (B)    (elements)                               (us)  (GB/s)  (GB/s)            (us)  (GB/s)  (GB/s)\n"
)


def nccl_row(size: int, bus_gb_s: float, *, ranks: int = 8, wrong: str = "0", datatype: str = "float") -> str:
    """One row of all_reduce_perf, in which both measurements are equal."""
    algorithm = bus_gb_s / (2 * (ranks - 1) / ranks)
    timing = f"  {size / algorithm / 1000:.1f}  {algorithm:.2f}  {bus_gb_s:.2f}  {wrong:>6}"
    return f"{size:>12}  {size // 4:>12}  {datatype:>8}     sum      -1{timing}{timing}\n"


def nccl_test(
    bus_gb_s: Sequence[float] = (300.0, 470.0),
    *,
    ranks: int = 8,
    wrong: str = "0",
    device: str = "NVIDIA H100 80GB HBM3",
    largest: int = 8 * GIB,
    hosts: Sequence[str] = ("n1",),
) -> str:
    """Output of all_reduce_perf; the last bandwidth is that of `largest`, each one before of half the payload."""
    sizes = [largest >> shift for shift in reversed(range(len(bus_gb_s)))]
    per_host = ranks // len(hosts)
    devices = "".join(
        f"#  Rank {rank:2} Group  0 Pid {4000 + rank:6} on {hosts[rank // per_host]:>10} device {rank % per_host:2} "
        f"[0000:{rank % per_host + 16:02x}:00] {device}\n"
        for rank in range(ranks)
    )
    rows = "".join(nccl_row(size, bus, ranks=ranks, wrong=wrong) for size, bus in zip(sizes, bus_gb_s, strict=True))
    count = 0 if wrong in ("0", "N/A") else 2 * len(sizes) * int(float(wrong))
    summary = (
        f"# Out of bounds values : {count} {'FAILED' if count else 'OK'}\n"
        f"# Avg bus bandwidth    : {sum(bus_gb_s) / len(bus_gb_s):g} \n#\n"
        "# Collective test concluded: all_reduce_perf\n#\n"
    )
    header = NCCL_HEADER.format(ranks=ranks, low=sizes[0], high=sizes[-1])
    return header + devices + NCCL_COLUMNS + rows + summary


def nccl_log(*, ranks: int = 8, channels: int = 16, has_multicast: bool = True, version: str = "2.27.3") -> str:
    """Lines of NCCL_DEBUG=INFO about the version and NVLink SHARP."""
    word = "" if has_multicast else "not "
    lines = [f"n1:77:77 [0] NCCL INFO NCCL version {version}+cuda12.9"]
    for rank in range(ranks):
        head = f"n1:77:{90 + rank} [{rank}] NCCL INFO"
        lines.append(f"{head} NVLS multicast support is {word}available on dev {rank} (NVLS_NCHANNELS {channels})")
        counts = f"24 coll channels, 24 collnet channels, {channels} nvls channels, 32 p2p channels"
        lines.append(f"{head} {counts}, 32 p2p channels per peer")
    return "\n".join(lines) + "\n"


def perftest_bandwidth(
    gbit_s: float = 392.5, *, device: str = "mlx5_0", size: int = 65536, unit: str = "Gb/sec", link: str = "IB"
) -> str:
    """Output of `ib_write_bw --report_gbits`, of one side."""
    factor = 1.0 if unit == "Gb/sec" else 8 * 2**20 / 1e9
    rate = gbit_s * 1000 / 8 / size
    rule = "-" * 87 + "\n"
    return (
        f"{rule}                    RDMA_Write BW Test\n"
        f" Dual-port       : OFF\t\tDevice         : {device}\n"
        " Number of qps   : 1\t\tTransport type : IB\n"
        " Connection type : RC\t\tUsing SRQ      : OFF\n"
        " PCIe relax order: ON\n"
        " ibv_wr* API     : ON\n"
        " TX depth        : 128\n"
        " CQ Moderation   : 100\n"
        f" Mtu             : 4096[B]\n Link type       : {link}\n"
        " Max inline data : 0[B]\n rdma_cm QPs\t : OFF\n Data ex. method : Ethernet\n"
        f"{rule} local address: LID 0x01 QPN 0x0048 PSN 0x6a6a67 RKey 0x1fff00 VAddr 0x007f00a0000000\n"
        " remote address: LID 0x02 QPN 0x0049 PSN 0x9f6a67 RKey 0x1fff01 VAddr 0x007f00b0000000\n"
        f"{rule} #bytes     #iterations    BW peak[{unit}]    BW average[{unit}]   MsgRate[Mpps]\n"
        f" {size}      5000             {gbit_s / factor + 1:.2f}             {gbit_s / factor:.2f}"
        f"\t\t     {rate:.6f}\n{rule}"
    )


def perftest_latency(typical_us: float = 2.11, *, device: str = "mlx5_0") -> str:
    """Output of `ib_write_lat`, of one side."""
    columns = "t_min[usec]    t_max[usec]  t_typical[usec]    t_avg[usec]    t_stdev[usec]"
    rule = "-" * 87 + "\n"
    return (
        f"{rule}                    RDMA_Write Latency Test\n"
        f" Dual-port       : OFF\t\tDevice         : {device}\n"
        " Mtu             : 4096[B]\n Link type       : IB\n Max inline data : 220[B]\n"
        f"{rule} #bytes #iterations    {columns}   99% percentile[usec]   99.9% percentile[usec] \n"
        f" 2       1000          1.92           9.08         {typical_us:.2f}     \t       {typical_us + 0.02:.2f}"
        f"        \t0.06           {typical_us + 0.3:.2f}           {typical_us + 4:.2f}\n{rule}"
    )
