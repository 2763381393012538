"""llama.cpp: `llama-server` of Debian unstable, on the CPU, for labs.

Its packages are unpacked into a folder of their own, because they need a newer C library than Debian 12 has. The
loader of that folder starts the server and its TLS proxy with the folder's libraries.
"""

from __future__ import annotations

from .engine import Engine, EngineCapability, Metric, Metrics

_LIBRARIES = "{root}/usr/lib/x86_64-linux-gnu"
_LOADER = ("{root}/usr/lib64/ld-linux-x86-64.so.2", "--library-path", f"{_LIBRARIES}:{_LIBRARIES}/llama")

LLAMA_CPP = Engine(
    name="llama.cpp",
    title="llama.cpp",
    environment="llama.cpp",
    capabilities=frozenset[EngineCapability](),
    metrics=Metrics(
        running=Metric("llamacpp:requests_processing", "requests"),
        waiting=Metric("llamacpp:requests_deferred", "requests"),
        steps="llamacpp:n_decode_total",
    ),
    surfaces={"chat": ("chat.completions", "completions", "responses", "messages")},
    command=(
        *_LOADER,
        "{root}/usr/bin/llama-server",
        "--model",
        "{model}",
    ),
    proxy_command=(*_LOADER, "{root}/usr/sbin/nginx"),
    has_unix_socket=True,
    marker="{root}/usr/bin/llama-server",
    variables={"LLAMA_ARG_OFFLINE": "1"},
    forbidden_variables=frozenset(
        {
            "LLAMA_ARG_AGENT",  # tools that run commands, and a proxy to other servers
            "LLAMA_ARG_MCP_SERVERS_CONFIG",  # starts programs
            "LLAMA_ARG_MCP_SERVERS_JSON",
        }
    ),
    working_folder="usr/lib/x86_64-linux-gnu/ggml/backends0",  # ggml searches its CPU variants in the current folder
    packages="deb",
    lab_only="a package of Debian unstable, without security support",
    uses_nccl=False,
    source="llama.cpp 0.7.0 (build 11669) of Debian unstable, `llama-server --help` and /metrics",
)
