"""All-reduce over the GPUs of several nodes with the engine's PyTorch and NCCL, without MPI and ssh between nodes.

Arguments: NODE_RANK NODES GPUS HEAD_ADDRESS PORT ADDRESS SIZE_BYTES RUNS [BACKEND]. Each node runs it once; it starts
one process per GPU. Rank 0 prints {"torch", "nccl", "ranks", "devices"} and then {"run", "size_bytes", "time_us",
"wrong"} per run: `time_us` is of the slowest rank, `wrong` is the number of wrong values of all ranks. The other nodes
print {"node", "ended"}: the number of their ranks that ended without an error.

BACKEND is nccl; gloo reduces in main memory, for tests on a machine without GPUs.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from datetime import timedelta
from typing import Any

LIMIT_S = 300
WARM_UP, TIMED = 2, 10
CHUNK = 1 << 26


def interface_of(address: str) -> str:
    """Return the network interface with an address."""
    out = subprocess.run(["ip", "-o", "-4", "addr", "show"], capture_output=True, text=True, check=True).stdout
    for words in map(str.split, out.splitlines()):
        if len(words) > 3 and words[3].partition("/")[0] == address:
            return words[1].partition("@")[0]
    raise SystemExit(f"no interface has the address {address}")


def wrong_values(buffer: Any, expected: float) -> int:
    """Return the number of values that differ, in chunks because a comparison needs memory."""
    count = 0
    for start in range(0, buffer.numel(), CHUNK):
        count += int((buffer[start : start + CHUNK] != expected).sum().item())
    return count


def rank_of_node(local: int) -> None:
    node, nodes, gpus, head, port, _, size, runs = sys.argv[1:9]
    backend = sys.argv[9] if len(sys.argv) > 9 else "nccl"
    import torch
    import torch.distributed as group

    rank, world = int(node) * int(gpus) + local, int(nodes) * int(gpus)
    if backend == "nccl":
        if torch.cuda.device_count() < int(gpus):
            raise SystemExit(f"{gpus} GPUs are needed, {torch.cuda.device_count()} were found")
        torch.cuda.set_device(local)
    device = torch.device("cuda", local) if backend == "nccl" else torch.device("cpu")
    group.init_process_group(
        backend, init_method=f"tcp://{head}:{port}", rank=rank, world_size=world, timeout=timedelta(seconds=LIMIT_S)
    )
    name = torch.cuda.get_device_name(local) if backend == "nccl" else "cpu"
    names: list[Any] = [None] * world
    group.all_gather_object(names, name)
    if rank == 0:
        nccl = ".".join(map(str, torch.cuda.nccl.version())) if backend == "nccl" else None
        show({"torch": torch.__version__, "nccl": nccl, "ranks": world, "devices": sorted(set(names))})
    buffer = torch.empty(int(size) // 4, dtype=torch.float32, device=device)
    for run in range(1, int(runs) + 1):
        # The sum of 1 + rank over all ranks is exact in float32.
        buffer.fill_(float(rank + 1))
        group.all_reduce(buffer)
        wrong = wrong_values(buffer, world * (world + 1) / 2)
        buffer.fill_(0.0)
        for _ in range(WARM_UP):
            group.all_reduce(buffer)
        wait(torch, device)
        group.barrier()
        started = time.monotonic()
        for _ in range(TIMED):
            group.all_reduce(buffer)
        wait(torch, device)
        mine = torch.tensor([(time.monotonic() - started) / TIMED * 1e6], dtype=torch.float64, device=device)
        total = torch.tensor([wrong], dtype=torch.int64, device=device)
        group.all_reduce(mine, op=group.ReduceOp.MAX)
        group.all_reduce(total)
        if rank == 0:
            show({"run": run, "size_bytes": int(size), "time_us": float(mine.item()), "wrong": int(total.item())})
    group.destroy_process_group()


def wait(torch: Any, device: Any) -> None:
    if device.type == "cuda":
        torch.cuda.synchronize(device)


def show(row: dict[str, object]) -> None:
    sys.stdout.write(json.dumps(row) + "\n")
    sys.stdout.flush()


def main() -> int:
    # NCCL otherwise prefers IPoIB, whose addresses the firewall does not allow.
    interface = interface_of(sys.argv[6])
    os.environ["NCCL_SOCKET_IFNAME"] = f"={interface}"
    os.environ["GLOO_SOCKET_IFNAME"] = interface
    children = []
    for local in range(int(sys.argv[3])):
        child = os.fork()
        if child == 0:
            code = 1
            try:
                rank_of_node(local)
                code = 0
            except SystemExit as error:
                sys.stderr.write(f"{error}\n")
            except BaseException as error:  # noqa: BLE001 - a child must not continue as its parent
                sys.stderr.write(f"{type(error).__name__}: {str(error)[:300]}\n")
            finally:
                sys.stdout.flush()
                sys.stderr.flush()
                os._exit(code)
        children.append(child)
    codes = [os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) for child in children]
    if sys.argv[1] != "0":
        show({"node": int(sys.argv[1]), "ended": codes.count(0)})
    return int(any(codes))


sys.exit(main())
