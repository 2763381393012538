"""Takes every right from this process before it parses untrusted data: documents, recordings.

Layers, each of them sufficient against a part of the risk:

- Own user, without groups and capabilities, if the process is root.
- A network namespace without interfaces, if the kernel permits one.
- Limits of memory, processor time, file size, descriptors and processes; no core dump. It ends with its parent.
- seccomp: only memory, reading and writing of open descriptors, time, random numbers and exit. Opening a file, a socket
  or a process fails with EPERM. This layer is required: without it `enter` raises.

Sources: seccomp(2), prctl(2), unshare(2); numbers of system calls: asm/unistd_64.h and asm-generic/unistd.h
of Linux 6.1.
"""

from __future__ import annotations

import ctypes
import errno
import os
import platform
import resource
import signal
import struct

_PR_SET_PDEATHSIG, _PR_SET_DUMPABLE, _PR_SET_SECCOMP, _PR_SET_NO_NEW_PRIVS = 1, 4, 22, 38  # linux/prctl.h
_SECCOMP_MODE_FILTER = 2
_CLONE_NEWNET = 0x40000000
_KILL, _EPERM, _ALLOW = 0x80000000, 0x00050000 | errno.EPERM, 0x7FFF0000  # linux/seccomp.h: SECCOMP_RET_*
_LOAD, _EQUAL, _AT_LEAST, _RETURN = 0x20, 0x15, 0x35, 0x06  # linux/bpf_common.h: LD|W|ABS, JMP|JEQ|K, JMP|JGE|K, RET|K
_X32_BIT = 0x40000000  # system calls of the x32 ABI, which has the same architecture number

_ARCHITECTURES = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}  # linux/audit.h: AUDIT_ARCH_*
# Allowed system calls: their number for each of `_ARCHITECTURES`.
_ALLOWED = {
    "read": (0, 63),
    "write": (1, 64),
    "mmap": (9, 222),
    "mprotect": (10, 226),
    "munmap": (11, 215),
    "brk": (12, 214),
    "rt_sigaction": (13, 134),
    "rt_sigprocmask": (14, 135),
    "rt_sigreturn": (15, 139),
    "readv": (19, 65),
    "writev": (20, 66),
    "sched_yield": (24, 124),
    "mremap": (25, 216),
    "madvise": (28, 233),
    "getpid": (39, 172),
    "exit": (60, 93),
    "gettimeofday": (96, 169),
    "getrusage": (98, 165),
    "sigaltstack": (131, 132),
    "gettid": (186, 178),
    "futex": (202, 98),
    "clock_gettime": (228, 113),
    "exit_group": (231, 94),
    "getrandom": (318, 278),
    "rseq": (334, 293),
}

_libc = ctypes.CDLL(None, use_errno=True)


def enter(*, memory_bytes: int, cpu_s: int, user_id: int) -> None:
    """Drop all rights of this process. It keeps its open descriptors and its loaded modules.

    Args:
        user_id: user and group of the process if it is root, above 0.

    Raises:
        OSError: a required layer is unavailable; the caller must not parse.
    """
    _prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.geteuid() == 0:
        _libc.unshare(_CLONE_NEWNET)  # refused in some containers; seccomp always forbids sockets
        os.setgroups([])
        os.setresgid(user_id, user_id, user_id)
        os.setresuid(user_id, user_id, user_id)
        _prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)  # the kernel clears it when the user changes
    _prctl(_PR_SET_DUMPABLE, 0)
    for limit, value in (
        (resource.RLIMIT_AS, memory_bytes),
        (resource.RLIMIT_CPU, cpu_s),
        (resource.RLIMIT_FSIZE, 0),
        (resource.RLIMIT_NPROC, 0),
        (resource.RLIMIT_CORE, 0),
        (resource.RLIMIT_NOFILE, 3),
    ):
        resource.setrlimit(limit, (value, value))
    _prctl(_PR_SET_NO_NEW_PRIVS, 1)
    _filter_system_calls()


def program(machine: str) -> list[tuple[int, int, int, int]]:
    """Return the seccomp filter of a machine type as instructions (code, jump if true, jump if false, value).

    Raises:
        OSError: no table for this machine type.
    """
    if machine not in _ARCHITECTURES:
        raise OSError(errno.ENOSYS, f"no seccomp filter for {machine}")
    column = list(_ARCHITECTURES).index(machine)
    made = [(_LOAD, 0, 0, 4), (_EQUAL, 1, 0, _ARCHITECTURES[machine]), (_RETURN, 0, 0, _KILL)]  # seccomp_data.arch
    made += [(_LOAD, 0, 0, 0), (_AT_LEAST, 0, 1, _X32_BIT), (_RETURN, 0, 0, _KILL)]  # seccomp_data.nr
    for numbers in _ALLOWED.values():
        made += [(_EQUAL, 0, 1, numbers[column]), (_RETURN, 0, 0, _ALLOW)]
    return [*made, (_RETURN, 0, 0, _EPERM)]


def _filter_system_calls() -> None:
    made = program(platform.machine())
    code = ctypes.create_string_buffer(b"".join(struct.pack("HBBI", *each) for each in made))
    head = ctypes.create_string_buffer(struct.pack("HP", len(made), ctypes.addressof(code)))  # struct sock_fprog
    _prctl(_PR_SET_SECCOMP, _SECCOMP_MODE_FILTER, ctypes.addressof(head))


def _prctl(option: int, value: int, address: int = 0) -> None:
    arguments = [ctypes.c_ulong(each) for each in (value, address, 0, 0)]
    if _libc.prctl(option, *arguments) != 0:
        number = ctypes.get_errno()
        raise OSError(number, f"prctl {option}: {os.strerror(number)}")
