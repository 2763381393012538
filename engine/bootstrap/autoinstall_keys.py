"""Keys that Ubuntu's installer accepts, for the parts of autoinstall that a seed has.

The installer ignores an unknown key in version 1, so a wrong name would have no effect and no message.

Source: subiquity, `autoinstall-schema.json` of 2026-08-20, and netplan 1.1 for `network`. Only names, no types.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping


def _names(text: str) -> frozenset[str]:
    return frozenset(text.split())


KEYS: Mapping[str, frozenset[str]] = {
    "": _names(
        "version interactive-sections early-commands reporting error-commands user-data packages debconf-selections "
        "locale refresh-installer kernel kernel-crash-dumps keyboard zdevs source network ubuntu-pro proxy apt storage "
        "identity ssh snaps active-directory codecs drivers oem timezone updates late-commands shutdown"
    ),
    "apt": _names(
        "preserve_sources_list primary mirror-selection geoip sources disable_components preferences fallback"
    ),
    "keyboard": _names("layout variant toggle"),
    "refresh-installer": _names("update channel"),
    "ssh": _names("install-server authorized-keys allow-pw"),
    "storage": _names("layout config version swap grub"),
    "storage.layout": _names("name match password sizing-policy reset-partition mode"),
    "storage.layout.match": _names("model vendor path id_path devpath serial ssd size install-media"),
    "network": _names("version ethernets bonds vlans bridges wifis tunnels"),
}


def unknown_keys(values: Mapping[str, object], path: str = "") -> Iterator[str]:
    """Yield the paths of keys that the installer would ignore."""
    known = KEYS.get(path)
    for name, value in values.items():
        place = f"{path}.{name}" if path else name
        if known is not None and name not in known:
            yield place
        elif isinstance(value, Mapping):
            yield from unknown_keys(value, place)
