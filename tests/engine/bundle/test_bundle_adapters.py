"""Adapters of a bundle are checked again at the site, also if their builder did not check them."""

from __future__ import annotations

import json
import struct
from typing import Any

import pytest
from bundle_specimens import Builder
from intake_specimens import Site, first

from sovctl.engine.bundle.intake.history import State
from sovctl.engine.bundle.trust import Refused

GOOD = {"peft_type": "LORA", "r": 8, "lora_alpha": 16, "target_modules": ["q_proj", "v_proj"]}
HEADER = json.dumps({"w": {"dtype": "F32", "shape": [1], "data_offsets": [0, 4]}}).encode()
WEIGHTS = struct.pack("<Q", len(HEADER)) + HEADER + bytes(4)


def adapter(name: str, files: dict[str, bytes] | None = None, **changes: Any) -> dict[str, bytes]:
    """The files of an adapter below the models of a bundle."""
    config = json.dumps({**GOOD, **changes}).encode()
    found = {"adapter_config.json": config, "adapter_model.safetensors": WEIGHTS, **(files or {})}
    return {f"models/{name}/{path}": content for path, content in found.items()}


def test_an_adapter_of_matrices_is_imported(builder: Builder, site: Site) -> None:
    store, _ = builder.build(adapter("contracts"))
    assert site.receive([store.root], first(builder)).state is State.SCANNED
    site.approve("1")
    assert "models/contracts/adapter_config.json" in site.published()


@pytest.mark.parametrize(
    ("files", "changes", "reason"),
    [
        ({"added_tokens.json": b"{}"}, {}, r"models/contracts/added_tokens\.json: a tokenizer of its own"),
        ({}, {"target_modules": ["lm_head"]}, "contains the vocabulary"),
        ({}, {"r": 1024}, "rank 1024 is above max_lora_rank, 512"),
        ({"adapter_config.json": b"[]"}, {}, "not a JSON object"),
    ],
)
def test_another_adapter_is_refused_before_a_person_approves(
    builder: Builder, site: Site, files: dict[str, bytes], changes: dict[str, Any], reason: str
) -> None:
    store, _ = builder.build(adapter("contracts", files, **changes))
    with pytest.raises(Refused, match=reason):
        site.receive([store.root], first(builder))
    assert not site.store.current.exists()


def test_a_file_that_the_site_already_has_is_part_of_the_adapter(builder: Builder, site: Site) -> None:
    tokens = {"models/echo/added_tokens.json": b"{}"}
    site.receive([builder.build(tokens)[0].root], first(builder))
    site.approve("1")
    second, _ = builder.build({**tokens, **adapter("contracts", {"added_tokens.json": b"{}"})}, sequence=2)
    with pytest.raises(Refused, match=r"models/contracts/added_tokens\.json"):
        site.receive([second.root])
