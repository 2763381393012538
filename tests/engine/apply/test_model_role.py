"""Fetching a model by the real role from a real server: what the manifest lists lies there, and nothing else."""

from __future__ import annotations

import functools
import http.server
import json
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from real_plays import play

from sovctl.engine.lab.artifacts.model_store import digests_below, manifest_text
from sovctl.engine.resources.software.tree import PROGRAM
from sovctl.support.canonical_json import sha256_hex

_ROLE = {"ansible.builtin.include_role": {"name": "model"}}
FILES = {"config.json": "{}", "1_Pooling/config.json": "{}", ".gitattributes": "*", "model.safetensors": "weights"}


class _Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *_: object) -> None:
        """Says nothing."""


@pytest.fixture
def mirror(tmp_path: Path) -> Iterator[tuple[Path, str]]:
    """A mirror's folder with one model, and its URL."""
    folder = tmp_path / "mirror"
    for name, text in FILES.items():
        path = folder / "m" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    handler = functools.partial(_Quiet, directory=str(folder))
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True).start()
        yield folder / "m", f"http://127.0.0.1:{server.server_port}/m"
        server.shutdown()


def fetch(store: Path, mirror: tuple[Path, str], manifest: str) -> list[str]:
    (mirror[0] / "MANIFEST").write_text(manifest)
    item = {"name": "m", "url": mirror[1], "folder": str(store), "manifest_program": str(PROGRAM)}
    host = {"model_items": [item | {"manifest_sha256": sha256_hex(manifest)}]}
    return play(store.parent, [_ROLE], inventory={"all": {"hosts": {"localhost": host}}})


def lying(store: Path) -> set[str]:
    found = {path.relative_to(store).as_posix() for path in store.rglob("*") if not path.is_dir()}
    return found - {"MANIFEST", ".verified"}


def test_what_the_manifest_lists_lies_there_and_nothing_else(mirror: tuple[Path, str], tmp_path: Path) -> None:
    store = tmp_path / "store"
    store.mkdir()
    (store / "model-00001-of-00002.safetensors").write_text("of a former version")
    (store / "link").symlink_to("/etc/hostname")
    assert fetch(store, mirror, manifest_text(digests_below(mirror[0]))) == []
    assert lying(store) == set(FILES)
    _, *lines = (store / ".verified").read_text().splitlines()
    noted = {
        name: (size, sha256) for name, type_, _, _, _, size, *_, sha256 in map(json.loads, lines) if type_ == "file"
    }
    assert noted == {name: (len(text), sha256_hex(text)) for name, text in FILES.items()} | {
        "MANIFEST": (len((store / "MANIFEST").read_bytes()), sha256_hex((store / "MANIFEST").read_bytes()))
    }


def test_manifests_that_lead_out_of_the_folder_are_refused(mirror: tuple[Path, str], tmp_path: Path) -> None:
    names = ["a/../../beside", "/srv/elsewhere", "a//b", "MANIFEST"]
    hosts = {}
    for number, name in enumerate(names):
        manifest = f"{sha256_hex('{}')}  config.json\n{sha256_hex('x')}  {name}\n"
        folder = mirror[0] / f"copy-{number}"
        folder.mkdir()
        (folder / "MANIFEST").write_text(manifest)
        (tmp_path / f"store-{number}").mkdir()
        url, store = f"{mirror[1]}/copy-{number}", str(tmp_path / f"store-{number}")
        item = {"name": "m", "url": url, "folder": store, "manifest_program": str(PROGRAM)}
        item["manifest_sha256"] = sha256_hex(manifest)
        hosts[f"host-{number}"] = {"ansible_connection": "local", "model_items": [item]}
    messages = play(tmp_path, [_ROLE], inventory={"all": {"hosts": hosts}}, hosts="all")
    assert len(messages) == len(names)
    assert all("a line of the model's MANIFEST is not `sha256  path`" in message for message in messages)
    assert not any(lying(tmp_path / f"store-{number}") for number in range(len(names)))


def test_a_file_that_is_not_what_the_manifest_says_is_never_called_verified(
    mirror: tuple[Path, str], tmp_path: Path
) -> None:
    store = tmp_path / "store"
    store.mkdir()
    manifest = manifest_text(digests_below(mirror[0]))
    (mirror[0] / "config.json").write_text("[]")
    [message] = fetch(store, mirror, manifest)
    assert "did not match" in message
    assert not (store / ".verified").exists()
