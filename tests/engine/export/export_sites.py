"""Exports of example sites, with an image table of invented digests."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import yaml
from strategies import EXAMPLES

from sovctl.engine.export.images import PURPOSES
from sovctl.engine.export.read import read_source, rendered
from sovctl.engine.export.source import Target

IMAGES = {name: f"registry.example/ai/{name}@sha256:{index:064x}" for index, name in enumerate(PURPOSES)}
PRESETS = ("bank-hybrid", "closed-perimeter", "superpod-b200")
"""Sites with GPUs; the last one has a pool whose replicas are on two nodes each."""


def image_table(folder: Path, images: Mapping[str, str] = IMAGES) -> Path:
    """Write an image table."""
    path = folder / "images.yaml"
    path.write_text(yaml.safe_dump({"images": dict(images)}))
    return path


def site_text(preset: str) -> str:
    """Return the site.yaml of an example."""
    return (EXAMPLES / preset / "site.yaml").read_text()


FORMS = (("kubernetes", "lws"), ("kubernetes", "kserve"), ("ray", "lws"))
"""Targets, with what serves a pool."""
_EXPORTED: dict[tuple[str, Target, str], dict[str, str]] = {}


def exported(folder: Path, text: str, target: Target = Target.KUBERNETES, serving: str = "lws") -> dict[str, str]:
    """Return the files of an export of a site.yaml, which is computed once: sizing takes a second."""
    key = (text, target, serving)
    if key not in _EXPORTED:
        _EXPORTED[key] = export(folder, *key)
    return _EXPORTED[key]


def export(folder: Path, text: str, target: Target, serving: str = "lws") -> dict[str, str]:
    """Return the files of a new export of a site.yaml."""
    site = folder / "site.yaml"
    site.write_text(text)
    source = read_source(target, site, image_table(folder), serving=serving, lock=None)
    return rendered(target, source)[0]


def objects(files: Mapping[str, str]) -> list[dict[str, Any]]:
    """Return all objects of a folder, without the kustomization."""
    names = [name for name in files if name.endswith(".yaml") and name != "kustomization.yaml"]
    return [each for name in names for each in yaml.safe_load_all(files[name])]


def of_kind(files: Mapping[str, str], kind: str) -> list[dict[str, Any]]:
    """Return the objects of a kind."""
    return [each for each in objects(files) if each["kind"] == kind]


def pods(files: Mapping[str, str]) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield namespace and pod specification of every workload."""
    for each in objects(files):
        yield from ((each["metadata"].get("namespace", ""), spec) for spec in _pod_specs(each.get("spec", {})))


def _pod_specs(value: Any) -> Iterator[dict[str, Any]]:
    if isinstance(value, dict):
        if isinstance(value.get("containers"), list):
            yield value
        else:
            for each in value.values():
                yield from _pod_specs(each)
    elif isinstance(value, list):
        for each in value:
            yield from _pod_specs(each)
