"""A real spaCy pipeline of a rule or two, on the disk, and the settings that name it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import spacy
from echo_upstream import EchoUpstream
from loopback_gateway import running_gateway, say, write_loopback_config

from sovctl.gateway.detect.models.digest import sha256_of

UNCUED, OTHER = (
    "Тәжібала Қоңырбай",
    "Ерлан Бақытжанов",
)  # invented; the first has no cue
KAZAKH = f"Құрметті әріптестер, {UNCUED} бүгін банкке келіп, жаңа несие туралы өтініш берді және жауап күтіп отыр."


def save_pipeline(folder: Path, *names: str, label: str = "PER") -> Path:
    """A pipeline that knows these names by heart."""
    pipeline = spacy.blank("xx")
    ruler: Any = pipeline.add_pipe("entity_ruler")
    ruler.add_patterns([{"label": label, "pattern": name} for name in names])
    pipeline.to_disk(folder)
    return folder


def model_settings(path: Path, **changes: Any) -> dict[str, Any]:
    """An entry of `detect.models`."""
    return {
        "name": "kk-names",
        "kind": "spacy",
        "path": str(path),
        "sha256": sha256_of(path),
        "labels": {"PER": "PERSON"},
        "languages": ["kk"],
        **changes,
    }


def two_workers_find(name: str, settings: dict[str, Any], folder: Path, *, start_s: float = 60) -> None:
    """Serve with two workers and this model: `KAZAKH` goes to the cloud and comes back, and the name never leaves.

    Args:
        start_s: what the gateway may take to start.
    """
    with EchoUpstream() as cloud:
        config = write_loopback_config(
            folder,
            cloud_port=cloud.port,
            workers=2,
            detect={"models": [settings]},
            policy={"name_languages": ["kk"]},
        )
        with running_gateway(config, start_s=start_s) as gateway:
            for _ in range(6):
                status, headers, answer = gateway.post(say(KAZAKH))
                assert (status, headers["x-sovctl-route"]) == (200, "cloud")
                assert json.loads(answer)["choices"][0]["message"]["content"] == KAZAKH
        assert all(name not in raw.decode() for raw in cloud.raw)
        assert len(cloud.requests) == 6
