"""A real stanza pipeline, trained here in half a minute on invented sentences by stanza's own trainers.

Run as a program by those who have stanza and torch: `python stanza_givens.py FOLDER`.
"""

from __future__ import annotations

import json
import random
import sys
from importlib import import_module
from pathlib import Path
from typing import Any

from name_model_givens import KAZAKH, OTHER, UNCUED

LANGUAGE, PACKAGE = "kk", "toy"
_NAMES = [UNCUED, OTHER, "Сәуле Жарқынбек", "Дархан Ержігіт"]


def train_pipeline(folder: Path) -> Path:
    """A tokenizer and a tagger that have learnt a few names, as `stanza.download` would lay them."""
    folder.mkdir(parents=True)
    work = folder.with_name(f"{folder.name}-work")
    work.mkdir()
    sentences = _sentences(random.Random(1))
    _train_tokenizer(work, folder / LANGUAGE / "tokenize", sentences)
    _train_tagger(work, folder / LANGUAGE / "ner", sentences)
    packages = {"tokenize": PACKAGE, "ner": PACKAGE}
    resources: dict[str, Any] = {name: {package: {}} for name, package in packages.items()}
    resources |= {"lang_name": "Kazakh", "packages": {"default": packages}}
    (folder / "resources.json").write_text(json.dumps({LANGUAGE: resources}))
    return folder


def _sentences(chance: random.Random) -> list[list[tuple[str, str]]]:
    words = KAZAKH.replace(UNCUED, "").replace(",", "").replace(".", "").lower().split()
    made = []
    for _ in range(160):
        sentence = [(word, "O") for word in chance.choices(words, k=chance.randint(2, 9))]
        for name in chance.sample(_NAMES, chance.randint(0, 2)):
            given, family = name.split()
            at = chance.randint(0, len(sentence))
            sentence[at:at] = [(given, "B-PER"), (family, "E-PER")]
        if chance.random() < 0.5:
            sentence.insert(chance.randint(1, len(sentence) - 1), (",", "O"))
        made.append([(sentence[0][0].capitalize(), sentence[0][1]), *sentence[1:], (".", "O")])
    return made


def _train_tokenizer(work: Path, folder: Path, sentences: list[list[tuple[str, str]]]) -> None:
    """Learnt from characters, each with what ends after it: 1 a word, 2 a sentence."""
    text, labels = "", ""
    for at, sentence in enumerate(sentences):
        if at and at % 4 == 0:
            text, labels = f"{text}\n\n", f"{labels}\n\n"
        for number, (word, _) in enumerate(sentence):
            space = " " if text and not text.endswith("\n") and word not in ",." else ""
            is_last = number == len(sentence) - 1
            text += space + word
            labels += "0" * (len(space) + len(word) - 1) + ("2" if is_last else "1")
    (work / "text").write_text(text)
    (work / "labels").write_text(labels)
    (work / "expansions.json").write_text("[]")
    files = [f"--{dev}{kind}_file={work / name}" for dev in ("", "dev_") for kind, name in _FILES.items()]
    import_module("stanza.models.tokenizer").main(
        [
            *files,
            *_options(folder),
            *("--steps=300", "--eval_steps=100000", "--batch_size=8", "--emb_dim=16", "--hidden_dim=16"),
            *("--no_use_mwt", f"--lang={LANGUAGE}", f"--mwt_json_file={work / 'expansions.json'}"),
        ]
    )


_FILES = {"txt": "text", "label": "labels"}


def _options(folder: Path) -> tuple[str, ...]:
    return (f"--save_dir={folder}", f"--save_name={PACKAGE}.pt", "--shorthand=kk_toy", "--cpu")


def _train_tagger(work: Path, folder: Path, sentences: list[list[tuple[str, str]]]) -> None:
    plain = [[{"text": word, "ner": tag} for word, tag in sentence] for sentence in sentences]
    (work / "tagged.json").write_text(json.dumps(plain))
    data = f"{work / 'tagged.json'}"
    import_module("stanza.models.ner_tagger").main(
        [
            *(f"--train_file={data}", f"--eval_file={data}"),
            *_options(folder),
            *("--no_pretrain", "--optim=adam", "--lr=0.01", "--batch_size=16", "--max_steps=150", "--eval_interval=50"),
            *("--hidden_dim=24", "--char_hidden_dim=16", "--char_emb_dim=16", "--word_emb_dim=24"),
        ]
    )


if __name__ == "__main__":
    train_pipeline(Path(sys.argv[1]))
