"""dmidecode, ipmitool, nvme-cli and Redfish: the values that are read, and text that is not repaired."""

from __future__ import annotations

import contextlib
import json
from datetime import UTC, datetime
from ipaddress import IPv4Interface
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sovctl.engine.facts.management import dmidecode, ipmi_controller, ipmi_sensors, nvme, redfish
from sovctl.engine.facts.unreadable import Unreadable

DMI = """# dmidecode 3.4
Getting SMBIOS data from sysfs.
SMBIOS 3.6.0 present.

Handle 0x0000, DMI type 0, 26 bytes
BIOS Information
\tVendor: Example
\tVersion: 1.6.7
\tCharacteristics:
\t\tPCI is supported
\t\tBoot: from CD

Handle 0x0011, DMI type 17, 92 bytes
Memory Device
\tSize: 64 GB
\tLocator: CPU0_DIMM_A1
\tPart Number: M321R8GA0BB0-CQKZJ
\tConfigured Memory Speed: 4800 MT/s

Handle 0x0012, DMI type 17, 92 bytes
Memory Device
\tSize: No Module Installed
\tLocator: CPU0_DIMM_A2
\tConfigured Memory Speed: Unknown

Handle 0x0013, DMI type 9, 24 bytes
System Slot Information
\tDesignation: SLOT1
\tCurrent Usage: In Use
\tBus Address: 0000:18:00.0
"""
MC = """Device ID                 : 32
Firmware Revision         : 23.09
IPMI Version              : 2.0
Manufacturer Name         : NVIDIA
Product ID                : 4400 (0x1130)
Device Available          : yes
Additional Device Support :
    Sensor Device
    SEL Device
Aux Firmware Rev Info     :
    0x17
    0x00
"""
LAN = """## 1
Set in Progress         : Set Complete
Auth Type Support       : NONE MD5
Auth Type Enable        : Callback : MD5
                        : User     : MD5
                        : Admin    : MD5
IP Address Source       : Static Address
IP Address              : 192.0.2.10
Subnet Mask             : 255.255.255.0
RMCP+ Cipher Suites     : 0,3,17
Cipher Suite Priv Max   : XaaXXXXXXXXXXXX
                        :     X=Cipher Suite Unused
"""
SEL = """   1 | 11/27/2026 | 10:11:12 | Event Logging Disabled SEL | Log area reset/cleared | Asserted
   a | 11/28/26 | 07:00:01 UTC | Power Supply PSU3 | Failure detected | Asserted
   b | Pre-Init  |0000000012| Temperature Inlet | Upper Critical going high | Deasserted | Reading 60 > Threshold 55 degrees C
   c | 11/28/2026 | 07:00:02 | OEM record dc | 000137 | 000102030405
   d | OEM record f1 | 0102
"""  # noqa: E501
SEL_INFO = "SEL Information\nEntries          : 3\nPercent Used     : 14%\nOverflow         : false\n"
SENSORS = """Temp_Inlet       | 0Eh | ok  | 64.1 | 24 degrees C
Fan1_F           | 30h | cr  | 29.1 | 800 RPM
PSU3 Status      | 4Ah | ok  | 10.3 | Presence detected, Failure detected
PSU4 Status      | 4Bh | ns  | 10.4 | No Reading
"""


def test_dmidecode_gives_bios_modules_and_slots() -> None:
    table = dmidecode.parse_dmidecode(DMI)
    assert table.value(dmidecode.BIOS, "Version") == "1.6.7"
    first, second = dmidecode.memory_modules(table)
    assert (first.size_bytes, first.speed_mt_s, first.part) == (64 << 30, 4800, "M321R8GA0BB0-CQKZJ")
    assert (second.locator, second.size_bytes, second.speed_mt_s) == ("CPU0_DIMM_A2", 0, None)
    assert dmidecode.expansion_slots(table) == (dmidecode.ExpansionSlot("SLOT1", True, "0000:18:00.0"),)


@pytest.mark.parametrize(
    ("text", "word"),
    [
        ("", "structures of SMBIOS"),
        ("# dmidecode 3.4\n# No SMBIOS nor DMI entry point found, sorry.\n", "structures of SMBIOS"),
        (DMI.replace("SMBIOS 3.6.0 present.\n", ""), "structures of SMBIOS"),
        (DMI + "Handle 0x0014, DMI type 9, 24 bytes\n", "structures of SMBIOS"),
        (DMI + "/dev/mem: Permission denied\n", "Permission denied"),
    ],
)
def test_incomplete_output_of_dmidecode_is_unreadable(text: str, word: str) -> None:
    with pytest.raises(Unreadable, match=word):
        dmidecode.parse_dmidecode(text)


def test_a_module_with_another_size_is_unreadable_and_one_without_a_known_size_is_unknown() -> None:
    table = dmidecode.parse_dmidecode(DMI.replace("64 GB", "plenty"))
    with pytest.raises(Unreadable, match="plenty"):
        dmidecode.memory_modules(table)
    table = dmidecode.parse_dmidecode(DMI.replace("64 GB", "Unknown"))
    assert dmidecode.memory_modules(table)[0].size_bytes is None


@pytest.mark.shared
def test_a_capture_of_dmidecode_has_the_product(captures: Path) -> None:
    text = (captures / "inventory/xe9680-dmidecode__leptonai-gpud.txt").read_text()
    table = dmidecode.parse_dmidecode(text)
    assert table.value(dmidecode.SYSTEM, "Product Name") == "PowerEdge XE9680"
    assert table.value(dmidecode.SYSTEM, "Version") is None


def test_the_controller_states_its_firmware_with_the_auxiliary_revision() -> None:
    found = ipmi_controller.parse_mc_info(MC)
    assert (found.firmware, found.is_available, found.manufacturer) == ("23.09 (0x17 0x00)", True, "NVIDIA")
    with pytest.raises(Unreadable, match="Firmware Revision"):
        ipmi_controller.parse_mc_info(MC.replace("Firmware Revision  ", "Revision"))
    with pytest.raises(Unreadable, match="once"):
        ipmi_controller.parse_mc_info(MC + MC)


def test_a_cipher_suite_is_usable_if_a_privilege_level_may_use_it() -> None:
    (channel,) = ipmi_controller.parse_lan_channels(LAN)
    assert channel.address == IPv4Interface("192.0.2.10/24")
    assert channel.authentications == {"MD5"}
    assert channel.usable_suites == {3, 17}
    (channel,) = ipmi_controller.parse_lan_channels(LAN.replace("XaaX", "aaaX"))
    assert channel.usable_suites == {0, 3, 17}
    (channel,) = ipmi_controller.parse_lan_channels(LAN.replace("0,3,17", "None"))
    assert channel.usable_suites is None
    with pytest.raises(Unreadable, match="2 privilege levels of 3"):
        ipmi_controller.parse_lan_channels(LAN.replace("XaaXXXXXXXXXXXX", "Xa"))
    (channel,) = ipmi_controller.parse_lan_channels(LAN.replace("192.0.2.10", "0.0.0.0"))
    assert channel.address is None


def test_users_have_no_names() -> None:
    users = ipmi_controller.parse_users(
        "## 1\nuser 1,anonymous,true,false,true,ADMINISTRATOR\nuser 2,named,true,true,true,OPERATOR\n"
    )
    assert [(user.number, user.has_name, user.may_send, user.level) for user in users] == [
        (1, False, True, "ADMINISTRATOR"),
        (2, True, True, "OPERATOR"),
    ]
    with pytest.raises(Unreadable):
        ipmi_controller.parse_users("## 1\nuser 1,root,true,false,true,ADMINISTRATOR\n")
    with pytest.raises(Unreadable, match="users of each channel"):
        ipmi_controller.parse_users("## 1\nuser 1,named,true,false,true,ADMINISTRATOR\n## 2\nIP Address : 0.0.0.0\n")


def test_events_have_a_time_unless_the_controller_did_not_know_it() -> None:
    cleared, failure, early, vendor, untimed = ipmi_controller.parse_sel_list(SEL)
    assert cleared.time == datetime(2026, 11, 27, 10, 11, 12, tzinfo=UTC)
    assert (failure.number, failure.time) == (10, datetime(2026, 11, 28, 7, 0, 1, tzinfo=UTC))
    assert (failure.sensor, failure.text, failure.is_asserted) == ("Power Supply PSU3", "Failure detected", True)
    assert (early.time, early.is_asserted) == (None, False)
    assert "Threshold 55" in early.text
    assert (vendor.sensor, vendor.is_asserted, untimed.time) == ("OEM record dc", True, None)
    assert ipmi_controller.parse_sel_list("SEL has no entries\n") == ()
    with pytest.raises(Unreadable):
        ipmi_controller.parse_sel_list(SEL.replace("11/28/26", "yesterday"))
    state = ipmi_controller.parse_sel_info(SEL_INFO)
    assert (state.entries, state.used_percent, state.is_overflowed) == (3, 14, False)
    with pytest.raises(Unreadable):
        ipmi_controller.parse_sel_info(SEL_INFO.replace("Overflow", "Flow"))


def test_sensors_have_the_status_of_the_controller() -> None:
    inlet, fan, failed, absent = ipmi_sensors.parse_sensors(SENSORS)
    assert (inlet.value, inlet.unit, inlet.status) == (24.0, "degrees C", "ok")
    assert (fan.status, fan.value) == ("cr", 800.0)
    assert (failed.value, failed.text, failed.entity) == (None, "Presence detected, Failure detected", "10.3")
    assert [each.has_reading for each in (inlet, absent)] == [True, False]
    assert ipmi_sensors.parse_sensors("\n") == ()
    for text in (SENSORS.replace("| cr ", "| xx "), SENSORS.replace(" | 29.1", "")):
        with pytest.raises(Unreadable):
            ipmi_sensors.parse_sensors(text)


def test_both_versions_of_nvme_list_give_the_same_drives() -> None:
    old = {"Devices": [{"DevicePath": "/dev/nvme0n1", "ModelNumber": "M", "SerialNumber": "S", "Firmware": "1 "}]}
    controller = {"Controller": "nvme0", "ModelNumber": "M ", "SerialNumber": "S", "Firmware": ""}
    new = {"Devices": [{"Subsystems": [{"Controllers": [controller]}]}]}
    assert nvme.parse_nvme_list(json.dumps(old)) == (nvme.NvmeDrive("/dev/nvme0n1", "M", "S", "1"),)
    assert nvme.parse_nvme_list(json.dumps(new)) == (nvme.NvmeDrive("/dev/nvme0", "M", "S", None),)
    assert nvme.parse_nvme_list('{"Devices": []}') == ()
    found = nvme.parse_nvme_controller('{"mn": "M", "sn": "S", "fr": "1"}', device="/dev/nvme0")
    assert found == nvme.NvmeDrive("/dev/nvme0", "M", "S", "1")
    for text in ("", "[]", '{"Devices": [{}]}', '{"Devices": [{"Subsystems": [{"Controllers": [{}]}]}]}'):
        with pytest.raises(Unreadable):
            nvme.parse_nvme_list(text)


def block(path: str, document: object) -> str:
    return f"## {path}\n{json.dumps(document)}\n"


CHASSIS = {"@odata.type": "#Chassis.v1_21_0.Chassis", "Id": "1", "Name": "DGX", "Status": {"HealthRollup": "OK"}}
POWER = {
    "@odata.type": "#Power.v1_7_1.Power",
    "Id": "Power",
    "Name": "Power",
    "PowerSupplies": [
        {"MemberId": "0", "Name": "PSU0", "Status": {"Health": "Critical", "State": "Enabled"}},
        {"MemberId": "1", "Name": "PSU1", "Status": {"Health": "Critical", "State": "Absent"}},
    ],
    "Redundancy": [{"MemberId": "0", "Name": "PSU Redundancy", "Status": {"Health": "Warning", "State": "Enabled"}}],
}
FAN = {"@odata.type": "#Fan.v1_5_0.Fan", "Id": "F1", "Name": "Fan 1", "Status": {"Health": "OK", "State": "Enabled"}}
BMC_FIRMWARE = {
    "@odata.type": "#SoftwareInventory.v1_9_0.SoftwareInventory",
    "Id": "BMC",
    "Name": "BMC",
    "Version": "23.09",
}
COLLECTION = {"@odata.type": "#FanCollection.FanCollection", "Name": "Fans", "Members": [{"@odata.id": "/F1"}]}
REDFISH = "".join(
    block(path, document)
    for path, document in (
        ("/redfish/v1/Chassis/1", CHASSIS),
        ("/redfish/v1/Chassis/1/Power", POWER),
        ("/redfish/v1/Chassis/1/ThermalSubsystem/Fans", COLLECTION),
        ("/redfish/v1/Chassis/1/ThermalSubsystem/Fans/F1", FAN),
        ("/redfish/v1/UpdateService/FirmwareInventory/BMC", BMC_FIRMWARE),
    )
)


def test_redfish_gives_the_health_of_parts_of_both_models_and_firmware() -> None:
    report = redfish.parse_redfish(REDFISH)
    assert [part.name for part in report.unhealthy()] == ["PSU0", "PSU Redundancy"]
    assert [part.name for part in report.of_kind("PowerSupply")] == ["PSU0"]
    assert [part.name for part in report.of_kind("Fan")] == ["Fan 1"]
    assert report.firmware == {"BMC": "23.09"}


@pytest.mark.parametrize(
    "text",
    [
        "",
        "{}",
        "## /redfish/v1\n",
        block("/redfish/v1", {"error": {"code": "Base.1.0.GeneralError"}}),
        block("/redfish/v1", {"Name": "without a type"}),
        block("/redfish/v1/Fans", COLLECTION),
        REDFISH.replace('"Health": "OK"', '"Health": "Fine"'),
    ],
)
def test_incomplete_or_unknown_redfish_is_unreadable(text: str) -> None:
    with pytest.raises(Unreadable):
        redfish.parse_redfish(text)


PARSERS = (
    (dmidecode.parse_dmidecode, DMI),
    (ipmi_controller.parse_mc_info, MC),
    (ipmi_controller.parse_lan_channels, LAN),
    (ipmi_controller.parse_users, "## 1\nuser 1,named,true,false,true,USER\n"),
    (ipmi_controller.parse_sel_info, SEL_INFO),
    (ipmi_controller.parse_sel_list, SEL),
    (ipmi_sensors.parse_sensors, SENSORS),
    (nvme.parse_nvme_list, '{"Devices": []}'),
    (redfish.parse_redfish, REDFISH),
)


@given(st.sampled_from(PARSERS), st.integers(0, 2000), st.text(max_size=20))
def test_changed_text_is_parsed_or_unreadable(parser: tuple[object, str], at: int, text: str) -> None:
    parse, good = parser
    at %= len(good)
    for changed in (good[:at], good[:at] + text + good[at:], good[:at] + text + good[at + len(text) :], text):
        with contextlib.suppress(Unreadable):
            parse(changed)  # type: ignore[operator]
