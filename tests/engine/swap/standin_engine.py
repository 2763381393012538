"""Stand-in for `vllm serve` with sleep mode: a real HTTP server on a Unix socket, with simulated memory and times.

  python standin_engine.py FOLDER POOL UTILIZATION SPEED

Times are those of one H100 (Llama 3.1 8B, measured 2026-11-23), divided by SPEED. FOLDER/gpu contains a file of the MiB
that each engine uses; the stand-in of nvidia-smi reads them. Every answer has `"simulated": true`.
"""

from __future__ import annotations

import json
import os
import socketserver
import sys
import threading
import time
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

TOTAL_MIB, RESIDUE_MIB = 81559, 1741  # H100 80GB; 1.7 GiB while asleep
LONGEST_TEST_S = 600
FIRST_SLEEP_S, SLEEP_S, WAKE_S, ANSWER_S = 12.0, 0.39, 0.5, 0.04


class Engine:
    """State of the engine. `fault` is the content of FOLDER/POOL.fault: a route that fails."""

    def __init__(self, folder: Path, pool: str, utilization: float, speed: float) -> None:
        self.folder, self.pool, self.speed = folder, pool, speed
        self.used_mib = int(TOTAL_MIB * utilization)
        self.is_sleeping, self.sleeps, self.running, self.answered = False, 0, 0, 0
        self.core = threading.Lock()  # the engine's core does one command after the other
        self.lock = threading.Lock()
        self.awake = threading.Event()

    def take(self, mib: int) -> bool:
        """Use this much memory of the GPU; return False if it has less."""
        others = sum(int(each.read_text()) for each in (self.folder / "gpu").iterdir() if each.name != self.pool)
        self._log("taken", others + mib)
        if others + mib > TOTAL_MIB:
            self._log("overflow", others + mib)
            return False
        new = self.folder / f"{self.pool}.gpu"
        new.write_text(str(mib))
        new.replace(self.folder / "gpu" / self.pool)
        return True

    def fails(self, route: str) -> bool:
        fault = self.folder / f"{self.pool}.fault"
        if not fault.exists() or fault.read_text() != route:
            return False
        fault.unlink()
        return True

    def sleep(self) -> bool:
        with self.core:
            while self.running:
                time.sleep(0.001)
            self.awake.clear()
            time.sleep((SLEEP_S if self.sleeps else FIRST_SLEEP_S) / self.speed)
            self.sleeps += 1
            if self.fails("/sleep"):
                return False
            self.is_sleeping = True
            return self.take(RESIDUE_MIB)

    def wake(self) -> bool:
        with self.core:
            time.sleep(WAKE_S / self.speed)
            if self.fails("/wake_up") or not self.take(self.used_mib):
                return False
            self.is_sleeping = False
            self.awake.set()
            return True

    def answer(self, text: str) -> bool:
        with self.lock:
            self.running += 1
        try:
            self.awake.wait(60)
            time.sleep(ANSWER_S / self.speed)
            if self.fails("/v1/chat/completions"):
                return False
            self._log("answer", text)
            self.answered += 1
        finally:
            with self.lock:
                self.running -= 1
        return True

    def _log(self, event: str, value: object) -> None:
        line = json.dumps({"at": time.monotonic(), "pool": self.pool, "event": event, "value": value}) + "\n"
        descriptor = os.open(self.folder / "log", os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
        os.write(descriptor, line.encode())
        os.close(descriptor)


class Handler(BaseHTTPRequestHandler):
    """Routes of vLLM 0.32.0 that the agent uses, and one that only the agent may reach."""

    protocol_version = "HTTP/1.1"
    engine: Engine

    def do_GET(self) -> None:
        path = urlsplit(self.path).path
        if path == "/is_sleeping":
            with self.engine.core:
                self.reply(200, {"is_sleeping": self.engine.is_sleeping})
        elif path == "/metrics":
            counts = {"num_requests_running": self.engine.running, "num_requests_waiting": 0}
            lines = [f'vllm:{name}{{engine="0"}} {value}.0' for name, value in counts.items()]
            lines.append(f'vllm:request_success_total{{engine="0"}} {self.engine.answered}.0')
            self.reply(200, "\n".join(lines) + "\n")
        elif path in ("/health", "/version", "/v1/models"):
            self.reply(200, {"path": path})
        else:
            self.reply(404, {})

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers.get("content-length") or 0))
        path = urlsplit(self.path)
        actions: dict[str, Callable[[], bool]] = {
            "/sleep": self.engine.sleep,
            "/wake_up": self.engine.wake,
            "/collective_rpc": lambda: True,
            "/v1/chat/completions": lambda: self.engine.answer(json.loads(body)["messages"][0]["content"]),
        }
        if path.path not in actions or parse_qs(path.query).get("level", ["1"]) != ["1"]:
            self.reply(404, {})
        elif actions[path.path]():
            self.reply(200, {"choices": [{"message": {"content": self.engine.pool}}]})
        else:
            self.reply(500, {})

    def reply(self, status: int, body: dict[str, object] | str) -> None:
        text = body if isinstance(body, str) else json.dumps({"simulated": True, **body})
        self.send_response_only(status)
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text.encode())

    def address_string(self) -> str:
        return "local"


class Server(socketserver.ThreadingMixIn, socketserver.UnixStreamServer):
    daemon_threads = True
    request_queue_size = 256


def main() -> None:
    folder, pool = Path(sys.argv[1]), sys.argv[2]
    engine = Engine(folder, pool, float(sys.argv[3]), float(sys.argv[4]))
    engine.awake.set()
    if engine.fails("start") or not engine.take(engine.used_mib):
        sys.exit("Free memory on device is less than desired GPU memory utilization")
    threading.Timer(LONGEST_TEST_S, os._exit, [1]).start()  # an interrupted test does not end its engines
    path = folder / f"{pool}.sock"
    path.unlink(missing_ok=True)
    Server(str(path), type("Bound", (Handler,), {"engine": engine})).serve_forever()


if __name__ == "__main__":
    main()
