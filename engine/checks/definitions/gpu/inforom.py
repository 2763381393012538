"""gpu.inforom: the InfoROM of every GPU is readable, and all have the same image."""

from __future__ import annotations

import re
from collections.abc import Iterator

from ....facts.hardware.gpu import Gpu
from ...model.check import Judgement, Method, Severity, failed
from ...probes.gpu_settings import Expected, SettingsCheck, not_measured

_VERSION = re.compile(r"^[A-Z]?\d+\.\d+")


class Inforom(SettingsCheck):
    id, version, method = "gpu.inforom", 1, Method.TEST
    title = "the InfoROM of every GPU is readable"
    controls = ("cm-8", "si-7")
    severity = Severity.MEDIUM
    remedy = "run `nvidia-smi --query-gpu=inforom.img --format=csv`; replace a GPU whose InfoROM is corrupt"

    def findings(self, gpu: Gpu, name: str, expected: Expected) -> Iterator[Judgement]:
        """Fail if the driver cannot read the image version."""
        image, ecc = gpu.settings.inforom_image, gpu.settings.inforom_ecc
        if image is None or ecc is None:
            yield not_measured(f"the InfoROM versions of {name}", gpu)
        for part, value in (("image", image), ("ECC object", ecc)):
            if value is not None and not _VERSION.match(value):
                yield failed(f"a version of the InfoROM {part} of {name}", value)

    def wanted(self, expected: Expected) -> str:
        """Return the expected state in words."""
        return "a readable InfoROM"
