"""A real sequence classifier in ONNX, made here: a table of scores for each token, and the highest of a text."""

from __future__ import annotations

import json
from importlib import import_module
from pathlib import Path
from typing import Any

from sovctl.gateway.detect.models.digest import sha256_of

numpy, onnx, tokenizers = (import_module(name) for name in ("numpy", "onnx", "tokenizers"))  # untyped

LABELS = ["SAFE", "INJECTION", "JAILBREAK"]
WORDS = {"disregard": ("INJECTION", 12.0), "dan": ("JAILBREAK", 12.0), "maybe": ("INJECTION", 3.2)}
BROKEN = "unreadable"
"""A word whose score is no number."""


def save_classifier(folder: Path, **config: Any) -> Path:
    """A classifier that flags texts with one of `WORDS`, and calls everything else `SAFE`."""
    folder.mkdir(parents=True)
    words = ["[UNK]", "[CLS]", "[SEP]", *WORDS, BROKEN]
    vocabulary = {word: number for number, word in enumerate(words)}
    tokenizer = tokenizers.Tokenizer(tokenizers.models.WordPiece(vocabulary, unk_token="[UNK]"))
    tokenizer.normalizer = tokenizers.normalizers.Lowercase()
    tokenizer.pre_tokenizer = tokenizers.pre_tokenizers.BertPreTokenizer()
    tokenizer.post_processor = tokenizers.processors.TemplateProcessing(
        single="[CLS] $A [SEP]", special_tokens=[("[CLS]", 1), ("[SEP]", 2)]
    )
    tokenizer.save(str(folder / "tokenizer.json"))
    table = numpy.zeros((len(words), len(LABELS)), dtype=numpy.float32)
    table[:, 0] = 3
    for word, (label, score) in WORDS.items():
        table[vocabulary[word], LABELS.index(label)] = score
    table[vocabulary[BROKEN]] = numpy.inf
    helper, kinds = onnx.helper, onnx.TensorProto
    graph = helper.make_graph(
        [
            helper.make_node("Gather", ["table", "input_ids"], ["tokens"]),
            helper.make_node("ReduceMax", ["tokens", "axis"], ["logits"], keepdims=0),
        ],
        "classifier",
        [helper.make_tensor_value_info("input_ids", kinds.INT64, [1, "tokens"])],
        [helper.make_tensor_value_info("logits", kinds.FLOAT, [1, len(LABELS)])],
        [
            onnx.numpy_helper.from_array(table, "table"),
            onnx.numpy_helper.from_array(numpy.array([1], dtype=numpy.int64), "axis"),
        ],
    )
    made = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=9)
    onnx.save(made, str(folder / "model.onnx"))
    names = {str(number): label for number, label in enumerate(LABELS)}
    (folder / "config.json").write_text(json.dumps({"id2label": names, "max_position_embeddings": 202, **config}))
    return folder


def screen_settings(folder: Path, **changes: Any) -> dict[str, Any]:
    """An entry of `detect.screens`."""
    return {
        "name": "injection",
        "kind": "onnx",
        "path": str(folder),
        "sha256": sha256_of(folder),
        "labels": {"INJECTION": 0.9, "JAILBREAK": 0.9},
        **changes,
    }
