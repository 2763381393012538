"""A setting that is right at run time and wrong after a reboot is a change, with the file that overrides it."""

from __future__ import annotations

from dataclasses import replace

import pytest
from planned_nodes import planned
from strategies import context

from sovctl.engine.plan.build import changes, unmanaged_things
from sovctl.engine.resources.host import kernel
from sovctl.engine.spec import SiteSpec


@pytest.mark.parametrize(
    ("path", "text", "name", "found"),
    [
        ("/etc/sysctl.d/99-other.conf", "vm.zone_reclaim_mode = 0\n", "kernel", "vm.zone_reclaim_mode = 0"),
        ("/etc/sysctl.d/99-other.conf", "kernel.pid_max = 7\n", "", ""),
        ("/etc/sysctl.d/10-other.conf", "vm.zone_reclaim_mode = 0\n", "", ""),
        ("/etc/security/limits.d/99-other.conf", "* soft memlock 64\n", "limits", "* soft memlock 64"),
    ],
)
def test_a_later_file_that_overrides_ours_is_named(path: str, text: str, name: str, found: str) -> None:
    facts = planned("lab")[0]
    overridden = replace(facts["n1"], texts={**facts["n1"].texts, path: text})
    made = changes(context("lab"), {**facts, "n1": overridden})
    assert [each.id for each in made] == ([f"n1/tuning/{name}"] if name else [])
    assert [each.before for each in made] == ([{"overridden_at_boot": [f"{found} ({path})"]}] if name else [])


METAL = "closed-perimeter"


@pytest.mark.parametrize(
    ("path", "text", "found"),
    [
        ("/etc/modprobe.d/z.conf", "options nvidia NVreg_RestrictProfilingToAdminUsers=7\n", True),
        ("/etc/modprobe.d/z.conf", "options nvidia \\\n  NVreg_RestrictProfilingToAdminUsers=7\n", True),
        ("/usr/lib/modprobe.d/z.conf", "options nvidia NVreg_RestrictProfilingToAdminUsers=7\n", True),
        ("/etc/modprobe.d/a.conf", "options nvidia NVreg_RestrictProfilingToAdminUsers=7\n", False),
        ("/etc/modprobe.d/z.conf", "# options nvidia NVreg_RestrictProfilingToAdminUsers=7\n", False),
        ("/etc/modprobe.d/z.conf", "options mlx5_core prof_sel=1\n", False),
        ("/etc/modprobe.d/a.conf", "install nvidia /bin/false\n", True),
        ("/etc/modprobe.d/a.conf", "blacklist ipmi-devintf\n", True),
        ("/etc/modprobe.d/a.conf", "blacklist floppy\n", False),
    ],
)
def test_other_files_that_change_or_block_modules_at_boot_are_named(path: str, text: str, found: bool) -> None:
    site = replace(context(METAL), spec=_with_parameter(context(METAL).spec))
    facts = planned(METAL)[0]["hgx-1"]
    changed = replace(facts, texts={**facts.texts, path: text})
    rows = [each for each in changes(site, {**planned(METAL)[0], "hgx-1": changed}) if each.name == "modules"]
    lines = [(each.before or {}).get("conflicts_at_boot", []) for each in rows if each.node == "hgx-1"]
    expected = f"{' '.join(text.replace(chr(92), '').split())} ({path})"
    assert ([expected] in lines) is found


def _with_parameter(spec: SiteSpec) -> SiteSpec:
    host = spec.host.model_copy(update={"driver_parameters": {"NVreg_RestrictProfilingToAdminUsers": 1}})
    return spec.model_copy(update={"host": host})


GRUB_CFG = "menuentry 'x' {{\n\tlinux /vmlinuz-6.8 root=UUID=1 ro {}\n}}\n"


@pytest.mark.parametrize(
    ("entry", "running", "expected"),
    [
        ("quiet", "quiet", {}),
        ("quiet init=/bin/sh", "quiet", {"init=/bin/sh": "replaces the init program"}),
        ("mitigations=off", "mitigations=off", {"mitigations=off": "disables mitigations of CPU vulnerabilities"}),
        ("audit=1 lockdown=integrity", "audit=1 lockdown=integrity", {}),
        (
            "nosmt",
            "",
            {"nosmt": f"in {kernel.GRUB}, not in the running kernel: it takes effect at the next start"},
        ),
        ("", "nosmt", {"nosmt": "in the running kernel, not in /boot/grub/grub.cfg: the next start omits it"}),
        ("quiet $vt_handoff", "quiet vt.handoff=7", {}),
        ("iommu=pt", "iommu=pt", {}),
    ],
)
def test_other_boot_options_are_reported_with_their_reason(entry: str, running: str, expected: dict[str, str]) -> None:
    facts = planned(METAL)[0]["hgx-1"]
    texts = {kernel.GRUB: GRUB_CFG.format(entry), kernel.COMMAND_LINE: f"BOOT_IMAGE=/v root=UUID=1 ro {running}\n"}
    changed = replace(facts, texts={**facts.texts, **texts})
    site = context(METAL)
    assert dict(kernel.other_boot_options(changed, ["iommu=pt"])) == expected
    things = unmanaged_things(site, {"hgx-1": changed}, [])
    assert {each.name: each.detail for each in things if each.kind == "boot option"}.keys() == expected.keys()
