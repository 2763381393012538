"""A machine without Secure Boot: facts and plan show it, apply refuses the node, and the volume stays closed."""

from __future__ import annotations

import pytest
from vm_site import VmSite

from sovctl.support.errors import ExitCode

pytestmark = pytest.mark.vm


def test_a_machine_without_secure_boot_is_refused_and_its_volume_stays_closed(site: VmSite) -> None:
    site.restart_with(secure_boot=False)
    try:
        assert site.facts()["system"]["secure_boot"] == "disabled"
        # PCR 7 of the TPM differs, so that the key of the volume stays sealed.
        assert site.here("findmnt /srv/data", accept=(1,)) == ""
        refused = [each["message"] for each in site.plan()["refusals"]]
        assert "Secure Boot is disabled, and site.yaml requires it (host.secure_boot)" in refused
        assert "storage /srv/data differs: absent" in refused
        assert site.run("apply", str(site.file), "--yes").returncode == ExitCode.BAD_INPUT
    finally:
        site.restart_with(secure_boot=True)
    assert site.facts()["system"]["secure_boot"] == "enabled"
    assert site.plan()["refusals"] == []
