"""Cases of the checks of model."""

from __future__ import annotations

from check_cases.case import FAIL, A, B, Bad, C, Sample

from sovctl.engine.checks.definitions.model import checksum

SAMPLES = {
    "model.checksum": Sample(
        checksum.Expected(subject="echo", manifest_sha256=C),
        {
            "manifest_sha256": f"{C}  -\n",
            "manifest": f"{A}  config.json\n{B}  model.safetensors\n",
            "files": f"{B}  ./model.safetensors\n{A}  ./config.json\n",
            "strange": f"{checksum.OTHER_TYPES}\n",
        },
        {
            "other-manifest": Bad({"manifest_sha256": f"{A}  -\n"}, FAIL, "manifest cccc"),
            "changed": Bad({"files": f"{C}  ./model.safetensors\n{A}  ./config.json\n"}, FAIL, "model.safetensors"),
            "missing": Bad({"files": f"{A}  ./config.json\n"}, FAIL, "no such file"),
            "extra": Bad({"files": f"{B}  ./model.safetensors\n{A}  ./config.json\n{A}  ./run.py\n"}, FAIL, "run.py"),
            "link": Bad({"strange": f"{checksum.OTHER_TYPES}\n./model.safetensors\n"}, FAIL, "only files"),
        },
        ("config.json", "./config.json", "model.safetensors", checksum.OTHER_TYPES),
    ),
}
