"""Starts each contender in front of the upstream, on given cores, with one way to reach it.

    with CONTENDERS["nginx"].start(Place(folder, upstream_port, cores={0})) as (gateway, target): ...

Peers are configured by their documentation for this task, with settings in their favour: LiteLLM with restoring
enabled, Presidio without recognizers that overlap, logs off.
"""

from __future__ import annotations

import contextlib
import json
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path

from bench.contenders import debian
from bench.contenders.environment import LITELLM, PRESIDIO, SHIELD, Environment
from bench.contenders.ours import write_config
from bench.traffic.process import Running, free_port, started, wait_for_port
from bench.traffic.wrk import Target

# Disable network access, also if network namespaces are not permitted.
_OFFLINE = {
    "LITELLM_LOCAL_MODEL_COST_MAP": "True",
    "ANONYMOUS_USAGE_TRACKING": "false",
    "HF_HUB_OFFLINE": "1",
    "NO_PROXY": "127.0.0.1,localhost",
    "HTTPS_PROXY": "http://127.0.0.1:9",
    "HTTP_PROXY": "http://127.0.0.1:9",
}


@dataclass(frozen=True)
class Place:
    """Folder, ports and cores of a contender.

    Args:
        folder: its files, on a disk instead of tmpfs.
        cores: CPU cores of its processes.
        workers: worker processes; a contender raises an error if it does not support the number.
    """

    folder: Path
    upstream_port: int
    cores: set[int]
    workers: int = 1


Started = Iterator[tuple[list[Running], Target]]


@dataclass(frozen=True)
class Contender:
    """Somebody to be measured."""

    name: str
    what: str
    start: Callable[[Place], AbstractContextManager[tuple[list[Running], Target]]]
    environments: tuple[Environment, ...] = ()
    is_masking: bool = False


@contextlib.contextmanager
def _direct(place: Place) -> Started:
    yield [], Target("127.0.0.1", place.upstream_port)


@contextlib.contextmanager
def _nginx(place: Place) -> Started:
    port = free_port()
    config = place.folder / "nginx.conf"
    config.write_text(
        f"""daemon off; pid {place.folder}/nginx.pid; error_log {place.folder}/nginx.log warn;
worker_processes {place.workers}; {"user root;" if os.geteuid() == 0 else ""}
events {{ worker_connections 4096; }}
http {{
  access_log off; client_body_buffer_size 256k; client_body_temp_path {place.folder}; proxy_temp_path {place.folder};
  fastcgi_temp_path {place.folder}; uwsgi_temp_path {place.folder}; scgi_temp_path {place.folder};
  keepalive_requests 1000000;
  upstream model {{ server 127.0.0.1:{place.upstream_port}; keepalive 256; keepalive_requests 1000000; }}
  server {{ listen 127.0.0.1:{port} backlog=2048; location / {{ proxy_pass http://model; proxy_http_version 1.1;
    proxy_set_header Connection ""; proxy_buffering off; }} }}
}}
"""
    )
    command = [debian.program("nginx"), "-e", f"{place.folder}/nginx.log", "-c", str(config)]
    with started(command, cores=place.cores, log=place.folder / "log", env=debian.libraries()) as gateway:
        wait_for_port(gateway, port)
        yield [gateway], Target("127.0.0.1", port)


def _bare(form: str) -> Callable[[Place], AbstractContextManager[tuple[list[Running], Target]]]:
    @contextlib.contextmanager
    def start(place: Place) -> Started:
        port = free_port()
        command = [sys.executable, "-m", "bench.contenders.bare", form, str(port), str(place.upstream_port)]
        with started(command, cores=place.cores, log=place.folder / "log") as gateway:
            wait_for_port(gateway, port)
            yield [gateway], Target("127.0.0.1", port)

    return start


@contextlib.contextmanager
def _shield(place: Place) -> Started:
    port = free_port()
    env = {
        **_OFFLINE,
        "UPSTREAM_BASE_URL": f"http://127.0.0.1:{place.upstream_port}",
        "UPSTREAM_API_KEY": "unused",
        "VALID_VIRTUAL_KEYS": "bench-key",
        "ENABLE_EXT_PROC": "false",
        "ENABLE_AGENT_BREAKER": "false",  # it takes a load of like prompts for a loop
        "LOG_LEVEL": "ERROR",
    }
    command = [str(SHIELD.python.with_name("llm-shield-proxy")), "--host", "127.0.0.1", "--port", str(port)]
    command += ["--workers", str(place.workers), "--log-level", "error"]
    log = place.folder / "log"
    with started(command, cores=place.cores, log=log, env=env, cwd=place.folder) as gateway:
        wait_for_port(gateway, port)
        yield [gateway], Target("127.0.0.1", port)


_PRESIDIO_ENTITIES = ("EMAIL_ADDRESS", "IBAN_CODE", "PHONE_NUMBER", "CREDIT_CARD", "US_SSN", "IP_ADDRESS", "CRYPTO")


@contextlib.contextmanager
def _litellm(place: Place) -> Started:
    port, analyzer_port = free_port(), free_port()
    config = place.folder / "litellm.json"  # JSON is YAML
    settings = {
        "model_list": [
            {
                "model_name": "bench",
                "litellm_params": {
                    "model": "openai/bench",
                    "api_base": f"http://127.0.0.1:{place.upstream_port}/v1",
                    "api_key": "unused",
                },
            }
        ],
        "guardrails": [
            {
                "guardrail_name": "presidio",
                "litellm_params": {
                    "guardrail": "presidio",
                    "mode": "pre_call",
                    "default_on": True,
                    "output_parse_pii": True,
                    "presidio_filter_scope": "input",
                    "presidio_score_thresholds": {"ALL": 0.4},
                    "presidio_analyzer_api_base": f"http://127.0.0.1:{analyzer_port}",
                    "presidio_anonymizer_api_base": f"http://127.0.0.1:{analyzer_port}",
                    "pii_entities_config": dict.fromkeys(_PRESIDIO_ENTITIES, "MASK"),
                },
            }
        ],
        "general_settings": {"master_key": "sk-bench-key"},
        "litellm_settings": {"telemetry": False, "num_retries": 0},
    }
    config.write_text(json.dumps(settings))
    env = {**_OFFLINE, "LITELLM_LOG": "ERROR", "LITELLM_MASTER_KEY": "sk-bench-key"}
    analyzer = [str(PRESIDIO.python), str(Path(__file__).with_name("presidio_server.py")), str(analyzer_port)]
    proxy = [str(LITELLM.python.with_name("litellm")), "--config", str(config), "--host", "127.0.0.1"]
    proxy += ["--port", str(port), "--num_workers", str(place.workers), "--telemetry", "False"]
    with (
        started(analyzer, cores=place.cores, log=place.folder / "presidio.log", env=_OFFLINE) as presidio,
        started(proxy, cores=place.cores, log=place.folder / "log", env=env, cwd=place.folder) as gateway,
    ):
        wait_for_port(presidio, analyzer_port)
        wait_for_port(gateway, port)
        yield [gateway, presidio], Target("127.0.0.1", port, key="sk-bench-key")


@contextlib.contextmanager
def _ours(place: Place) -> Started:
    config, target = write_config(place.folder, place.upstream_port, free_port(), workers=place.workers)
    command = [sys.executable, "-m", "sovctl.gateway", "serve", "--config", str(config)]
    with started(command, cores=place.cores, log=place.folder / "log") as gateway:
        wait_for_port(gateway, target.port)
        yield [gateway], target


CONTENDERS = {
    each.name: each
    for each in (
        Contender("direct", "no gateway", _direct),
        Contender("nginx", "nginx, proxy_pass with keep-alive", _nginx),
        Contender("relay", "asyncio.Protocol on uvloop", _bare("relay")),
        Contender("relay-json", "the same, orjson both ways", _bare("relay-json")),
        Contender("asgi", "uvicorn, httptools, uvloop, aiohttp", _bare("asgi")),
        Contender("asgi-json", "the same, orjson both ways", _bare("asgi-json")),
        Contender("shield", "LLM-Shield-Proxy, its defaults", _shield, (SHIELD,), is_masking=True),
        Contender("litellm", "LiteLLM + Presidio, tuned", _litellm, (LITELLM, PRESIDIO), is_masking=True),
        Contender("sovctl", "ours: detection, vault, durable audit", _ours, is_masking=True),
    )
}
