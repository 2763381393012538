"""A real GLiNER folder: a tokenizer of pieces, and a graph that scores runs of words for the labels it is asked for."""

from __future__ import annotations

import json
from importlib import import_module
from pathlib import Path
from typing import Any

numpy, onnx, tokenizers = (import_module(name) for name in ("numpy", "onnx", "tokenizers"))  # untyped

SPECIAL = ["[UNK]", "[CLS]", "[SEP]", "<<ENT>>", "<<SEP>>"]
LABELS = {"person": [1.0, 0.0], "name": [0.0, 0.0], "of": [0.0, 0.0], "company": [0.0, 1.0]}
# The first piece of a word -> how much it looks like part of a person's name, and of a company's.
PIECES = {
    "ola": [4.0, -9.0],
    "nord": [4.0, -9.0],
    "hansen": [5.0, 3.0],
    "тәжібала": [4.0, -9.0],
    "қоңыр": [4.0, -9.0],
    "acme": [-9.0, 4.0],
    "bank": [-9.0, 4.0],
    "perhaps": [2.2, -9.0],  # 0.55
    "##mann": [0.0, 0.0],
    "##бай": [0.0, 0.0],
    "and": [-9.0, -9.0],
    "##s": [0.0, 0.0],
}
WORDS = [*SPECIAL, *LABELS, *PIECES]
INPUTS = ("input_ids", "attention_mask", "words_mask", "text_lengths", "span_idx", "span_mask")


def save_gliner(folder: Path, *, inputs: tuple[str, ...] = INPUTS, nan_token: str = "", **config: Any) -> Path:
    """A model that scores a run of words by the sum of what its words look like.

    Args:
        inputs: that the graph has; more than the usual are left unused.
        nan_token: a piece whose score is no number.
    """
    folder.mkdir(parents=True)
    tokenizer().save(str(folder / "tokenizer.json"))
    onnx.save(_graph(inputs, nan_token), str(folder / "model.onnx"))
    (folder / "gliner_config.json").write_text(
        json.dumps({"max_width": 4, "max_len": 40, "ent_token": "<<ENT>>", "sep_token": "<<SEP>>", **config})
    )
    return folder


def tokenizer() -> Any:
    """Word pieces, as BERT has them; invisible marks have none."""
    made = tokenizers.Tokenizer(tokenizers.models.WordPiece({w: n for n, w in enumerate(WORDS)}, unk_token="[UNK]"))
    made.normalizer = tokenizers.normalizers.BertNormalizer(strip_accents=False)
    made.pre_tokenizer = tokenizers.pre_tokenizers.BertPreTokenizer()
    made.post_processor = tokenizers.processors.TemplateProcessing(
        single="[CLS] $A [SEP]", special_tokens=[("[CLS]", 1), ("[SEP]", 2)]
    )
    made.add_special_tokens(SPECIAL)
    return made


def _graph(inputs: tuple[str, ...], nan_token: str) -> Any:
    helper, kinds = onnx.helper, onnx.TensorProto
    looks = numpy.full((len(WORDS), 2), -9, dtype=numpy.float32)
    asked = numpy.zeros((len(WORDS), 2), dtype=numpy.float32)
    for words, table in ((PIECES, looks), (LABELS, asked)):
        for word, row in words.items():
            table[WORDS.index(word)] = row
    if nan_token:
        looks[WORDS.index(nan_token)] = numpy.nan
    constants = {
        "looks": looks,
        "asked": asked,
        "ent": numpy.array(SPECIAL.index("<<ENT>>"), dtype=numpy.int64),
        "sep": numpy.array(SPECIAL.index("<<SEP>>"), dtype=numpy.int64),
        "zero": numpy.array(0, dtype=numpy.int64),
        "one": numpy.array(1, dtype=numpy.int64),
        "first": numpy.array([0], dtype=numpy.int64),
        "second": numpy.array([1], dtype=numpy.int64),
        "many": numpy.array([2**31], dtype=numpy.int64),
        "off_on": numpy.array([0, 1], dtype=numpy.float32),
        "nothing": numpy.zeros((1, 2), dtype=numpy.float32),
        "doubt": numpy.array(2, dtype=numpy.float32),
        "as_many": numpy.array([-1], dtype=numpy.int64),
    }
    nodes = [
        # What each word looks like: that of the token which `words_mask` says is its first.
        ("Squeeze", ["input_ids", "first"], "ids"),
        ("Gather", ["looks", "ids"], "tokens"),
        ("ReduceMax", ["text_lengths"], "count"),
        ("Add", ["count", "one"], "depth"),
        ("Squeeze", ["words_mask", "first"], "numbers"),
        ("OneHot", ["numbers", "depth", "off_on"], "which"),
        ("Transpose", ["which"], "of_word"),
        ("MatMul", ["of_word", "tokens"], "with_prompt"),
        ("Slice", ["with_prompt", "second", "many", "first"], "words"),
        ("CumSum", ["words", "zero"], "sums"),
        ("Concat", ["nothing", "sums"], "until"),
        # What each run of words looks like: the sum of its words.
        ("Cast", ["span_mask"], "valid"),
        ("Unsqueeze", ["valid", "as_many"], "valid_pair"),
        ("Mul", ["span_idx", "valid_pair"], "runs"),
        ("Gather", ["runs", "zero"], "starts"),
        ("Gather", ["runs", "one"], "lasts"),
        ("Add", ["lasts", "one"], "ends"),
        ("Gather", ["until", "ends"], "to"),
        ("Gather", ["until", "starts"], "from"),
        ("Sub", ["to", "from"], "run_looks"),
        # What is asked for: the sum of the words between one mark and the next.
        ("Gather", ["asked", "ids"], "asked_by_token"),
        ("Equal", ["ids", "ent"], "is_ent"),
        ("Equal", ["ids", "sep"], "is_sep"),
        ("Or", ["is_ent", "is_sep"], "is_mark"),
        ("NonZero", ["is_mark"], "marks"),
        ("Squeeze", ["marks", "first"], "places"),
        ("Slice", ["places", "first", "as_many", "first"], "label_starts"),
        ("Slice", ["places", "second", "many", "first"], "label_ends"),
        ("CumSum", ["asked_by_token", "zero"], "asked_sums"),
        ("Concat", ["nothing", "asked_sums"], "asked_until"),
        ("Gather", ["asked_until", "label_ends"], "label_to"),
        ("Gather", ["asked_until", "label_starts"], "label_from"),
        ("Sub", ["label_to", "label_from"], "labels"),
        # How well the one fits the other: by text, word, words more, label.
        ("Transpose", ["labels"], "turned"),
        ("MatMul", ["run_looks", "turned"], "fit"),
        ("Sub", ["fit", "doubt"], "scores"),
        ("Shape", ["span_mask"], "span_shape"),
        ("Slice", ["span_shape", "second", "many", "first"], "spans"),
        ("Reshape", ["count", "second"], "words_count"),
        ("Div", ["spans", "words_count"], "width"),
        ("Concat", ["second", "words_count", "width", "as_many"], "shape"),
        ("Reshape", ["scores", "shape"], "logits"),
    ]
    shapes = {"text_lengths": [1, 1], "span_idx": [1, "spans", 2], "span_mask": [1, "spans"]}
    types = {"span_mask": kinds.BOOL}
    graph = helper.make_graph(
        [_node(helper, *each) for each in nodes],
        "gliner",
        [helper.make_tensor_value_info(n, types.get(n, kinds.INT64), shapes.get(n, [1, "tokens"])) for n in inputs],
        [helper.make_tensor_value_info("logits", kinds.FLOAT, [1, "words", "width", "labels"])],
        [onnx.numpy_helper.from_array(value, name) for name, value in constants.items()],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)


def _node(helper: Any, op: str, given: list[str], name: str) -> Any:
    settings: dict[str, Any] = {
        "ReduceMax": {"keepdims": 0},
        "OneHot": {"axis": -1},
        "Concat": {"axis": 0},
        "Cast": {"to": onnx.TensorProto.INT64},
        "Transpose": {"perm": [1, 0]},
    }.get(op, {})
    if name in ("starts", "lasts"):
        settings = {"axis": 2}
    return helper.make_node(op, given, [name], **settings)
