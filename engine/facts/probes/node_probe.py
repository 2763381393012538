"""Read-only probe, which runs on a node with the node's python3 (standard library only).

Runs the commands and reads the files of a request, and prints one JSON document, which parsers on the controller read.

Request: {"commands": {name: [argv...]}, "hash": [glob, ...], "read": [path or glob, ...], "timeout_s": seconds for each
         command} as JSON on standard input.
Output:  {"commands": {name: {"exit_code", "stdout", "stderr"}}, "files": {path: {...}}, "texts": {path: text},
         "unreadable": {path: reason}, "processes": {pid: {"exe", "deleted"}}}
         exit_code is null for a command that was not found or timed out. The text of an absent path is null.
         processes has the main processes of the units that the command `units` prints.
"""

import glob
import hashlib
import json
import os
import re
import subprocess
import sys

TEXT_LIMIT_BYTES = 262144
DELETED = " (deleted)"  # suffix of the kernel, proc_pid_maps(5)
PROGRAM_FOLDERS = ("/usr/", "/lib", "/bin/", "/sbin/", "/opt/")
HASH_LIMIT_BYTES = 16777216  # larger files have only size and time; `sovctl verify` hashes them


def run(argv, timeout_s):
    environment = dict(os.environ, LC_ALL="C", LANG="C")
    try:
        done = subprocess.run(argv, capture_output=True, timeout=timeout_s, env=environment, check=False)
    except FileNotFoundError:
        return {"exit_code": None, "stdout": "", "stderr": "command not found"}
    except subprocess.TimeoutExpired:
        return {"exit_code": None, "stdout": "", "stderr": f"no result after {timeout_s} s"}
    except OSError as error:
        return {"exit_code": None, "stdout": "", "stderr": type(error).__name__}
    return {
        "exit_code": done.returncode,
        "stdout": done.stdout.decode("utf-8", "replace"),
        "stderr": done.stderr.decode("utf-8", "replace")[:4096],
    }


def describe(path):
    status = os.lstat(path)
    mode = format(status.st_mode & 0o7777, "04o")
    entry = {"mode": mode, "uid": status.st_uid, "gid": status.st_gid, "size": status.st_size}
    if os.path.islink(path):
        entry["link"] = os.readlink(path)
    elif os.path.isfile(path):
        entry["mtime_ns"] = status.st_mtime_ns
        if status.st_size <= HASH_LIMIT_BYTES:
            with open(path, "rb") as file:
                entry["sha256"] = hashlib.sha256(file.read()).hexdigest()
    else:
        return None
    return entry


def read(paths):
    """Return texts by path, and the reason for each path that exists and is unreadable."""
    texts, unreadable = {}, {}
    for pattern in paths:
        for path in sorted(glob.glob(pattern)) if glob.has_magic(pattern) else [pattern]:
            try:
                with open(path, "rb") as file:
                    texts[path] = file.read(TEXT_LIMIT_BYTES).decode("utf-8", "replace")
            except (FileNotFoundError, NotADirectoryError):
                texts[path] = None
            except OSError as error:
                unreadable[path] = os.strerror(error.errno).lower()
    return texts, unreadable


def process(pid):
    """Return the program of a process, and the program files in its memory that were replaced or removed on disk."""
    with open(f"/proc/{pid}/maps", encoding="utf-8", errors="replace") as file:
        maps = [line.split(maxsplit=5) for line in file]
    mapped = {words[5].rstrip("\n") for words in maps if len(words) == 6 and "x" in words[1]}
    gone = sorted(path for path in mapped if path.endswith(DELETED) and path.startswith(PROGRAM_FOLDERS))
    return {"exe": os.readlink(f"/proc/{pid}/exe"), "deleted": [path[: -len(DELETED)] for path in gone]}


def processes(units):
    """Return the main processes of the units in the output of `systemctl show`, without those that ended since."""
    found, unreadable = {}, {}
    for pid in re.findall(r"^MainPID=([1-9][0-9]*)$", units, re.MULTILINE):
        try:
            found[pid] = process(pid)
        except (FileNotFoundError, ProcessLookupError):
            continue
        except OSError as error:
            unreadable[f"/proc/{pid}"] = os.strerror(error.errno).lower()
    return found, unreadable


def main():
    request = json.load(sys.stdin)
    answer = {"commands": {}, "files": {}, "texts": {}}
    for name, argv in request["commands"].items():
        answer["commands"][name] = run(argv, request["timeout_s"])
    for pattern in request["hash"]:
        for path in sorted(glob.glob(pattern, recursive=True)):
            try:
                entry = describe(path)
            except OSError:
                entry = {"unreadable": True}
            if entry is not None:
                answer["files"][path] = entry
    answer["texts"], unreadable = read(request["read"])
    answer["processes"], unreadable_processes = processes(answer["commands"].get("units", {}).get("stdout", ""))
    answer["unreadable"] = {**unreadable, **unreadable_processes}
    json.dump(answer, sys.stdout)
    sys.stdout.write("\n")


main()
