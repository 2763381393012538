"""Read-only probe, which runs on a node with the node's python3 (standard library only).

Runs the commands and reads the files of a request, and prints one JSON document, which parsers on the controller read.

Request: {"commands": {name: [argv...]}, "hash": [glob, ...], "read": [path, ...]} as base64 JSON in argv[1].
Output:  {"commands": {name: {"exit_code", "stdout", "stderr"}}, "files": {path: {...}}, "texts": {path: text}}
         exit_code is null for a command that was not found or timed out.
"""

import base64
import glob
import hashlib
import json
import os
import subprocess
import sys

COMMAND_TIMEOUT_S = 20
TEXT_LIMIT_BYTES = 262144
HASH_LIMIT_BYTES = 16777216  # larger files have only size and time; `sovctl verify` hashes them


def run(argv):
    environment = dict(os.environ, LC_ALL="C", LANG="C")
    try:
        done = subprocess.run(argv, capture_output=True, timeout=COMMAND_TIMEOUT_S, env=environment, check=False)
    except FileNotFoundError:
        return {"exit_code": None, "stdout": "", "stderr": "command not found"}
    except (subprocess.TimeoutExpired, OSError) as error:
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


def main():
    request = json.loads(base64.b64decode(sys.argv[1]))
    answer = {"commands": {}, "files": {}, "texts": {}}
    for name, argv in request["commands"].items():
        answer["commands"][name] = run(argv)
    for pattern in request["hash"]:
        for path in sorted(glob.glob(pattern, recursive=True)):
            try:
                entry = describe(path)
            except OSError:
                entry = {"unreadable": True}
            if entry is not None:
                answer["files"][path] = entry
    for path in request["read"]:
        try:
            with open(path, "rb") as file:
                answer["texts"][path] = file.read(TEXT_LIMIT_BYTES).decode("utf-8", "replace")
        except OSError:
            answer["texts"][path] = None
    json.dump(answer, sys.stdout)
    sys.stdout.write("\n")


main()
