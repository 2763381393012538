"""Cases of the checks of vram."""

from __future__ import annotations

from check_cases.case import FAIL, UNKNOWN, WARN, Bad, Sample
from check_cases.gpu import SETTINGS
from gpu_samples import eight

SAMPLES = {
    "vram.size": Sample(
        SETTINGS,
        {"gpus": eight()},
        {
            "less": Bad({"gpus": eight(memory="79000 MiB")}, FAIL, "81559 MiB on GPU 3, got 79000 MiB"),
            "lost": Bad({"gpus": eight(memory="GPU is lost")}, UNKNOWN, "GPU is lost"),
        },
        ("<total>",),
    ),
    "vram.sram-threshold": Sample(
        SETTINGS,
        {"gpus": eight()},
        {"exceeded": Bad({"gpus": eight(sram="Yes")}, FAIL, "threshold of GPU 3")},
        ("sram_threshold_exceeded",),
    ),
    "vram.retired-pages": Sample(
        SETTINGS,
        {"gpus": eight()},
        {
            "many": Bad({"gpus": eight(single="60", double="3", retirement="No")}, FAIL, "got 63"),
            "double-bit": Bad({"gpus": eight(single="0", double="15", retirement="No")}, WARN, "got 15"),
            "pending": Bad({"gpus": eight(single="0", double="1", retirement="Yes")}, FAIL, "pending"),
            "half": Bad({"gpus": eight(single="0", double="N/A", retirement="No")}, UNKNOWN, "GPU 3"),
            "nothing": Bad({"gpus": eight(failure="N/A")}, UNKNOWN, "GPU 3"),
        },
        ("single_bit_retirement", "double_bit_retirement", "pending_retirement"),
    ),
    "vram.no-pending-repair": Sample(
        SETTINGS,
        {"gpus": eight()},
        {
            "channel": Bad({"gpus": eight(repair="Yes")}, WARN, "channel repair on GPU 3"),
            "unrepairable": Bad({"gpus": eight(unrepairable="Yes")}, FAIL, "unrepairable"),
            "strange-word": Bad({"gpus": eight(unrepairable="Perhaps")}, UNKNOWN, "Perhaps"),
        },
        ("current_ecc",),
    ),
    "vram.ecc-setting-kept": Sample(
        SETTINGS,
        {"gpus": eight()},
        {"off": Bad({"gpus": eight(ecc_pending="Disabled")}, FAIL, "GPU 3, got Disabled")},
        ("pending_ecc",),
    ),
    "vram.spare-rows": Sample(
        SETTINGS,
        {"gpus": eight()},
        {
            "used-up": Bad({"gpus": eight(banks="2 bank(s)")}, FAIL, "none in 2 banks"),
            "many": Bad({"gpus": eight(rows="512")}, FAIL, "got 512"),
        },
        ("row_remapper_histogram_none", "remapped_row_unc"),
    ),
}
