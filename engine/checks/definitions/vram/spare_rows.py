"""vram.spare-rows: every memory bank has a spare row."""

from __future__ import annotations

from collections.abc import Iterator

from ....facts.hardware.gpu import Gpu
from ...model.check import Judgement, Method, Severity, failed
from ...probes.gpu_settings import Expected, SettingsCheck, not_measured

_MOST_ROWS = "vram.spare-rows.most"


class SpareRows(SettingsCheck):
    id, version, method = "vram.spare-rows", 1, Method.TEST
    title = "every memory bank has a spare row for the next fault"
    controls = ("si-13",)
    severity = Severity.MEDIUM
    remedy = "plan the replacement of the GPU: the next fault in such a bank is a failed remapping"

    def findings(self, gpu: Gpu, name: str, expected: Expected) -> Iterator[Judgement]:
        """Fail if a bank has no spare row, or more rows were remapped than DCGM accepts."""
        most_rows = expected.limit_of(_MOST_ROWS)
        rows, remapped = gpu.settings.spare_rows, gpu.remapped_rows
        if rows.none is None or remapped.uncorrectable is None:
            yield not_measured(f"the spare rows of {name}", gpu)
            return
        if rows.none > 0:
            yield failed(f"a spare row in every bank of {name}", f"none in {rows.none} banks")
        if remapped.uncorrectable >= most_rows:
            yield failed(f"fewer than {most_rows} remapped rows on {name}", str(remapped.uncorrectable))

    def wanted(self, expected: Expected) -> str:
        """Return the expected state in words."""
        return "spare rows in every bank"
