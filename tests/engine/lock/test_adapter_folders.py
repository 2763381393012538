"""Folders of LoRA adapters: accepted if they change only matrices of the model."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from sovctl.engine.lock.adapters import refused_adapter

GOOD = {"peft_type": "LORA", "r": 8, "lora_alpha": 16, "target_modules": ["q_proj", "v_proj"]}


def folder(tmp_path: Path, files: tuple[str, ...] = (), **changes: Any) -> Path:
    made = tmp_path / "contracts"
    made.mkdir()
    (made / "adapter_config.json").write_text(json.dumps({**GOOD, **changes}))
    for name in ("adapter_model.safetensors", *files):
        (made / name).write_bytes(b"{}")
    return made


@pytest.mark.parametrize(
    "changes",
    [{}, {"r": 16}, {"modules_to_save": None}, {"modules_to_save": ["score"]}, {"rank_pattern": {"q_proj": 16}}],
)
def test_accepts_an_adapter_of_matrices(tmp_path: Path, changes: dict[str, Any]) -> None:
    assert refused_adapter(folder(tmp_path, **changes), max_lora_rank=16) == []


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"r": 32}, "rank 32 is above max_lora_rank, 16"),
        ({"rank_pattern": {"q_proj": 64}}, "rank 64 is above"),
        ({"r": True}, "not a rank"),
        ({"rank_pattern": [8]}, "not a rank"),
        ({"peft_type": "IA3"}, "`peft_type`"),
        ({"target_modules": ["q_proj", "model.embed_tokens"]}, "vocabulary (model.embed_tokens)"),
        ({"target_modules": ["lm_head"]}, "vocabulary (lm_head)"),
        ({"target_modules": ".*lm_head"}, "is a pattern"),
        ({"target_modules": "all-linear"}, "is a pattern"),
        ({"target_modules": []}, "not a list of names"),
        ({"target_modules": [1]}, "not a list of names"),
        ({"modules_to_save": ["embed_tokens"]}, "`modules_to_save`"),
        ({"modules_to_save": [["score"]]}, "`modules_to_save`"),
        ({"trainable_token_indices": [5]}, "`trainable_token_indices`"),
        ({"layer_replication": [[0, 2]]}, "`layer_replication`"),
    ],
)
def test_refuses_an_adapter_that_changes_more(tmp_path: Path, changes: dict[str, Any], reason: str) -> None:
    (found,) = refused_adapter(folder(tmp_path, **changes), max_lora_rank=16)
    assert found.startswith("contracts/adapter_config.json: ")
    assert reason in found


@pytest.mark.parametrize("name", ["added_tokens.json", "tokenizer.json", "new_embeddings.safetensors"])
def test_refuses_a_tokenizer(tmp_path: Path, name: str) -> None:
    assert refused_adapter(folder(tmp_path, (name,)), max_lora_rank=16) == [f"contracts/{name}: a tokenizer of its own"]


def test_returns_all_reasons_of_a_broken_folder(tmp_path: Path) -> None:
    empty = tmp_path / "empty"
    empty.mkdir()
    assert len(refused_adapter(empty, max_lora_rank=16)) == 2
    made = folder(tmp_path, ("added_tokens.json",), r=32, peft_type="IA3")
    assert len(refused_adapter(made, max_lora_rank=16)) == 3
    for content, reason in (("{", "not JSON"), ("[]", "not a JSON object"), (" " * (1 << 20) + "{}", "at most")):
        (made / "adapter_config.json").write_text(content)
        assert any(reason in each for each in refused_adapter(made, max_lora_rank=16))
