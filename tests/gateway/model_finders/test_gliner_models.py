"""GLiNER models in ONNX, real ones: a graph that adds up what words look like, asked with the words of the settings."""

from __future__ import annotations

import asyncio
import time
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from gliner_givens import INPUTS, save_gliner
from hypothesis import given
from hypothesis import strategies as st
from name_model_givens import KAZAKH, UNCUED, model_settings, two_workers_find

from sovctl.gateway.detect.models.gliner_model import Question, surest, windows
from sovctl.gateway.detect.models.onnx_files import open_files
from sovctl.gateway.model_finders import ModelFinderFailed, NameModel, load_models
from sovctl.gateway.settings import DetectSettings
from sovctl.support.errors import InputError

LABELS = {"person": "PERSON", "name of company": "ORG"}


def settings_of(folder: Path, **changes: Any) -> dict[str, Any]:
    return model_settings(
        folder, **{"kind": "gliner", "name": "gliner", "languages": ["en", "kk"], "labels": LABELS, **changes}
    )


def loaded(folder: Path, **changes: Any) -> NameModel:
    [model] = load_models(DetectSettings.model_validate({"models": [settings_of(folder, **changes)]}))
    return model


def found_in(model: NameModel, text: str) -> list[tuple[str, str]]:
    return [(text[f.start : f.end], f.entity_type.value) for f in asyncio.run(model.find([text])).get(text, [])]


@pytest.fixture(name="folder", scope="module")
def folder_fixture(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return save_gliner(tmp_path_factory.mktemp("gliner") / "model")


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("we met Ola Nordmann, and others", [("Ola Nordmann", "PERSON")]),
        ("Acme Bank and Ola Hansen", [("Acme Bank", "ORG"), ("Ola Hansen", "PERSON")]),
        ("Hansen", [("Hansen", "PERSON")]),  # a company's as well, but less surely
        ("ola ola ola ola ola", [("ola ola ola ola", "PERSON"), ("ola", "PERSON")]),  # four words at most
        ("perhaps", [("perhaps", "PERSON")]),
        (KAZAKH, [(UNCUED, "PERSON")]),
        ("ok \u200d Ola", [("Ola", "PERSON")]),  # a mark without tokens moves nothing
        ("<<ENT>> and [SEP] <<SEP>> Ola", [("Ola", "PERSON")]),  # no text can ask anything
        ("nobody", []),
        (" \n", []),
        ("", []),
    ],
)
def test_the_surest_of_overlapping_runs_of_words_is_found(
    folder: Path, text: str, found: list[tuple[str, str]]
) -> None:
    assert found_in(loaded(folder), text) == found


def test_only_what_is_asked_for_is_found_and_only_what_is_sure(folder: Path) -> None:
    text = "Acme and perhaps, and Ola"
    assert found_in(loaded(folder, labels={"company": "ORG"}), text) == [("Acme", "ORG")]
    assert found_in(loaded(folder, min_score=0.6), text) == [("Acme", "ORG"), ("Ola", "PERSON")]


@pytest.mark.parametrize(
    ("text", "starts", "input_ids", "words_mask"),
    [
        (
            "Ola Nordmann, Acme",
            [0, 4, 12, 14],
            [1, 3, 5, 3, 6, 7, 8, 4, 9, 10, 17, 0, 14, 2],
            [0, 0, 0, 0, 0, 0, 0, 0, 1, 2, 0, 3, 4, 0],
        ),
        (
            "Nord-Ola_and x@y",
            [0, 13, 14, 15],
            [1, 3, 5, 3, 6, 7, 8, 4, 10, 0, 9, 0, 19, 0, 0, 0, 2],
            [0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 2, 3, 4, 0],
        ),
        (
            "<<ENT>> Қоңырбай",
            [0, 1, 2, 5, 6, 8],
            [1, 3, 5, 3, 6, 7, 8, 4, 0, 0, 0, 0, 0, 13, 18, 2],
            [0, 0, 0, 0, 0, 0, 0, 0, 1, 2, 3, 4, 5, 6, 0, 0],
        ),
    ],
)
def test_the_model_is_given_what_the_package_gliner_gives_it(
    folder: Path, text: str, starts: list[int], input_ids: list[int], words_mask: list[int]
) -> None:
    """Literal: gliner 0.2.29 with this very tokenizer, `prepare_batch` and `collate_batch`."""
    question = Question(open_files(folder, "gliner_config.json"), list(LABELS))
    words = list(question.words(text))
    assert [word.start for word in words] == starts
    given_to_it = question.inputs(words)
    assert given_to_it["ids"] == input_ids
    assert given_to_it["words_mask"].tolist() == [words_mask]
    assert given_to_it["text_lengths"].tolist() == [[len(words)]]
    count = len(words)
    runs = [[start, start + more] for start in range(count) for more in range(4)]
    assert given_to_it["span_idx"].tolist() == [runs]
    assert given_to_it["span_mask"].tolist() == [[last < count for _, last in runs]]


@pytest.mark.parametrize("before", [*range(0, 90, 3), 1_000])
def test_a_name_is_found_wherever_it_stands_in_a_long_text(folder: Path, before: int) -> None:
    text = "and " * before + "Ola Nordmann" + " and" * before
    assert found_in(loaded(folder), text) == [("Ola Nordmann", "PERSON")]


def test_words_without_end_are_read_to_their_end(folder: Path) -> None:
    text = "and-" * 2_000 + " Ola"
    assert found_in(loaded(folder), text) == [("Ola", "PERSON")]


def test_a_text_that_takes_too_long_is_given_up_between_two_windows(folder: Path) -> None:
    question = Question(open_files(folder, "gliner_config.json"), list(LABELS))
    with pytest.raises(TimeoutError):
        question.entities("and " * 1_000, time.monotonic(), min_score=0.5)
    model = loaded(folder, timeout_s=0.001)
    with pytest.raises(ModelFinderFailed, match="timeout"):
        asyncio.run(model.find(["and " * 100_000]))


def test_a_model_whose_scores_are_no_numbers_has_found_nothing_out(tmp_path: Path) -> None:
    model = loaded(save_gliner(tmp_path / "model", nan_token="and"))
    assert found_in(model, "Ola") == [("Ola", "PERSON")]
    with pytest.raises(ModelFinderFailed, match="ValueError"):
        asyncio.run(model.find(["Ola and Acme"]))


def test_what_is_no_such_model_is_refused(tmp_path: Path) -> None:
    for name, inputs in (("of tokens", INPUTS[:4]), ("of two encoders", (*INPUTS, "labels_embeds"))):
        other = tmp_path / name
        save_gliner(other)
        _with_inputs(other, inputs)
        with pytest.raises(InputError, match="expected a GLiNER model of spans with one encoder, got one with"):
            loaded(other)
    with pytest.raises(InputError, match="expected `whitespace` as words_splitter_type, got `jieba`"):
        loaded(save_gliner(tmp_path / "jieba", words_splitter_type="jieba"))
    with pytest.raises(InputError, match="of one GLiNER model, got ValueError"):
        loaded(save_gliner(tmp_path / "other mark", ent_token="[CLS]"))
    with pytest.raises(InputError, match="expected 128 tokens for words besides the labels, got 1") as caught:
        loaded(save_gliner(tmp_path / "short", encoder_config={"max_position_embeddings": 128}))
    assert caught.value.hint == "name fewer labels, or shorter ones"
    broken = save_gliner(tmp_path / "broken")
    (broken / "model.onnx").write_bytes(b"no model")
    with pytest.raises(InputError, match="of one GLiNER model"):
        loaded(broken)
    (broken / "gliner_config.json").unlink()
    with pytest.raises(InputError, match=r"got no gliner_config\.json"):
        loaded(broken)


def test_a_label_that_says_nothing_is_refused(folder: Path) -> None:
    with pytest.raises(InputError, match="of one GLiNER model, got ValueError"):
        loaded(folder, labels={" ": "PERSON"})


def _with_inputs(folder: Path, inputs: tuple[str, ...]) -> None:
    """Make its model one that takes these and gives one of them back."""
    from importlib import import_module

    onnx = import_module("onnx")
    kind = onnx.TensorProto.INT64
    graph = onnx.helper.make_graph(
        [onnx.helper.make_node("Identity", ["input_ids"], ["logits"])],
        "other",
        [onnx.helper.make_tensor_value_info(name, kind, None) for name in inputs],
        [onnx.helper.make_tensor_value_info("logits", kind, None)],
    )
    made = onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", 17)], ir_version=9)
    onnx.save(made, str(folder / "model.onnx"))


@given(st.lists(st.integers(1, 9), max_size=200), st.integers(9, 40), st.integers(1, 30), st.integers(2, 20))
def test_windows_fit_and_each_word_is_begun_in_one_of_them(
    lengths: list[int], most_tokens: int, most_words: int, overlap: int
) -> None:
    parts = list(windows(lengths, most_tokens=most_tokens, most_words=most_words, overlap=overlap))
    begun = [word for _, _, first, stop in parts for word in range(first, stop)]
    assert begun == list(range(len(lengths)))
    for begin, end, first, stop in parts:
        assert begin <= first <= stop <= end
        assert end - begin <= most_words
        assert sum(lengths[begin:end]) <= most_tokens
    for (_, end, _, stop), (begin, *_) in pairwise(parts):
        if end - begin == overlap:
            assert end - stop >= overlap // 2 - 1  # words after the last that may begin a name


def test_a_word_that_fits_in_no_window_is_an_error() -> None:
    with pytest.raises(ValueError, match="more tokens than the model reads"):
        list(windows([3, 10, 3], most_tokens=9, most_words=5, overlap=2))


@given(
    st.lists(
        st.tuples(st.floats(0.5, 1), st.integers(0, 19), st.integers(0, 4), st.integers(0, 2)).map(
            lambda each: (each[0], each[1], min(each[1] + each[2], 19), each[3])
        ),
        max_size=30,
    )
)
def test_what_stays_does_not_overlap_and_what_goes_was_less_sure(runs: list[tuple[float, int, int, int]]) -> None:
    kept = list(surest(runs, 20))
    for one, other in pairwise(sorted(kept, key=lambda each: each[1])):
        assert one[2] < other[1]
    for run in runs:
        rivals = [each for each in kept if each[1] <= run[2] and run[1] <= each[2]]
        assert rivals
        assert max(each[0] for each in rivals) >= run[0]


def test_two_workers_serve_with_it(folder: Path, tmp_path: Path) -> None:
    two_workers_find("Қоңыр", settings_of(folder), tmp_path)
