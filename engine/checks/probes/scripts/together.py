"""Runs shell commands at the same time, each with its own time limit, and prints one JSON line per command.

Standard input: one JSON object per line: {"number": 0, "command": "nvidia-smi -q -x", "timeout_s": 60, "stdin": ""}
Output: {"number": 0, "exit_code": 0, "stdout": "...", "stderr": "...", "started": 1.0, "ended": 1.2}; times in Unix
seconds. The exit code of a command that exceeded its limit is 124, as of timeout(1).
"""

from __future__ import annotations

import json
import subprocess
import sys
import threading
import time
from typing import Any

LIMIT_BYTES = 24 << 20
AT_ONCE = int(sys.argv[1])


def run(row: dict[str, Any]) -> dict[str, Any]:
    """Return the result of one command."""
    started = time.time()
    words = ["timeout", "-k", "5", str(row["timeout_s"]), "sh", "-c", row["command"]]
    done = subprocess.run(words, input=row["stdin"].encode(), capture_output=True, check=False)
    code, out, err = done.returncode, done.stdout, done.stderr
    if len(out) + len(err) > LIMIT_BYTES:
        code, out, err = 1, b"", b"output of more than %d bytes" % LIMIT_BYTES
    texts = {"stdout": out.decode("utf-8", "replace"), "stderr": err.decode("utf-8", "replace")}
    return dict(texts, number=row["number"], exit_code=code, started=started, ended=time.time())


def main() -> None:
    """Run all commands."""
    rows = iter([json.loads(line) for line in sys.stdin])
    lock = threading.Lock()

    def work() -> None:
        while True:
            with lock:
                row = next(rows, None)
            if row is None:
                return
            line = json.dumps(run(row))
            with lock:
                sys.stdout.write(line + "\n")
                sys.stdout.flush()

    threads = [threading.Thread(target=work) for _ in range(AT_ONCE)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


main()
