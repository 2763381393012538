"""Model finder that runs a site's own name model in its own thread, one request at a time.

    model, = load_models(settings.detect)
    await model.find(["Dear Ola Nordmann"], tenant="retail")     # {"Dear Ola Nordmann": [Finding(5, 17, ...)]}

The model receives deobfuscated text. Texts without findings are cached by a keyed digest (`clean_text_cache`), so
earlier turns of a conversation are read once.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence

from ..detect.clean_text_cache import CachedFinder
from ..detect.detector import Detector
from ..detect.findings.finding import Finding
from ..detect.language.language import NONE, UNKNOWN
from ..detect.models.finder import NameModelFinder
from ..detect.models.load import load_model
from ..detect.models.opening import add_packages
from ..inspection.inspector import Inspection
from ..settings.detection.detect import DetectSettings
from ..settings.detection.name_model import NameModelSettings
from .model_thread import ModelThread

_IN_NO_LANGUAGE = frozenset({NONE, UNKNOWN})


class NameModel:
    """One model; see `model_finder.ModelFinder`."""

    def __init__(self, settings: NameModelSettings, finder: NameModelFinder) -> None:
        self.name = settings.name
        self.rule = settings.rule
        self.entity_types = frozenset(settings.labels.values())
        self._languages = frozenset(settings.languages)
        self._model = finder
        self._finder = CachedFinder(Detector([finder]))
        self._thread = ModelThread(settings.name, timeout_s=settings.timeout_s, max_queue=settings.max_queue)

    def concerns(self, inspection: Inspection) -> bool:
        """Return whether the request is in one of the model's languages, or its language is undetermined."""
        return not inspection.languages.isdisjoint(self._languages | _IN_NO_LANGUAGE)

    def wants(self, _text: str, _found: Sequence[Finding]) -> bool:
        """Return True: the model scans every text."""
        return True

    async def find(self, texts: Sequence[str], *, tenant: str = "") -> Mapping[str, list[Finding]]:  # noqa: ARG002 - it learns nothing, so it need not know whose they are
        """Return the findings in the texts.

        Raises:
            ModelFinderFailed: too many wait, it took too long, or the model itself failed.
        """
        return await self._thread.run(lambda until_s: self._find_all(texts, until_s))

    def _find_all(self, texts: Sequence[str], until_s: float) -> dict[str, list[Finding]]:
        self._model.until_s = until_s
        found = {}
        for text in texts:
            if time.monotonic() > until_s:
                raise TimeoutError
            if findings := self._finder.find(text):
                found[text] = findings
        return found


def load_models(settings: DetectSettings) -> tuple[NameModel, ...]:
    """Load the models of the settings.

    Raises:
        InputError: a model is absent or not the approved one, or a package that it needs is missing.
    """
    if settings.model_packages is not None:
        add_packages(settings.model_packages, where="detect.model_packages")
    return tuple(
        NameModel(each, load_model(each, where=f"detect.models[{index}]")) for index, each in enumerate(settings.models)
    )
