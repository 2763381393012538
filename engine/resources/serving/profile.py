"""Serve profile: flags and variables that every vLLM server has, and those that none has, each with reason and source.

- `flags.py` and `environment.py` set `FLAGS` and `VARIABLES`.
- site.yaml cannot contain the flags of `REFUSED` (`engine/spec/serving/withheld.py`).
- The check `pool.serve-profile` compares both with the running process.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from ...spec.serving.section import FlagValue
from ...spec.serving.withheld import REFUSED
from .routes import MIDDLEWARE

_SECURITY = "vLLM 0.32.0, docs/usage/security.md"
_ENVS = "vLLM 0.32.0, vllm/envs.py"


LIMITS = "limit-mm-per-prompt"
"""Flag with the maximum number of media of a request, by kind."""


@dataclass(frozen=True)
class Setting:
    """A flag or variable with its value.

    Args:
        value: as `flags` and `environment` set it; None: present with any value.
        reason: what its absence permits.
    """

    value: FlagValue | None
    reason: str
    source: str


FLAGS: Mapping[str, Setting] = {
    "disable-fastapi-docs": Setting(
        True, "/docs, /redoc and /openapi.json answer every client", "measured with vLLM 0.32.0, 2026-11"
    ),
    "disable-uvicorn-access-log": Setting(
        True, "paths of requests are in a second log, which no rule of retention covers", "vLLM 0.32.0, cli_args.py"
    ),
    "middleware": Setting(
        [MIDDLEWARE], "routes that scale, pause or profile the engine answer every client", f"{_SECURITY}; measured"
    ),
    "allowed-media-domains": Setting(
        None, "the server fetches media from every host (CVE-2025-6242)", f"{_SECURITY}; an empty list permits all"
    ),
    "shutdown-timeout": Setting(None, "requests are aborted when the server stops", "vLLM 0.32.0, cli_args.py"),
}
"""Flags of servers with their own port. In a swap group the proxy closes the routes."""

TLS_FLAGS: Mapping[str, Setting] = {
    "host": Setting(None, "the server listens on all addresses", "vLLM 0.32.0, cli_args.py"),
    "ssl-certfile": Setting(None, "requests are not encrypted", "vLLM 0.32.0, cli_args.py"),
    "ssl-keyfile": Setting(None, "requests are not encrypted", "vLLM 0.32.0, cli_args.py"),
    "ssl-ca-certs": Setting(None, "no certificate of a client is valid", "vLLM 0.32.0, cli_args.py"),
    "ssl-cert-reqs": Setting(
        2, "clients without a certificate are answered; the API key has been bypassed (CVE-2026-48746)", _SECURITY
    ),
}
"""Flags of servers with their own port, in addition."""

VARIABLES: Mapping[str, Setting] = {
    "HF_HUB_OFFLINE": Setting("1", "the server requests files of a public hub", "huggingface_hub, constants.py"),
    "TRANSFORMERS_OFFLINE": Setting("1", "the server requests files of a public hub", "transformers, hub.py"),
    "VLLM_NO_USAGE_STATS": Setting("1", "the server sends usage statistics", "vLLM 0.32.0, usage/usage_lib.py"),
    "DO_NOT_TRACK": Setting("1", "the server sends usage statistics", "vLLM 0.32.0, usage/usage_lib.py"),
    "VLLM_MEDIA_URL_ALLOW_REDIRECTS": Setting(
        "0", "a redirect names a host outside allowed-media-domains (CVE-2025-6242)", _ENVS
    ),
    "VLLM_MAX_N_SEQUENCES": Setting("16", "one request starts up to 16384 answers (CVE-2026-34756)", _ENVS),
    "VLLM_MAX_AUDIO_DECODE_DURATION_S": Setting("600", "31 KB of FLAC decode to 11 minutes of audio", _ENVS),
    "VLLM_MAX_AUDIO_DECODE_BYTES": Setting("268435456", "25 MB of Opus decode to 14.9 GB (CVE-2026-54233)", _ENVS),
    "VLLM_PLUGINS": Setting("", "the server loads every plug-in of its environment", _ENVS),
    "VLLM_CACHE_ROOT": Setting(
        None, "the cache, whose contents are executed, is in a folder of other servers", _SECURITY
    ),
}
"""Variables of every server."""

ABSENT_VARIABLES: Mapping[str, str] = {
    "VLLM_SERVER_DEV_MODE": "it opens /sleep, /collective_rpc and /update_weights without a key",
    "VLLM_ALLOW_RUNTIME_LORA_UPDATING": "it lets a client load weights from any path (vLLM issue 47724)",
    "VLLM_ALLOW_INSECURE_SERIALIZATION": "it lets a client send pickled code",
    "VLLM_LORA_RESOLVER_CACHE_DIR": "it joins names of requests to a path without a check",
    "VLLM_DEBUG_LOG_API_SERVER_RESPONSE": "it writes answers to the log",
}
"""Variables of no server, with the reason; `0` counts as absent. Source: vLLM 0.32.0, vllm/envs.py."""
ABSENT_FLAGS: Mapping[str, str] = REFUSED
"""Flags of no server, with the reason."""
