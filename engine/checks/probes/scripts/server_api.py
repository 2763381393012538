"""Settings that a vLLM server returns. Arguments: ADDRESS PORT CA CERTIFICATE KEY.

Three JSON lines: {"path": "/version", "version"}, {"path": "/v1/models", "models": [{"id", "root", "parent",
"max_model_len"}]}, {"path": "/metrics", "cache": {label: value}}. Instead of a result a line can have "error".
"""

from __future__ import annotations

import http.client
import json
import re
import ssl
import sys

TIMEOUT_S = 20.0


def get(path: str) -> str:
    address, port, authority, certificate, key = sys.argv[1:6]
    context = ssl.create_default_context(cafile=authority)
    context.load_cert_chain(certificate, key)
    connection = http.client.HTTPSConnection(address, int(port), timeout=TIMEOUT_S, context=context)
    try:
        connection.request("GET", path)
        reply = connection.getresponse()
        if reply.status != 200:
            raise ValueError(f"http {reply.status}")
        return reply.read(4 << 20).decode("utf-8", "replace")
    finally:
        connection.close()


def models(text: str) -> list[dict[str, object]]:
    names = ("id", "root", "parent", "max_model_len")
    return [{name: row.get(name) for name in names} for row in json.loads(text)["data"]]


def cache(text: str) -> dict[str, str]:
    found = re.search(r"^vllm:cache_config_info\{(.*)\} ", text, re.MULTILINE)
    if found is None:
        raise ValueError("no vllm:cache_config_info")
    return dict(re.findall(r'(\w+)="([^"]*)"', found[1]))


for path, name, read in (
    ("/version", "version", lambda text: json.loads(text)["version"]),
    ("/v1/models", "models", models),
    ("/metrics", "cache", cache),
):
    try:
        line = {"path": path, name: read(get(path))}
    except (OSError, ValueError, KeyError, TypeError, AttributeError, http.client.HTTPException) as error:
        line = {"path": path, "error": f"{type(error).__name__}: {error}"[:200]}
    sys.stdout.write(json.dumps(line) + "\n")
