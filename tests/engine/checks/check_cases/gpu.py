"""Cases of the checks of gpu."""

from __future__ import annotations

from check_cases.case import FAIL, UNKNOWN, WARN, Bad, Sample
from gpu_samples import document, eight, gpu

from sovctl.engine.checks.definitions.gpu import _gpu_check, no_foreign_processes
from sovctl.engine.checks.probes import gpu_settings

GPUS = _gpu_check.Expected(gpu_count=8, pci_device_id="2330", pcie_gen=5, pcie_width=16)

SETTINGS = gpu_settings.Expected(gpu_count=8, power_limit_w=700.0, sm_clock_mhz=1980, memory_mib=81559)


BUS = "0x8086 0x1237 0x060000\n" + "0x10de 0x22a3 0x068000\n" * 4 + "0x10de 0x2330 0x030200\n" * 8


SEVEN = document(*(gpu(index) for index in range(7)))


HOLDERS = "77 0::/system.slice/sovctl-pool@chat-0.service\n78 0::/system.slice/nvidia-persistenced.service\nprocesses 2"
FOREIGN = "<process_info><gpu_instance_id>N/A</gpu_instance_id><pid>99</pid></process_info>"

SAMPLES = {
    "gpu.no-foreign-processes": Sample(
        no_foreign_processes.Expected(units=("sovctl-pool@chat-0.service", "nvidia-persistenced.service")),
        {"gpus": eight(), "holders": HOLDERS},
        {
            "session": Bad(
                {"holders": HOLDERS.replace("sovctl-pool@chat-0.service", "session-3.scope")},
                FAIL,
                "in session-3.scope",
            ),
            "hidden": Bad({"gpus": eight().replace("<processes>", f"<processes>{FOREIGN}", 1)}, UNKNOWN, "process 99"),
            "without-unit": Bad({"holders": "77 \nprocesses 1"}, UNKNOWN, "the unit of process 77"),
            "cut": Bad({"holders": HOLDERS.replace("processes 2", "processes 3")}, UNKNOWN, "in the last line"),
            "lost": Bad(
                {"gpus": eight().replace("<processes>", "<lost>").replace("</processes>", "</lost>")}, UNKNOWN, "each"
            ),
        },
        ("processes 2",),
    ),
    "gpu.count": Sample(
        GPUS,
        {"gpus": eight(), "bus": BUS},
        {
            "seven": Bad({"gpus": SEVEN, "bus": BUS}, FAIL, "expected 8 GPUs, got 7"),
            "seven-on-bus": Bad({"bus": BUS[: BUS.rindex("0x10de")]}, FAIL, "on the PCI bus, got 7"),
            "lost": Bad({"gpus": eight(state="GPU is lost")}, FAIL, "GPU is lost"),
            "lost-and-error": Bad({"gpus": (15, eight(state="GPU is lost"))}, FAIL, "GPU is lost"),
            "wants-reset": Bad({"gpus": eight(recovery="Reset")}, FAIL, "Reset"),
            "miscounted": Bad({"gpus": document(*(gpu(index) for index in range(8)), attached=9)}, UNKNOWN, "9 GPUs"),
            "other-model": Bad({"gpus": eight().replace("233010DE", "232110DE", 1)}, FAIL, "2321"),
            "no-driver": Bad({"gpus": (9, "NVIDIA-SMI has failed")}, UNKNOWN, "NVIDIA-SMI has failed"),
        },
        ("attached_gpus", "pci_device_id", "0x2330"),
    ),
    "gpu.ecc": Sample(
        GPUS,
        {"gpus": eight()},
        {
            "off": Bad({"gpus": eight(ecc="Disabled")}, FAIL, "ECC Enabled on GPU 3"),
            "volatile": Bad({"gpus": eight(volatile="5", aggregate="8")}, FAIL, "got 5"),
            "long-ago": Bad({"gpus": eight(aggregate="8")}, WARN, "got 8"),
            "lost": Bad({"gpus": eight(volatile="GPU is lost", aggregate="GPU is lost")}, UNKNOWN, "GPU is lost"),
            "seven": Bad({"gpus": SEVEN}, FAIL, "expected 8 GPUs"),
        },
        ("current_ecc", "dram_uncorrectable", "attached_gpus"),
    ),
    "gpu.row-remap": Sample(
        GPUS,
        {"gpus": eight()},
        {
            "failure": Bad({"gpus": eight(failure="Yes")}, FAIL, "replace the GPU"),
            "pending": Bad({"gpus": eight(pending="Yes")}, WARN, "reset the GPU"),
            "strange-word": Bad({"gpus": eight(failure="Perhaps")}, UNKNOWN, "remapped_rows of GPU 3"),
        },
        ("remapped_row_failure", "remapped_row_pending"),
    ),
    "gpu.persistence": Sample(
        GPUS,
        {"gpus": eight()},
        {"off": Bad({"gpus": eight(persistence="Disabled")}, FAIL, "GPU 3")},
        ("persistence_mode",),
    ),
    "gpu.pcie-link": Sample(
        GPUS,
        {"gpus": eight()},
        {
            "half": Bad(
                {"gpus": eight().replace("<current_link_width>16x", "<current_link_width>8x", 1)}, FAIL, "got 8"
            ),
            "idle": Bad({"gpus": eight().replace("<current_link_gen>5", "<current_link_gen>1", 1)}, WARN, "under load"),
        },
        ("current_link_width", "current_link_gen"),
    ),
    "gpu.temperature": Sample(
        GPUS,
        {"gpus": eight()},
        {
            "hot": Bad(
                {"gpus": eight().replace("<gpu_temp_tlimit>58 C", "<gpu_temp_tlimit>-1 C", 1)}, FAIL, "-1 degrees"
            ),
            "warm": Bad({"gpus": eight().replace("<gpu_temp_tlimit>58 C", "<gpu_temp_tlimit>3 C", 1)}, WARN, "got 3"),
        },
        ("gpu_temp_tlimit",),
    ),
    "gpu.recovery-action": Sample(
        SETTINGS,
        {"gpus": eight()},
        {
            "reset": Bad({"gpus": eight(recovery="Reset")}, FAIL, "got Reset"),
            "drain": Bad({"gpus": eight(recovery="Drain P2P")}, FAIL, "Drain P2P"),
            "lost": Bad({"gpus": eight(state="GPU is lost")}, FAIL, "GPU is lost"),
        },
        ("gpu_recovery_action",),
    ),
    "gpu.no-throttle": Sample(
        SETTINGS,
        {"gpus": eight()},
        {
            "hardware": Bad({"gpus": eight(hw_slowdown="Active")}, FAIL, "hw_slowdown on GPU 3"),
            "software": Bad({"gpus": eight(sw_thermal="Active")}, WARN, "sw_thermal_slowdown on GPU 3"),
            "strange-word": Bad({"gpus": eight(hw_slowdown="Perhaps")}, UNKNOWN, "hw_slowdown of GPU 3"),
        },
        ("hw_slowdown", "hw_thermal_slowdown", "hw_power_brake_slowdown", "sw_thermal_slowdown"),
    ),
    "gpu.power-limit": Sample(
        SETTINGS,
        {"gpus": eight()},
        {
            "reduced": Bad({"gpus": eight(power="500.00 W")}, FAIL, "700 W on GPU 3, got 500 W"),
            "other-default": Bad({"gpus": eight(default_power="650.00 W")}, WARN, "650 W"),
        },
        ("current_power_limit", "default_power_limit"),
    ),
    "gpu.clocks-max": Sample(
        SETTINGS,
        {"gpus": eight()},
        {
            "slow": Bad({"gpus": eight(sm_clock="1755 MHz")}, FAIL, "got 1755 MHz"),
            "capped": Bad({"gpus": eight(boost="1200 MHz")}, FAIL, "got 1200 MHz"),
        },
        ("sm_clock",),
    ),
    "gpu.vbios-uniform": Sample(
        SETTINGS,
        {"gpus": eight()},
        {
            "other": Bad({"gpus": eight(vbios="96.00.00.00.02")}, FAIL, "1 with 96.00.00.00.02"),
            "none": Bad({"gpus": eight(vbios="N/A")}, FAIL, "1 with N/A"),
        },
        ("vbios_version",),
    ),
    "gpu.inforom": Sample(
        SETTINGS,
        {"gpus": eight()},
        {"corrupt": Bad({"gpus": eight(inforom="N/A")}, FAIL, "image of GPU 3, got N/A")},
        ("img_version", "ecc_object"),
    ),
    "gpu.mig-as-planned": Sample(
        SETTINGS,
        {"gpus": eight()},
        {
            "divided": Bad({"gpus": eight(mig="Enabled", mig_pending="Enabled")}, FAIL, "Disabled on GPU 3"),
            "pending": Bad({"gpus": eight(mig_pending="Enabled")}, WARN, "pending Enabled"),
        },
        ("current_mig", "pending_mig"),
    ),
}
