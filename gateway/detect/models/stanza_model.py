"""stanza pipelines: a folder as `stanza.download(LANGUAGE, model_dir=FOLDER, processors="tokenize,ner")` lays it.

It holds `resources.json` and the files of one language. Nothing is downloaded, and no GPU is used. Whoever names such a
model installs the packages `stanza` and `torch`, which are not among the gateway's own.

torch is limited to one thread, the caller's, so that a worker may be forked from a process that has opened
it. What stanza would log is not logged, for it may quote a text.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator

from sovctl.support.errors import InputError

from ...settings.detection.name_model import NameModelSettings
from .finder import Entity, Read
from .opening import packages, refused_as_no

_SCORE = 0.85  # stanza's entities have no score; Presidio uses this one (presidio-analyzer 2.2, read 2026-11)


def open_stanza(settings: NameModelSettings) -> tuple[Read, frozenset[str]]:
    """Open the pipeline in a folder; return it with all its labels.

    Raises:
        InputError: it can't be loaded, holds several languages, or a package is missing.
    """
    path = settings.path
    stanza, torch = packages("stanza", "torch", path=path)
    spoken = sorted(each.parent.name for each in path.glob("*/ner") if each.is_dir())
    if len(spoken) != 1:
        got = ", ".join(spoken) or "none"
        raise InputError(f"expected one language with a folder `ner`, got {got}", where=str(path))
    logging.getLogger("stanza").disabled = True
    torch.set_num_threads(1)
    with refused_as_no(f"folder with resources.json and models that stanza {stanza.__version__} loads", path):
        pipeline = stanza.Pipeline(
            spoken[0], dir=str(path), processors="tokenize,ner", download_method=None, use_gpu=False
        )
        tagger = pipeline.processors["ner"]
        known = frozenset(tag for number in range(len(tagger.trainers)) for tag in tagger.get_known_tags(number))

    def read(text: str, _until_s: float) -> Iterator[Entity]:
        if text.strip():  # it fails at a text without a sentence
            for entity in pipeline(text).entities:
                yield entity.start_char, entity.end_char, entity.type, _SCORE

    return read, known
