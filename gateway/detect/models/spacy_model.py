"""spaCy pipelines: a folder as `nlp.to_disk` writes it."""

from __future__ import annotations

from collections.abc import Iterator

from ...settings.detection.name_model import NameModelSettings
from .finder import Entity, Read
from .opening import refused_as_no

_SCORE = 0.85  # spaCy's entities have no score; Presidio uses this one (presidio-analyzer 2.2, read 2026-11)


def open_spacy(settings: NameModelSettings) -> tuple[Read, frozenset[str]]:
    """Open the pipeline in a folder; return it with all its labels.

    Raises:
        InputError: it can't be loaded.
    """
    import spacy.about  # half a second that a site without such a model need not wait

    with refused_as_no(f"pipeline that spaCy {spacy.about.__version__} loads", settings.path):
        pipeline = spacy.load(settings.path)

    def read(text: str, _until_s: float) -> Iterator[Entity]:
        with pipeline.memory_zone():  # otherwise its vocabulary keeps every word it ever read
            for entity in pipeline(text).ents:
                yield entity.start_char, entity.end_char, entity.label_, _SCORE

    return read, frozenset(label for labels in pipeline.pipe_labels.values() for label in labels)
