"""Command line of a server, and its comparison with the arguments of a running process.

    arguments({"model": "/m", "max-num-seqs": 8})            # ["/m", "--max-num-seqs", "8"]
    given_flags(["python", "vllm", "serve", "/m", "--max-num-seqs", "4"])     # ("max-num-seqs 4", "model /m")

The unit starts `roles/pool/files/serve`, which reads the file of flags and replaces itself by the engine with these
arguments. The kernel keeps them, so the flags of a process are known without the file.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from ...catalog.engines import Engine
from ...catalog.engines.vllm import VLLM
from ...spec.serving.section import FlagValue

SYSTEMD_VARIABLES = frozenset(
    [
        "CREDENTIALS_DIRECTORY",
        "HOME",
        "INVOCATION_ID",
        "JOURNAL_STREAM",
        "LANG",
        "LANGUAGE",
        "LC_ALL",
        "LC_CTYPE",
        "LOGNAME",
        "MANAGERPID",
        "MEMORY_PRESSURE_WATCH",
        "MEMORY_PRESSURE_WRITE",
        "NOTIFY_SOCKET",
        "PATH",
        "PWD",
        "RUNTIME_DIRECTORY",
        "SHELL",
        "STATE_DIRECTORY",
        "SYSTEMD_EXEC_PID",
        "TMPDIR",
        "TZ",
        "USER",
    ]
)
"""Variables that systemd sets for a service. Source: systemd.exec(5), "Environment variables in spawned processes"."""

DEVICE_VARIABLES = frozenset(
    [
        "GLOO_SOCKET_IFNAME",
        "NCCL_SOCKET_IFNAME",
        "NCCL_IB_HCA",
        "UCX_NET_DEVICES",
        "VLLM_GPU_NIC_PCIE_MAPPING",
        "VLLM_NIC_SELECTION_VARS",
    ]
)
"""Variables that `roles/pool/files/serve` sets for a rank of a group, from the network devices of its node."""


def arguments(flags: Mapping[str, FlagValue]) -> list[str]:
    """Return the arguments after `vllm serve`: the model, then the other flags in their order."""
    return [str(flags["model"]), *_other_arguments(flags)]


def _other_arguments(flags: Mapping[str, FlagValue]) -> list[str]:
    found: list[str] = []
    for name, value in flags.items():
        if name == "model":
            continue
        if isinstance(value, bool):
            found.append(f"--{name}" if value else f"--no-{name}")
        else:
            found += [f"--{name}", *(value if isinstance(value, list) else [str(value)])]
    return found


def given_flags(argv: Sequence[str], engine: Engine = VLLM) -> tuple[str, ...] | None:
    """Return the flags of a command line as `name value`, sorted; None if it does not start the engine."""
    start = next((index for index, word in enumerate(argv) if engine.is_marker(word)), None)
    if start is None:
        return None
    groups: list[list[str]] = [["model"]]
    for word in argv[start + 1 :]:
        if word.startswith("--"):
            name, separator, value = word.removeprefix("--").partition("=")
            groups.append([name, value] if separator else [name])
        else:
            groups[-1].append(word)
    return tuple(sorted(" ".join(group) for group in groups if group != ["model"]))


def planned_flags(flags: Mapping[str, FlagValue], engine: Engine = VLLM) -> tuple[str, ...]:
    """Return planned flags in the form of `given_flags`."""
    return given_flags([*engine.command_line(str(flags["model"])), *_other_arguments(flags)], engine) or ()


def added_variables(environment: Mapping[str, str], planned: Iterable[str], *, is_group: bool) -> list[str]:
    """Return the variables of a process that neither the unit, the launcher nor systemd sets, as `NAME=value`, sorted.

    Args:
        is_group: whether the process is a rank of a replica on several nodes.
    """
    known = {*planned, *SYSTEMD_VARIABLES, *(DEVICE_VARIABLES if is_group else ())}
    return sorted(f"{name}={value}" for name, value in environment.items() if name not in known)
