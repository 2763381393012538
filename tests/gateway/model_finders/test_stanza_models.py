"""stanza pipelines, real ones, trained here: where a site has installed stanza and torch, as nobody's lock has them."""

from __future__ import annotations

import asyncio
import importlib.util
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import stanza_givens
from name_model_givens import KAZAKH, OTHER, UNCUED, model_settings, two_workers_find

from sovctl.gateway.model_finders import NameModel, load_models
from sovctl.gateway.settings import DetectSettings
from sovctl.support.errors import InputError

pytestmark = [
    pytest.mark.skipif(importlib.util.find_spec("stanza") is None, reason="stanza is not installed"),
    pytest.mark.filterwarnings("ignore"),  # torch's and stanza's own
    pytest.mark.slow,
]


@pytest.fixture(name="folder", scope="module")
def folder_fixture(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("stanza") / "models"
    program = [sys.executable, "-W", "ignore", stanza_givens.__file__, str(folder)]
    done = subprocess.run(program, env={**os.environ, "OMP_NUM_THREADS": "1"}, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return folder


def settings_of(folder: Path, **changes: Any) -> dict[str, Any]:
    return model_settings(folder, kind="stanza", name="stanza", timeout_s=60, **changes)


def loaded(folder: Path, **changes: Any) -> NameModel:
    [model] = load_models(DetectSettings.model_validate({"models": [settings_of(folder, **changes)]}))
    return model


def test_names_are_found_in_one_sentence_and_in_many(folder: Path) -> None:
    model = loaded(folder)
    for text in (KAZAKH, f"Бүгін {OTHER} келіп отыр.", f"{KAZAKH}\n\n" * 30, "", " \n\n "):
        found = asyncio.run(model.find([text])).get(text, [])
        names = [text[finding.start : finding.end] for finding in found]
        assert names == [name for name in (UNCUED, OTHER) for _ in range(text.count(name))]
        assert {finding.rule for finding in found} <= {"MODEL_STANZA"}


def test_what_is_no_such_folder_is_refused(folder: Path, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"expected labels of the model \(PER\), got PERSON"):
        loaded(folder, labels={"PERSON": "PERSON"})
    several = shutil.copytree(folder, tmp_path / "several")
    (several / "ru/ner").mkdir(parents=True)
    with pytest.raises(InputError, match="expected one language with a folder `ner`, got kk, ru"):
        loaded(several)
    for name in ("resources.json", "kk/ner/toy.pt", "kk/tokenize/toy.pt"):
        lacking = shutil.copytree(folder, tmp_path / name.replace("/", "-"))
        (lacking / name).unlink()
        with pytest.raises(InputError, match=r"models that stanza 1\.\S+ loads, got \w+"):
            loaded(lacking)


def test_two_workers_serve_with_it(folder: Path, tmp_path: Path) -> None:
    # torch and stanza take nine seconds of CPU to import.
    two_workers_find("Қоңыр", settings_of(folder), tmp_path, start_s=300)
