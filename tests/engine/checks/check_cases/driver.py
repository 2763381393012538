"""Cases of the checks of driver."""

from __future__ import annotations

from check_cases.case import DEAD_UNIT, FAIL, FM_UNIT, UNKNOWN, Bad, Sample
from gpu_samples import eight

from sovctl.engine.checks.definitions.driver import _driver_check

VERSION = "580.126.20"
NODE = _driver_check.Expected(
    gpu_count=8,
    modules=("nvidia", "nvidia_uvm", "ib_core"),
    units=("nvidia-fabricmanager",),
    toolkit_version="1.19.0",
)
MODULES = "Module                  Size  Used by\nnvidia_uvm 16384 0\nnvidia 16384 1\nib_core 16384 0\n"
OPEN = f"NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  {VERSION}  Release Build  (invented)\n"
TOOLS = f"NVIDIA-SMI version  : {VERSION}\nNVML version        : 580.126\nDRIVER version      : {VERSION}\n"
CDI = "".join(f"nvidia.com/gpu={index}\n" for index in range(8)) + "nvidia.com/gpu=all\n"
DISCOVERY = "8 GPUs found.\n" + "".join(
    f"| {index}      | Name: H100 |\n|        | Device UUID: GPU-0000000{index}-0000-0000-0000-000000000000 |\n"
    for index in range(8)
)
DIGEST = "0123456789abcdef0123456789abcdef"
TOOL = f"path /usr/bin/nvidia-smi\nowner nvidia-driver-cuda\nlisted {DIGEST}\nactual {DIGEST}\n"

SAMPLES = {
    "driver.modules-loaded": Sample(
        NODE,
        {"modules": MODULES},
        {"absent": Bad({"modules": MODULES.replace("nvidia_uvm", "other")}, FAIL, "nvidia_uvm loaded")},
        ("Module ", "nvidia_uvm", "ib_core"),
    ),
    "driver.no-nouveau": Sample(
        NODE,
        {"modules": MODULES},
        {
            "loaded": Bad({"modules": MODULES + "nouveau 16384 0\n"}, FAIL, "nouveau absent"),
            "no-driver": Bad({"modules": MODULES.replace("nvidia", "other")}, UNKNOWN, "nvidia"),
        },
        ("Module ", "nvidia 16384"),
    ),
    "driver.gsp-firmware-equal": Sample(
        NODE,
        {"gpus": eight()},
        {
            "older": Bad({"gpus": eight(gsp="570.86.15")}, FAIL, "GPU 3, got 570.86.15"),
            "off": Bad({"gpus": eight(gsp="N/A")}, UNKNOWN, "GPU 3"),
        },
        ("gsp_firmware_version", "<driver_version>"),
    ),
    "driver.module-equals-tool": Sample(
        NODE,
        {"module": OPEN, "installed": f"{VERSION}\n", "gpus": eight(), "tools": TOOLS},
        {
            "not-rebooted": Bad({"installed": "580.173.02\n"}, FAIL, "installed module at the loaded 580.126.20"),
            "other-tool": Bad({"tools": TOOLS.replace(VERSION, "570.86.15", 1)}, FAIL, "the program nvidia-smi"),
            "no-version": Bad({"tools": "something else\n"}, UNKNOWN, "the program nvidia-smi"),
        },
        ("NVRM version", "NVIDIA-SMI version"),
    ),
    "driver.module-is-open": Sample(
        NODE,
        {"module": OPEN},
        {"proprietary": Bad({"module": OPEN.replace("Open ", "")}, FAIL, "the proprietary one")},
        ("NVRM version",),
    ),
    "driver.services-of-board": Sample(
        NODE,
        {"services": FM_UNIT},
        {"dead": Bad({"services": DEAD_UNIT}, FAIL, "nvidia-fabricmanager running")},
        ("ActiveState", "SubState", "LoadState"),
    ),
    "driver.no-pending-reboot": Sample(
        NODE,
        {"reboot": "none\n"},
        {
            "required": Bad({"reboot": "required\n"}, FAIL, "got required"),
            "strange-word": Bad({"reboot": "perhaps\n"}, UNKNOWN, "perhaps"),
        },
        ("none",),
    ),
    "driver.cdi-lists-every-gpu": Sample(
        NODE,
        {"gpus": eight(), "cdi": CDI},
        {
            "seven": Bad({"cdi": CDI.replace("gpu=7", "gpu=x")}, FAIL, "got 7"),
            "stale": Bad({"cdi": CDI + "nvidia.com/gpu=GPU-dead\n"}, FAIL, "1 unknown UUIDs"),
        },
        ("gpu=7",),
    ),
    "driver.dcgm-host-engine": Sample(
        NODE,
        {"discovery": DISCOVERY},
        {
            "seven": Bad({"discovery": DISCOVERY.replace("8 GPUs", "7 GPUs")}, FAIL, "got 7"),
            "dead": Bad({"discovery": (1, "Error: Unable to connect to host engine.")}, FAIL, "no connection"),
            "strange": Bad({"discovery": "something else\n"}, UNKNOWN, "GPUs found"),
        },
        ("GPUs found", "GPU-00000007"),
    ),
    "driver.tool-is-packaged": Sample(
        NODE,
        {"tool": TOOL},
        {
            "replaced": Bad({"tool": TOOL.replace(f"actual {DIGEST}", f"actual {'f' * 32}")}, FAIL, "another digest"),
            "precedes": Bad(
                {"tool": f"path /usr/local/bin/nvidia-smi\nowner \nactual {DIGEST}\n"},
                FAIL,
                "owns /usr/local/bin/nvidia-smi, got none",
            ),
            "foreign": Bad({"tool": TOOL.replace("nvidia-driver-cuda", "toolbox")}, FAIL, "got toolbox"),
            "unlisted": Bad({"tool": TOOL.replace(f"listed {DIGEST}", "listed ")}, UNKNOWN, "a digest of"),
        },
        ("path", "owner", "listed", "actual"),
    ),
    "driver.container-toolkit-exact": Sample(
        NODE,
        {"toolkit": "NVIDIA Container Toolkit CLI version 1.19.0\ncommit: invented\n"},
        {"older": Bad({"toolkit": "NVIDIA Container Toolkit CLI version 1.17.8\n"}, FAIL, "got 1.17.8")},
        ("CLI version",),
    ),
}
