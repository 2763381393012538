"""Cases of the checks of software."""

from __future__ import annotations

import json

from check_cases.case import DEAD_UNIT, FAIL, FM_UNIT, NOT_APPLICABLE, UNKNOWN, A, Bad, C, Sample
from gpu_samples import document, eight, gpu

from sovctl.engine.checks.definitions.software import (
    _lock_check,
    environment_files,
    mirror_serves_snapshot,
    sources_only_mirror,
)


def environment_tree(**changes: object) -> str:
    """The document of the program that hashes an environment."""
    tree = {"root": "/opt/sovctl/vllm-0123456789ab", "manifest_sha256": C, "entries": 3, "changed": [], "more": 0}
    return json.dumps({"/opt/sovctl/vllm": tree | changes}) + "\n"


DRIVER = _lock_check.Expected(
    lock="nvidia-580.126.20",
    driver_version="580.126.20",
    packages={"debian-12": {"nvidia-open": "580.126.20-1", "nvidia-fabricmanager": "580.126.20-1"}},
)


SYSTEM = 'ID=debian\nVERSION_ID="12"\n'


PACKAGES = (
    "adduser\t3.134\tall\tii \nnvidia-fabricmanager\t580.126.20-1\tamd64\thi \nnvidia-open\t580.126.20-1\tamd64\thi \n"
)


MODULE = "NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  580.126.20  Release Build\nGCC version: 12\n"


MIRRORS = ("10.77.0.21:8444", "10.77.0.22:8444")


def mirror_answers(manifest: str = C, listing: str = "http 403", upload: str = "http 403") -> str:
    """Answers of both mirrors; the values are those of the second."""
    good = {"mirror": MIRRORS[0], "manifest": C, "listing": "http 403", "upload": "http 403"}
    second = {"mirror": MIRRORS[1], "manifest": manifest, "listing": listing, "upload": upload}
    return "".join(json.dumps(each) + "\n" for each in (good, second))


TARGETS = (
    "MetaKey: Packages\nRepo-URI: http://10.77.0.1:8080/apt/\nTrusted: yes\n"
    "Sourcesentry: /etc/apt/sources.list.d/sovctl.sources:1\n"
)


VENDOR_TARGET = (
    "MetaKey: Packages\nRepo-URI: http://dgx.example.org/\nTrusted: yes\nSourcesentry: /etc/apt/sources.list:1\n"
)


DGX_OS = 'DGX_SWBUILD_VERSION="7.2.3"\n'


SOURCE_FILE = """\
=> /etc/apt/sources.list.d/sovctl.sources
# Written by sovctl
Types: deb
URIs: http://10.77.0.1:8080/apt
Suites: ./
Signed-By: /etc/apt/keyrings/sovctl.asc

"""


APT_SETTINGS = "Acquire::AllowInsecureRepositories 0\nAcquire::AllowDowngradeToInsecureRepositories 0\n"


SAMPLES = {
    "software.driver-exact": Sample(
        DRIVER,
        {"system": SYSTEM, "packages": PACKAGES, "module": MODULE, "gpus": eight()},
        {
            "other-system": Bad({"system": 'ID=slackware\nVERSION_ID="15"\n'}, UNKNOWN, "a supported operating system"),
            "other-version": Bad(
                {"packages": PACKAGES.replace("open\t580.126.20-1", "open\t580.173.02-1")}, FAIL, "580.173.02-1"
            ),
            "removed": Bad(
                {"packages": PACKAGES.replace("open\t580.126.20-1\tamd64\thi", "open\t580.126.20-1\tamd64\trc")},
                FAIL,
                "not installed",
            ),
            "old-module": Bad({"module": MODULE.replace("126.20", "95.05")}, FAIL, "the loaded module"),
            "other-smi": Bad({"gpus": document(gpu(0), driver="580.95.05")}, FAIL, "nvidia-smi at"),
        },
        ("NVRM version", "driver_version", "nvidia-open", "ID=", "VERSION_ID"),
    ),
    "software.fabric-manager-equals-driver": Sample(
        DRIVER,
        {
            "system": SYSTEM,
            "packages": PACKAGES,
            "gpus": eight(),
            "program": "Fabric Manager version is : 580.126.20\n",
            "services": FM_UNIT,
        },
        {
            # A glob without a hold put 590 beside 580 (NVIDIA/gpu-driver-container issue 735).
            "package-ahead": Bad(
                {"packages": PACKAGES.replace("manager\t580.126.20-1", "manager\t590.44.01-1")}, FAIL, "590.44.01-1"
            ),
            "program-ahead": Bad({"program": "Fabric Manager version is : 590.44.01\n"}, FAIL, "590.44.01"),
            "dead": Bad({"services": DEAD_UNIT}, FAIL, "failed"),
            "absent": Bad({"program": (127, "")}, UNKNOWN, "127"),
        },
        ("ActiveState", "SubState", "LoadState", "Id=", "driver_version", "nvidia-fabricmanager\t", "Fabric Manager"),
    ),
    "software.packages-held": Sample(
        DRIVER,
        {"system": SYSTEM, "holds": "nvidia-fabricmanager\nnvidia-open\n"},
        {
            "one-free": Bad({"holds": "nvidia-open\n"}, FAIL, "nvidia-fabricmanager held"),
            "dgx-os": Bad(
                {"system": 'ID=ubuntu\nVERSION_ID="24.04"\n=== dgx-release\nDGX_SWBUILD_VERSION="7.2.3"\n'},
                NOT_APPLICABLE,
                "DGX OS 7",
            ),
        },
        ("nvidia-open", "nvidia-fabricmanager"),
    ),
    "software.mirror-serves-snapshot": Sample(
        mirror_serves_snapshot.Expected(
            mirrors=MIRRORS, snapshot="lab-1", manifest_sha256=C, ca_file="/etc/ssl/sovctl-mirror-ca.pem"
        ),
        {"mirrors": mirror_answers()},
        {
            "other-snapshot": Bad({"mirrors": mirror_answers(manifest=A)}, FAIL, A[:12]),
            "wrong-certificate": Bad({"mirrors": mirror_answers(manifest="wrong server certificate")}, FAIL, "wrong"),
            "listing": Bad({"mirrors": mirror_answers(listing="http 200")}, FAIL, "no listing"),
            "upload": Bad({"mirrors": mirror_answers(upload="http 201")}, FAIL, "no upload"),
            "unknown-upload": Bad({"mirrors": mirror_answers(upload="TimeoutError")}, UNKNOWN, "no upload"),
            "one-mirror": Bad({"mirrors": mirror_answers().splitlines()[0] + "\n"}, UNKNOWN, MIRRORS[1]),
            "other-text": Bad({"mirrors": "{}\n"}, UNKNOWN, "one JSON line per mirror"),
        },
        MIRRORS,
    ),
    "software.sources-only-mirror": Sample(
        sources_only_mirror.Expected(apt_url="http://10.77.0.1:8080/apt"),
        {"targets": TARGETS, "files": SOURCE_FILE, "settings": APT_SETTINGS, "dgx_release": "absent\n"},
        {
            "another": Bad(
                {"targets": f"{TARGETS}\nRepo-URI: http://deb.example.org/debian/\n"}, FAIL, "deb.example.org"
            ),
            "another-file": Bad(
                {"files": f"{SOURCE_FILE}=> /etc/apt/sources.list\ndeb [signed-by=/k] http://apt.example.org/ x y\n"},
                FAIL,
                "apt.example.org",
            ),
            "unverified": Bad({"targets": TARGETS.replace("Trusted: yes", "Trusted: no")}, FAIL, "verified signature"),
            "any-key": Bad({"files": SOURCE_FILE.replace("Signed-By", "X-Signed-By")}, FAIL, "Signed-By"),
            "forced": Bad({"files": SOURCE_FILE.replace("Types", "Trusted: yes\nTypes")}, FAIL, "trusted in"),
            "settings": Bad({"settings": APT_SETTINGS.replace("Repositories 0", "Repositories true", 1)}, FAIL, "true"),
            "none": Bad({"targets": "\n"}, FAIL, "no source"),
            "another-on-another-platform": Bad(
                {"targets": f"{TARGETS}\n{VENDOR_TARGET}", "dgx_release": DGX_OS}, FAIL, "dgx.example.org"
            ),
        },
        ("Repo-URI", "Trusted", "Signed-By", "=> "),
    ),
    "software.environment-files": Sample(
        environment_files.Expected(subject="vllm", root="/opt/sovctl/vllm-0123456789ab", manifest_sha256=C),
        {"files": environment_tree()},
        {
            "other-manifest": Bad({"files": environment_tree(manifest_sha256=A)}, FAIL, "manifest cccc"),
            "no-manifest": Bad({"files": environment_tree(manifest_sha256=None)}, FAIL, "got None"),
            "changed": Bad({"files": environment_tree(changed=["lib/a.py: content"])}, FAIL, "lib/a.py: content"),
            "other-folder": Bad({"files": environment_tree(root="/tmp/vllm")}, FAIL, "got /tmp/vllm"),
        },
        ("manifest_sha256", "changed", "root"),
    ),
}
