"""Token classifiers in ONNX, real ones: a table of scores for each token, made here."""

from __future__ import annotations

import asyncio
import json
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
from name_model_givens import KAZAKH, UNCUED, model_settings, two_workers_find

from sovctl.gateway.model_finders import ModelFinderFailed, NameModel, load_models
from sovctl.gateway.settings import DetectSettings
from sovctl.support.errors import InputError

numpy, onnx, tokenizers = (import_module(name) for name in ("numpy", "onnx", "tokenizers"))  # untyped

LABELS = ["O", "B-PER", "I-PER", "B-ORG", "I-ORG"]
# Piece of a word -> label and its score before it is made a probability.
PIECES = {
    "ola": ("B-PER", 9.0),
    "nord": ("I-PER", 9.0),
    "##mann": ("O", 9.0),
    "##manns": ("B-PER", 2.0),
    "тәжібала": ("B-PER", 9.0),
    "қоңыр": ("I-PER", 9.0),
    "##бай": ("I-PER", 9.0),
    "acme": ("B-ORG", 9.0),
    "perhaps": ("B-PER", 0.1),
}


def save_classifier(folder: Path, labels: list[str] = LABELS, **config: Any) -> Path:
    """A classifier that knows these pieces by heart and calls everything else `O`."""
    folder.mkdir(parents=True)
    words = ["[UNK]", "[CLS]", "[SEP]", *PIECES, "and"]
    vocabulary = {word: number for number, word in enumerate(words)}
    model = tokenizers.models.WordPiece(vocabulary, unk_token="[UNK]")
    tokenizer = tokenizers.Tokenizer(model)
    tokenizer.normalizer = tokenizers.normalizers.Lowercase()
    tokenizer.pre_tokenizer = tokenizers.pre_tokenizers.BertPreTokenizer()
    tokenizer.post_processor = tokenizers.processors.TemplateProcessing(
        single="[CLS] $A [SEP]", special_tokens=[("[CLS]", 1), ("[SEP]", 2)]
    )
    tokenizer.save(str(folder / "tokenizer.json"))
    table = numpy.zeros((len(words), len(LABELS)), dtype=numpy.float32)
    table[:, 0] = 5
    for piece, (label, score) in PIECES.items():
        table[vocabulary[piece]] = 0
        table[vocabulary[piece], LABELS.index(label)] = score
    helper, kinds = onnx.helper, onnx.TensorProto
    graph = helper.make_graph(
        [helper.make_node("Gather", ["table", "input_ids"], ["logits"])],
        "classifier",
        [helper.make_tensor_value_info("input_ids", kinds.INT64, [1, "tokens"])],
        [helper.make_tensor_value_info("logits", kinds.FLOAT, [1, "tokens", len(LABELS)])],
        [onnx.numpy_helper.from_array(table, "table")],
    )
    made = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)
    onnx.save(made, str(folder / "model.onnx"))
    names = {str(number): label for number, label in enumerate(labels)}
    (folder / "config.json").write_text(json.dumps({"id2label": names, "max_position_embeddings": 130, **config}))
    return folder


def settings_of(folder: Path, **changes: Any) -> dict[str, Any]:
    return model_settings(folder, kind="onnx", name="onnx-names", languages=["en", "kk"], **changes)


def loaded(folder: Path, **changes: Any) -> NameModel:
    [model] = load_models(DetectSettings.model_validate({"models": [settings_of(folder, **changes)]}))
    return model


def found_in(model: NameModel, text: str) -> list[str]:
    return [text[f.start : f.end] for f in asyncio.run(model.find([text])).get(text, [])]


@pytest.fixture(name="folder", scope="module")
def folder_fixture(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return save_classifier(tmp_path_factory.mktemp("onnx") / "model")


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("we met Ola Nordmann and others", ["Ola Nordmann"]),
        ("we met Ola Ola Nordmann", ["Ola", "Ola Nordmann"]),
        ("we met Ola, Nordmann", ["Ola", "Nordmann"]),
        ("Nordmanns house", ["Nordmanns"]),
        (KAZAKH, [UNCUED]),
        ("nobody", []),
        ("", []),
    ],
)
def test_words_in_a_row_are_one_name_and_never_half_a_word(folder: Path, text: str, found: list[str]) -> None:
    assert found_in(loaded(folder), text) == found


def test_labels_that_are_not_mapped_and_doubtful_names_do_not_count(folder: Path) -> None:
    text = "Acme and perhaps Ola"
    assert found_in(loaded(folder, min_score=0.9), text) == ["Ola"]
    assert found_in(loaded(folder, labels={"ORG": "ORG", "PER": "PERSON"}), text) == ["Acme", "perhaps", "Ola"]


@pytest.mark.parametrize("before", [*range(50, 200, 7), 1_000])
def test_a_name_is_found_wherever_it_stands_in_a_long_text(folder: Path, before: int) -> None:
    text = "and " * before + "Ola Nordmann" + " and" * before
    assert found_in(loaded(folder), text) == ["Ola Nordmann"]


def test_a_classifier_whose_scores_are_no_numbers_has_found_nothing_out(tmp_path: Path) -> None:
    folder = save_classifier(tmp_path / "nan")
    made = onnx.load(str(folder / "model.onnx"))
    table = onnx.numpy_helper.to_array(made.graph.initializer[0]).copy()
    table[-1] = numpy.nan  # of the last word, "and"
    made.graph.initializer[0].CopyFrom(onnx.numpy_helper.from_array(table, "table"))
    onnx.save(made, str(folder / "model.onnx"))
    model = loaded(folder)
    assert found_in(model, "Ola") == ["Ola"]
    with pytest.raises(ModelFinderFailed, match="ValueError"):
        asyncio.run(model.find(["Ola and Acme"]))


def test_what_is_no_such_classifier_is_refused(tmp_path: Path) -> None:
    few = save_classifier(tmp_path / "few", LABELS[:3])
    with pytest.raises(InputError, match="of one token classifier, got ValueError"):
        loaded(few)
    broken = save_classifier(tmp_path / "broken")
    (broken / "config.json").write_text("{}")
    with pytest.raises(InputError, match="of one token classifier, got KeyError"):
        loaded(broken)
    (broken / "model.onnx").write_bytes(b"no model")
    with pytest.raises(InputError, match="of one token classifier"):
        loaded(broken)
    (broken / "tokenizer.json").unlink()
    with pytest.raises(InputError, match=r"got no tokenizer\.json"):
        loaded(broken)


def test_two_workers_serve_with_it(folder: Path, tmp_path: Path) -> None:
    two_workers_find("Қоңыр", settings_of(folder), tmp_path)
