"""Cases of the checks of parts."""

from __future__ import annotations

from check_cases.case import FAIL, UNKNOWN, Bad, Sample
from gpu_samples import document, eight, gpu

from sovctl.engine.checks.definitions.node import inventory

PARTS = (
    "system\t\tNVIDIA DGXH100\tINVENTED-1\t1.6.7\n"
    "nic\t0000:18:00.0\tMT4129 MT_0000000838\t0200:0000:0000:0001\t28.41.1000\n"
    "nvme\t0000:22:00.0\tKIOXIA KCM6DRUL3T84\tINVENTED-N1\t0107\n"
)

SAMPLES = {
    "node.inventory": Sample(
        inventory.Expected(has_gpus=True, gpu_count=8),
        {"parts": PARTS, "gpus": eight()},
        {
            "seven-gpus": Bad({"gpus": document(*(gpu(index) for index in range(7)))}, FAIL, "8 GPUs"),
            "same-serial": Bad({"gpus": eight().replace("INVENTED-2", "INVENTED-1")}, FAIL, "INVENTED-1"),
            "unset-serial": Bad({"parts": PARTS.replace("INVENTED-1", "To Be Filled By O.E.M.")}, UNKNOWN, "serial"),
            "no-firmware": Bad({"parts": PARTS.replace("28.41.1000", "")}, UNKNOWN, "firmware of nic 0000:18:00.0"),
            "another-form": Bad({"parts": PARTS.replace("\tMT4129", " MT4129")}, UNKNOWN, "kind, place"),
            "no-driver": Bad({"gpus": (9, "NVIDIA-SMI has failed")}, UNKNOWN, "NVIDIA-SMI has failed"),
        },
        ("attached_gpus",),
    )
}
