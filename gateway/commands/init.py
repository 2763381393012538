"""`sovctl gateway init`: creates a gateway on one machine, without a site.

Creates a folder with settings, keys and one client, so that `serve --config FOLDER/gateway.yaml` protects any
OpenAI-compatible upstream. Existing files are not overwritten; the client's key is printed once.

    key = init(Path("my-gateway"), cloud="https://api.example.com/v1", cloud_model="big", ...)
"""

from __future__ import annotations

import secrets
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import yaml

from sovctl.support.atomic_files import write_atomic
from sovctl.support.errors import InputError
from sovctl.support.os_errors import os_error_message
from sovctl.support.secret_files import KEY_BYTES, read_api_key

from ..access import keys
from ..access.clients import Client, dump_clients
from ..access.pins import digest_of
from ..settings import check_settings
from ..settings.traffic.upstream import INSIDE

_HEAD = """\
# A tokenizing gateway on this machine. Every key is described in docs/gateway.md and gateway/settings/.
# Try it:   sovctl gateway check --config {path}
# Start it: sovctl gateway serve --config {path}
"""
_RELEASE = {"identifiers": {"default": "mask", "entity_types": dict.fromkeys(("PERSON", "ORG", "IP", "MAC"), "allow")}}
"""Identifiers in an answer that are not in the conversation are masked, except those that any answer may mention."""


def init(
    folder: Path,
    *,
    serve_as: str,
    languages: Sequence[str],
    port: int,
    cloud: str | None,
    cloud_model: str | None,
    cloud_key_file: Path | None,
    pool: str | None,
    pool_model: str | None,
    surfaces: Sequence[str],
) -> str:
    """Create the folder; return the client's key.

    Args:
        serve_as: the model name for clients.
        languages: languages in which the site accepts the recall of name detection; text in other languages is
            processed on-prem.
        cloud: base URL, ending in /v1, of an upstream that receives tokens only.
        pool: base URL of an upstream that may receive the original text: a model server of your own.
        surfaces: the APIs that these serve; with a pool, the cloud gets its permitted subset.

    Raises:
        InputError: a gateway exists already, neither cloud nor pool is given, the folder cannot be created, or the
            cloud's
            key file is empty.
        MissingTool: the disk is full.
        SpecError: the arguments give invalid settings; no files are left.
    """
    folder = folder.absolute()
    path = folder / "gateway.yaml"
    if path.exists():
        raise InputError("the folder contains a gateway already", where=str(path), hint="choose another folder")
    if cloud is None and pool is None:
        raise InputError("give --cloud, --pool or both")
    outside = surfaces if pool is None else [name for name in surfaces if name not in INSIDE]
    upstreams = [
        _upstream("cloud", cloud, cloud_model or serve_as, outside, cloud_key_file),
        _upstream("pool", pool, pool_model or serve_as, surfaces, None),
    ]
    named = {kind: kind for kind, url in (("pool", pool), ("cloud", cloud)) if url is not None}
    settings = {
        "site": "standalone",
        "listen": {"host": "127.0.0.1", "port": port},
        "clients_file": str(folder / "clients.json"),
        "token_key_file": str(folder / "token.key"),
        "vault": {"path": str(folder / "vault" / "vault.db"), "kek_file": str(folder / "vault.kek")},
        "ledger": {
            "directory": str(folder / "ledger"),
            "key_file": str(folder / "ledger.key"),
            "origin": "standalone/gateway",
        },
        "routing": {"drained_servers_file": str(folder / "drained-servers.json")},
        "upstreams": [upstream for upstream in upstreams if upstream is not None],
        "routes": [
            {"model": serve_as, **named, "prefer": "cloud" if cloud is not None else "pool", "release": _RELEASE}
        ],
        "policy": {"entity_types": {"SECRET": "block"}, "name_languages": list(languages)},
    }
    check_settings(settings, path)
    if cloud_key_file is not None:
        read_api_key(cloud_key_file)
    key, clients = keys.create([], Client(name="app", tenant="standalone"), now=datetime.now(UTC), expires_in=None)
    text = dump_clients(clients)
    settings["clients_sha256"] = digest_of(text.encode())
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as error:
        said = f"the folder cannot be created: {error.strerror}"
        raise os_error_message(error) or InputError(said, where=str(folder)) from error
    for name in ("token.key", "vault.kek"):
        write_atomic(folder / name, secrets.token_hex(KEY_BYTES) + "\n", mode=0o600)
    write_atomic(folder / "clients.json", text, mode=0o600)
    # Written last: a folder without it is incomplete, and is created again.
    write_atomic(path, _HEAD.format(path=path) + yaml.safe_dump(settings, sort_keys=False), mode=0o600)
    return key


def _upstream(
    name: str, url: str | None, model: str, surfaces: Sequence[str], key_file: Path | None
) -> dict[str, Any] | None:
    if url is None:
        return None
    upstream: dict[str, Any] = {
        "name": name,
        "kind": name,
        "base_urls": [url],
        "model": model,
        "surfaces": list(surfaces),
        "max_model_len": 131_072,
    }
    if key_file is not None:
        upstream["api_key_file"] = str(key_file.absolute())
    return upstream
