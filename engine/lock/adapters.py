"""Refuses folders of LoRA adapters that change more than the matrices of a model.

An adapter is loaded next to a shared base model, so its folder must leave tokenizer and vocabulary as they are:

- `adapter_config.json` describes a LoRA adapter of PEFT whose ranks are at most `max_lora_rank` of the pool;
- no added tokens, trained token rows or replaced layers, which change the ids or the size of the vocabulary;
- weights are safetensors. `models.refused_files` refuses pickles and code.

Source of the accepted fields: vLLM 0.32.0, lora/peft_helper.py, read 2026-11.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from sovctl.support.bounded_files import read_bounded
from sovctl.support.errors import InputError

CONFIG = "adapter_config.json"
WEIGHTS = "adapter_model.safetensors"
MAX_CONFIG_BYTES = 1 << 20
"""An adapter_config.json has 1 to 3 KB; kind: guess, 2026-11."""
MAX_RANK = 512
"""Highest `max_lora_rank` of vLLM 0.32.0, config/lora.py."""
_VOCABULARY = frozenset({"embed_tokens", "lm_head", "wte", "embeddings", "word_embeddings"})
"""Layers whose rows are tokens; an adapter of them can require another tokenizer."""
_HEADS = frozenset({"classifier", "score"})
"""Layers of a classifier that an adapter may replace."""
_CHANGED_LAYERS = ("trainable_token_indices", "target_parameters", "layer_replication")
"""Fields of adapter_config.json that train, replace or repeat layers besides the matrices."""
_TOKENIZER = ("added_tokens.json", "new_embeddings.safetensors", "tokenizer.json", "tokenizer_config.json",
              "special_tokens_map.json", "tokenizer.model", "vocab.json", "merges.txt")  # fmt: skip
"""Files with which an adapter brings a tokenizer or rows of new tokens."""


def refused_adapter(folder: Path, *, max_lora_rank: int) -> list[str]:
    """Return a line for each reason to refuse the folder of an adapter, sorted by text.

    Args:
        max_lora_rank: `pools[].lora.max_lora_rank` of the adapter's pool.
    """
    files = {each.name: each for each in folder.iterdir()} if folder.is_dir() else {}
    return [f"{folder.name}/{reason}" for reason in refused_adapter_files(files, max_lora_rank=max_lora_rank)]


def refused_adapter_files(files: Mapping[str, Path], *, max_lora_rank: int = MAX_RANK) -> list[str]:
    """Return a line for each reason to refuse the files of an adapter, sorted by text.

    Args:
        files: with the contents, by name in the adapter's folder.
        max_lora_rank: the highest rank of vLLM if the pool of the adapter is unknown.
    """
    found = [f"{name}: a tokenizer of its own" for name in _TOKENIZER if name in files]
    if WEIGHTS not in files or not files[WEIGHTS].is_file():
        found.append(f"{WEIGHTS}: no such file")
    try:
        config = json.loads(read_bounded(files[CONFIG], MAX_CONFIG_BYTES))
    except (KeyError, OSError, InputError):
        return sorted([*found, f"{CONFIG}: not a file of at most {MAX_CONFIG_BYTES} bytes"])
    except (ValueError, RecursionError):
        return sorted([*found, f"{CONFIG}: not JSON"])
    if not isinstance(config, dict):
        return sorted([*found, f"{CONFIG}: not a JSON object"])
    return sorted([*found, *(f"{CONFIG}: {reason}" for reason in _reasons(config, max_lora_rank))])


def _reasons(config: Mapping[str, Any], max_lora_rank: int) -> Iterator[str]:
    if config.get("peft_type") != "LORA":
        yield "`peft_type` is not LORA"
    saved = config.get("modules_to_save") or []
    if not isinstance(saved, list) or not all(isinstance(each, str) and each in _HEADS for each in saved):
        yield "`modules_to_save` replaces layers of the model"
    for field in _CHANGED_LAYERS:
        if config.get(field):
            yield f"`{field}` changes layers besides the matrices of the adapter"
    targets = config.get("target_modules")
    if isinstance(targets, str):
        yield f"`target_modules` is a pattern, {targets[:80]!r}; list the modules"
    elif not isinstance(targets, list) or not targets or not all(isinstance(each, str) for each in targets):
        yield "`target_modules` is not a list of names"
    else:
        for name in targets:
            if set(name.split(".")) & _VOCABULARY:
                yield f"`target_modules` contains the vocabulary ({name})"
    pattern = config.get("rank_pattern") or {}
    ranks = [config.get("r"), *(pattern.values() if isinstance(pattern, dict) else [None])]
    if not all(isinstance(rank, int) and not isinstance(rank, bool) and rank > 0 for rank in ranks):
        yield "`r` or `rank_pattern` is not a rank"
    elif (rank := max(ranks)) > max_lora_rank:
        yield f"rank {rank} is above max_lora_rank, {max_lora_rank}, of the pool"
