"""Model finder that runs a site's own name model in its own thread, one request at a time.

    model, = load_models(settings.detect)
    await model.find(["Dear Ola Nordmann"], tenant="retail")     # {"Dear Ola Nordmann": [Finding(5, 17, ...)]}

Python cannot end a thread. A cancelled request therefore counts against `max_queue` until the model has finished the
text, or the part of it, that it is processing; so the queue is bounded. The model receives deobfuscated text. Texts
without findings are cached by a keyed digest (`clean_text_cache`), so earlier turns of a conversation are read once.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor

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
from .model_finder import ModelFinderFailed

_IN_NO_LANGUAGE = frozenset({NONE, UNKNOWN})


class NameModel:
    """One model; see `model_finder.ModelFinder`."""

    def __init__(self, settings: NameModelSettings, finder: NameModelFinder) -> None:
        self.name = settings.name
        self.rule = settings.rule
        self.entity_types = frozenset(settings.labels.values())
        self._languages = frozenset(settings.languages)
        self._timeout_s = settings.timeout_s
        self._max_queue = settings.max_queue
        self._model = finder
        self._finder = CachedFinder(Detector([finder]))
        # Its thread begins with the first request, so after workers are forked, and ends with this object.
        self._executor = ThreadPoolExecutor(1, thread_name_prefix=f"model {settings.name}")
        self._jobs: set[Future[dict[str, list[Finding]]]] = set()

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
        if len(self._jobs) >= self._max_queue:
            raise ModelFinderFailed("busy")
        job = self._executor.submit(self._find_all, texts, time.monotonic() + self._timeout_s)
        self._jobs.add(job)
        job.add_done_callback(self._jobs.discard)
        try:
            return await asyncio.wait_for(asyncio.wrap_future(job), self._timeout_s)
        except TimeoutError:
            raise ModelFinderFailed("timeout") from None
        except ModelFinderFailed:
            raise
        except Exception as error:
            raise ModelFinderFailed(type(error).__name__) from error

    def _find_all(self, texts: Sequence[str], until_s: float) -> dict[str, list[Finding]]:
        self._model.until_s = until_s
        found = {}
        try:
            for text in texts:
                if time.monotonic() > until_s:
                    raise TimeoutError
                if findings := self._finder.find(text):
                    found[text] = findings
        except Exception:
            raise
        except BaseException as error:  # noqa: BLE001 - SystemExit would end the gateway; so do panics in Rust end a request
            raise ModelFinderFailed(type(error).__name__) from None
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
