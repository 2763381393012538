"""nccl.nvls-used: NCCL uses NVLink SHARP on boards that have it.

Without it collectives have about 80 % of the bandwidth (8 x B200: 682 instead of 838 GB/s).
"""

from __future__ import annotations

from collections.abc import Iterator

from ....spec import Node
from ...model.check import Judgement, Method, Severity, failed, unknown
from ...model.check_context import CheckContext
from ._one_node import Expected, OneNodeCheck, Run


class NvlsUsed(OneNodeCheck):
    id, version, method = "nccl.nvls-used", 1, Method.TEST
    title = "NCCL uses NVLink SHARP"
    controls = ("cm-6", "si-13")
    severity = Severity.MEDIUM
    remedy = "check multicast in the log of the fabric manager, IMEX, and NCCL_NVLS_ENABLE in the environment"

    def expect(self, site: CheckContext, node: Node) -> Iterator[Expected]:
        """Expect this of boards for which the catalogue states NVLink SHARP."""
        yield from (each for each in super().expect(site, node) if each.needs_nvls)

    def findings(self, runs: list[Run], expected: Expected) -> Iterator[Judgement]:
        """Fail if a run has no channels of NVLink SHARP; UNKNOWN without lines of NCCL about it."""
        for run in runs:
            if run.log is None or run.log.uses_nvls is None:
                yield unknown("lines of NCCL about NVLink SHARP", "none")
            elif not run.log.uses_nvls:
                lacking = sorted(index for index, has in run.log.multicast.items() if not has)
                where = f" on GPUs {', '.join(map(str, lacking))}" if lacking else ""
                cause = "NCCL_NVLS_ENABLE=0" if run.log.is_nvls_disabled else f"multicast not available{where}"
                yield failed("channels of NVLink SHARP", f"0: {cause}" if lacking or run.log.is_nvls_disabled else "0")

    def passes(self, runs: list[Run], expected: Expected) -> str:
        """Return the number of channels."""
        channels = min((each for run in runs if run.log is not None for each in run.log.nvls_channels), default=0)
        return f"expected channels of NVLink SHARP, got {channels} on {expected.gpus} GPUs"
