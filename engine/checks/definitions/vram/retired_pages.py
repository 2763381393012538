"""vram.retired-pages: no GPU without row remapping has too many retired pages, or one that waits for a reset."""

from __future__ import annotations

from collections.abc import Iterator

from ....facts.hardware.gpu import Gpu
from ....facts.numbers import integer
from ...model.check import Judgement, Method, Severity, failed, unknown, warned
from ...probes.gpu_settings import Expected, SettingsCheck, not_measured

_MOST_PAGES = "vram.retired-pages.most"
_MANY_DOUBLE_BIT = "vram.retired-pages.many-double-bit"


class RetiredPages(SettingsCheck):
    id, version, method = "vram.retired-pages", 1, Method.TEST
    title = "few memory pages are retired, and none is pending"
    controls = ("si-13",)
    severity = Severity.HIGH
    remedy = "reset the GPU for a pending page; replace it at 63 retired pages"

    def findings(self, gpu: Gpu, name: str, expected: Expected) -> Iterator[Judgement]:
        """Fail at the limits of DCGM; N/A words pass only together with row remapping."""
        most_pages = expected.limit_of(_MOST_PAGES)
        many_double_bit = expected.limit_of(_MANY_DOUBLE_BIT)
        retired = gpu.settings.retired
        words = (retired.single_bit, retired.double_bit, retired.pending)
        if words == ("N/A",) * 3:
            if gpu.remapped_rows.failure is None:
                yield not_measured(f"retired pages or remapped rows of {name}", gpu)
            return
        if retired.single_bit is None or retired.double_bit is None or retired.pending not in ("Yes", "No"):
            yield not_measured(f"the retired pages of {name}", gpu)
        elif not (retired.single_bit.isdecimal() and retired.double_bit.isdecimal()):
            yield unknown(f"the number of retired pages of {name}", f"{retired.single_bit}, {retired.double_bit}")
        else:
            total = integer(retired.single_bit) + integer(retired.double_bit)
            if total >= most_pages:
                yield failed(f"fewer than {most_pages} retired pages on {name}", str(total))
            elif integer(retired.double_bit) >= many_double_bit:
                yield warned(f"fewer than {many_double_bit} pages with double-bit errors on {name}", retired.double_bit)
            if retired.pending == "Yes":
                yield failed(f"no pending page retirement on {name}", "pending; reset the GPU")

    def wanted(self, expected: Expected) -> str:
        """Return the expected state in words."""
        return "few retired pages, none pending"
