"""A new virtual machine: a verified boot, a TPM, two complete arrays, and an encrypted volume without passphrase."""

from __future__ import annotations

import json

import pytest
from vm_site import VmSite

pytestmark = pytest.mark.vm


def test_facts_show_a_machine_with_secure_boot(site: VmSite) -> None:
    found = site.facts()
    assert found["system"]["secure_boot"] == "enabled"
    assert found["system"]["virtualization"] == "virtual machine"
    assert found["is_container"] is False
    assert found["system"]["kernel"].endswith("-amd64")


def test_the_kernel_refuses_what_secure_boot_must_refuse(site: VmSite) -> None:
    assert "[integrity]" in site.here("cat /sys/kernel/security/lockdown")
    assert "SecureBoot enabled" in site.here("sudo mokutil --sb-state")


def test_the_machine_has_a_tpm_2(site: VmSite) -> None:
    assert site.here("cat /sys/class/tpm/tpm0/tpm_version_major") == "2"
    assert "sha256" in site.here("sudo tpm2_pcrread sha256:7")


def test_both_arrays_have_two_members_on_two_drives(site: VmSite) -> None:
    text = site.here("cat /proc/mdstat")
    assert text.count("[2/2] [UU]") == 2
    for number, member in (("2", "root"), ("3", "data")):
        assert {f"nvme{each}n1p{number}" for each in (0, 1)} <= set(text.replace("[", " ").split()), member


def test_the_data_volume_is_luks2_and_only_the_tpm_opens_it(site: VmSite) -> None:
    metadata = json.loads(site.here("sudo cryptsetup luksDump --dump-json-metadata /dev/md/data"))
    assert [each["type"] for each in metadata["tokens"].values()] == ["systemd-tpm2"]
    (token,) = metadata["tokens"].values()
    assert token["tpm2-pcrs"] == [7]
    assert list(metadata["keyslots"]) == token["keyslots"], "a key slot without TPM is left"
    assert site.here("findmnt --noheadings --output SOURCE /srv/data") == "/dev/mapper/data"
