"""Cases of the checks of the operating system."""

from __future__ import annotations

from check_cases.case import FAIL, NOT_APPLICABLE, UNKNOWN, WARN, Bad, Sample

from sovctl.engine.checks.definitions.host import (
    audit_running,
    fips_mode,
    kernel_command_line,
    limits,
    listeners_as_planned,
    log_shipping,
    name_set,
    no_preload,
    no_second_server,
    packages_unchanged,
    running_kernel_planned,
    secure_boot,
    time_zone,
    tpm_present,
)

LISTENERS = """\
LISTEN 0 128 0.0.0.0:22 0.0.0.0:* users:(("sshd",pid=100,fd=3))
LISTEN 0 2048 10.77.0.11:8000 0.0.0.0:* users:(("vllm",pid=200,fd=7),("VLLM::APIServer",pid=201,fd=7))
LISTEN 0 4096 *:41017 *:* users:(("vllm",pid=200,fd=9))
LISTEN 0 128 127.0.0.1:6666 0.0.0.0:* users:(("nv-fabricmanager",pid=300,fd=5))
LISTEN 0 128 [::]:22 [::]:* users:(("sshd",pid=100,fd=4))
"""
GROUPS = """\
100 0::/system.slice/ssh.service
200 0::/system.slice/sovctl-pool-chat.service
201 0::/system.slice/sovctl-pool-chat.service
300 0::/system.slice/nvidia-fabricmanager.service
"""
KERNEL = """\
  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode
   0: 00000000:0016 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 1 1
   1: 0B004D0A:1F40 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 2 1
   2: 0100007F:1A0A 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 3 1
   3: 0B004D0A:0016 01004D0A:D2F0 01 00000000:00000000 00:00000000 00000000     0        0 4 1
  sl  local_address                         remote_address                        st
   0: 00000000000000000000000000000000:0016 00000000000000000000000000000000:0000 0A 0:0 00:0 0 0 0 5
   1: 00000000000000000000000000000000:A039 00000000000000000000000000000000:0000 0A 0:0 00:0 0 0 0 6
"""
FOREIGN = 'LISTEN 0 5 0.0.0.0:9000 0.0.0.0:* users:(("python3",pid=400,fd=3))\n'
FOREIGN_KERNEL = "   4: 00000000:2328 00000000:0000 0A 0:0 00:0 0 0 0 7\n"
SERVERS = "200 0::/system.slice/sovctl-pool-chat.service\nprocesses 61\n"
PACKAGES = "debian\ncoreutils\ndash\ndpkg\niproute2\nlibc6\nopenssh-server\nsystemd\nnftables\n"
UNCHANGED = "??5?????? c /etc/ssh/sshd_config\nmissing     /usr/share/doc/dash/copyright\nend\n"

CONTAINER = Bad({"container": "systemd-nspawn\n"}, NOT_APPLICABLE, "systemd-nspawn")
UNIT_LIMITS = "LimitMEMLOCK=infinity\nLimitNOFILE=1048576\n"
PROCESS_LIMITS = """\
Limit                     Soft Limit           Hard Limit           Units
Max cpu time              unlimited            unlimited            seconds
Max open files            1048576              1048576              files
Max locked memory         unlimited            unlimited            bytes
Max nice priority         0                    0
"""
OPTIONS = "BOOT_IMAGE=/vmlinuz-6.8.0-45-generic root=/dev/md0 ro iommu=pt\n"
AUDIT = "enabled 1\nfailure 1\npid 812\nrate_limit 0\nbacklog_limit 8192\nlost 0\n"
RSYSLOG = "Id=rsyslog.service\nLoadState=loaded\nActiveState=active\nSubState=running\nMainPID=90\n"
SIEM = '0 0 10.20.1.11:40112 10.20.0.7:6514 users:(("rsyslogd",pid=90,fd=11))\nend\n'


def counters(full: int = 0) -> str:
    """Lines of impstats, with a loss that only the newest has."""
    line = '2026-11-29T06:00:00 n1 rsyslogd-pstats: {{ "name": "{}", "discarded.full": {}, "discarded.nf": 0 }}\n'
    return "".join(line.format(f"sovctl-siem queue{each}", count) for each, count in (("", 0), ("[DA]", 0), ("", full)))


PROVIDERS_DEFAULT = """\
Providers:
  default
    name: OpenSSL Default Provider
    version: 3.0.19
    status: active
"""
PROVIDERS_FIPS = f"""\
{PROVIDERS_DEFAULT}  fips
    name: Red Hat Enterprise Linux 9 - OpenSSL FIPS Provider
    version: 3.0.7-395c1a240fbfffd8
    status: active
"""
"""`openssl list -providers`: the form of OpenSSL 3.0.19 in Debian 12, 2026-11-29; the FIPS provider is invented."""

SAMPLES = {
    "host.time-zone": Sample(
        time_zone.Expected(zones=("UTC", "Europe/Berlin")),
        {"zone": "link /usr/share/zoneinfo/Etc/UTC\n+0000\n"},
        {
            "other": Bad({"zone": "link /usr/share/zoneinfo/America/New_York\n-0500\n"}, FAIL, "got America/New_York"),
            "rule": Bad({"zone": "rule JST-9\n+0900\n"}, FAIL, "got JST-9"),
            "shifted": Bad({"zone": "none\n+0100\n"}, FAIL, "+0000 in UTC"),
            "without-offset": Bad({"zone": "link /usr/share/zoneinfo/Etc/UTC\n"}, UNKNOWN, "a zone"),
        },
        ("link", "+0000"),
    ),
    "host.name-set": Sample(
        name_set.Expected(name="n1", address="10.77.0.11"),
        {"name": "n1\n", "forward": "10.77.0.11\n", "backward": " n1\n"},
        {
            "default": Bad({"name": "ubuntu\n"}, FAIL, "ubuntu"),
            "loopback": Bad({"forward": "127.0.1.1\n"}, FAIL, "127.0.1.1"),
            "reverse": Bad({"backward": " other\n"}, FAIL, "other"),
            "garbled": Bad({"name": "?\n"}, UNKNOWN, "a host name"),
        },
        ("n1", "10.77.0.11"),
    ),
    "host.limits": Sample(
        limits.Expected(subject="sovctl-pool-chat", needs_locked_memory=True),
        {"container": "none\n", "unit": UNIT_LIMITS, "process": PROCESS_LIMITS},
        {
            "small": Bad({"process": PROCESS_LIMITS.replace("1048576", "1024   ")}, FAIL, "1024"),
            "locked": Bad({"unit": UNIT_LIMITS.replace("infinity", "8388608")}, FAIL, "LimitMEMLOCK of the unit"),
            "garbled": Bad({"process": "Max\n"}, UNKNOWN, "the header"),
            "unit-in-a-container": Bad(
                {"container": "systemd-nspawn\n", "unit": UNIT_LIMITS.replace("infinity", "8388608")},
                FAIL,
                "of the unit",
            ),
        },
        ("none", "LimitMEMLOCK", "LimitNOFILE", "Limit  ", "Max open files", "Max locked memory"),
    ),
    "host.running-kernel-planned": Sample(
        running_kernel_planned.Expected(),
        {
            "container": "none\n",
            "kernel": "6.8.0-45-generic\n",
            "installed": "linux-image-6.8.0-9-generic\nlinux-image-6.8.0-45-generic\n",
            "waiting": "none\nend\n",
        },
        {
            "newer": Bad({"installed": "linux-image-6.8.0-48-generic\n"}, FAIL, "kernel 6.8.0-48-generic"),
            "waiting": Bad({"waiting": "required\nend\n"}, FAIL, "reboot-required"),
            "own-kernel": Bad({"installed": "linux-image-6.8.0-9-lowlatency\n"}, UNKNOWN, "a package of kernel"),
            "container": CONTAINER,
        },
        ("none", "6.8.0-45-generic\n".strip(), "end"),
    ),
    "host.kernel-command-line": Sample(
        kernel_command_line.Expected(options=("iommu=pt",)),
        {"container": "none\n", "options": OPTIONS},
        {
            "missing": Bad({"options": OPTIONS.replace("iommu=pt", "iommu=off")}, FAIL, "boot option iommu=pt"),
            "weakening": Bad({"options": OPTIONS.replace("ro ", "ro mitigations=off ")}, FAIL, "mitigations=off"),
            "garbled": Bad({"options": "'\n"}, UNKNOWN, "a kernel command line"),
            "container": CONTAINER,
        },
        ("none", "iommu=pt"),
    ),
    "host.secure-boot": Sample(
        secure_boot.Expected(),
        {"container": "none\n", "state": "   6   0   0   0   1\n"},
        {
            "off": Bad({"state": "   6   0   0   0   0\n"}, FAIL, "got off"),
            "bios": Bad({"state": "bios\n"}, FAIL, "without UEFI"),
            "cut": Bad({"state": "   6   0   0\n"}, UNKNOWN, "five bytes"),
            "container": CONTAINER,
        },
        ("none", "6   0"),
    ),
    "host.fips-mode": Sample(
        fips_mode.Expected(is_required=True),
        {"kernel": "1\n", "openssl": PROVIDERS_FIPS},
        {
            "kernel-off": Bad({"kernel": "0\n"}, FAIL, "FIPS mode of kernel on, got off"),
            "kernel-without": Bad({"kernel": "absent\n"}, FAIL, "FIPS mode of kernel on"),
            "openssl-off": Bad({"openssl": PROVIDERS_DEFAULT}, FAIL, "FIPS mode of OpenSSL on, got off"),
            "inactive": Bad({"openssl": PROVIDERS_FIPS.replace("active", "inactive")}, FAIL, "FIPS mode of OpenSSL on"),
            "kernel-unread": Bad({"kernel": ""}, UNKNOWN, "0, 1 or absent"),
            "no-openssl": Bad({"openssl": "sh: 1: openssl: not found\n"}, UNKNOWN, "a list of providers"),
        },
        ("1", "  fips"),
    ),
    "host.tpm-present": Sample(
        tpm_present.Expected(),
        {"container": "none\n", "devices": "tpm 2\nend\n"},
        {
            "none": Bad({"devices": "end\n"}, WARN, "got none"),
            "old": Bad({"devices": "tpm 1\nend\n"}, WARN, "tpm 1"),
            "cut": Bad({"devices": "tpm 2\n"}, UNKNOWN, "then `end`"),
            "container": CONTAINER,
        },
        ("none", "end"),
    ),
    "host.audit-running": Sample(
        audit_running.Expected(),
        {"container": "none\n", "state": AUDIT},
        {
            "off": Bad({"state": AUDIT.replace("enabled 1", "enabled 0")}, FAIL, "auditing enabled"),
            "no-daemon": Bad({"state": AUDIT.replace("pid 812", "pid 0")}, FAIL, "process of auditd"),
            "lost": Bad({"state": AUDIT.replace("lost 0", "lost 7")}, WARN, "7"),
            "missing": Bad({"state": AUDIT.replace("lost 0\n", "")}, UNKNOWN, "enabled, pid and lost"),
            "container": CONTAINER,
        },
        ("none", "enabled", "pid", "lost"),
    ),
    "host.log-shipping": Sample(
        log_shipping.Expected(address="10.20.0.7", port=6514),
        {"unit": RSYSLOG, "connections": SIEM, "statistics": f"{counters()}end\n"},
        {
            "stopped": Bad({"unit": RSYSLOG.replace("active\nSub", "inactive\nSub")}, FAIL, "inactive"),
            "no-connection": Bad({"connections": "end\n"}, FAIL, "10.20.0.7:6514"),
            "other-process": Bad({"connections": SIEM.replace("rsyslogd", "nc")}, FAIL, "a connection of rsyslog"),
            "losses": Bad({"statistics": f"{counters(12)}end\n"}, FAIL, "12 since the start"),
            "no-counters": Bad({"statistics": "end\n"}, UNKNOWN, "counters of the queue"),
        },
        ("ActiveState", "SubState", "LoadState", "rsyslogd", "end\n".strip()),
    ),
    "host.listeners-as-planned": Sample(
        listeners_as_planned.Expected(
            ports={22: ("ssh.service",), 8000: ("sovctl-pool-chat.service",), 9100: ()},
            ssh_port=22,
            dynamic_units=("sovctl-pool-chat.service",),
        ),
        {"listeners": LISTENERS, "groups": GROUPS, "kernel": KERNEL},
        {
            "foreign": Bad(
                {
                    "listeners": LISTENERS + FOREIGN,
                    "groups": f"{GROUPS}400 0::/user.slice/user-0.slice/session-4.scope\n",
                    "kernel": KERNEL + FOREIGN_KERNEL,
                },
                FAIL,
                "no listener on 0.0.0.0:9000, got python3 of session-4.scope",
            ),
            "without-process": Bad(
                {"listeners": LISTENERS + FOREIGN, "kernel": KERNEL + FOREIGN_KERNEL}, FAIL, "python3"
            ),
            "other-service-on-the-port": Bad(
                {"groups": GROUPS.replace("200 0::/system.slice/sovctl-pool-chat", "200 0::/system.slice/cron")},
                FAIL,
                "cron.service",
            ),
            "hidden": Bad({"kernel": KERNEL + FOREIGN_KERNEL}, UNKNOWN, "9000"),
            "without-sshd": Bad(
                {
                    "listeners": "".join(line + "\n" for line in LISTENERS.splitlines() if ":22" not in line),
                    "kernel": "".join(line + "\n" for line in KERNEL.splitlines() if ":0016" not in line),
                },
                UNKNOWN,
                "port 22",
            ),
            "garbled": Bad({"listeners": "State Recv-Q\n"}, UNKNOWN, "a listening socket"),
        },
        ("100 0::", "200 0::", "local_address"),
    ),
    "host.no-second-server": Sample(
        no_second_server.Expected(units=("sovctl-pool-chat.service",)),
        {"servers": SERVERS},
        {
            "by-hand": Bad(
                {"servers": f"300 0::/user.slice/session-2.scope\n{SERVERS}"}, FAIL, "process 300 in session-2.scope"
            ),
            "without-unit": Bad({"servers": f"300 0::/\n{SERVERS}"}, UNKNOWN, "process 300"),
            "not-counted": Bad({"servers": "processes 0\n"}, UNKNOWN, "number of processes"),
        },
        ("processes",),
    ),
    "host.no-preload": Sample(
        no_preload.Expected(),
        {"file": "end\n", "manager": "0\n"},
        {
            "library": Bad({"file": "line /usr/local/lib/quiet.so\nend\n"}, FAIL, "quiet.so"),
            "variable": Bad({"manager": "1\n"}, FAIL, "LD_"),
            "cut": Bad({"file": "line \n"}, UNKNOWN, "then `end`"),
        },
        ("end", "0"),
    ),
    "host.packages-unchanged": Sample(
        packages_unchanged.Expected(),
        {"packages": PACKAGES, "files": UNCHANGED},
        {
            "replaced": Bad({"files": f"??5??????   /usr/bin/ss\n{UNCHANGED}"}, FAIL, "/usr/bin/ss"),
            "removed": Bad({"files": f"missing     /usr/sbin/nft\n{UNCHANGED}"}, FAIL, "/usr/sbin/nft"),
            "not-installed": Bad({"packages": PACKAGES.replace("iproute2\n", "")}, UNKNOWN, "iproute2"),
            "unknown-words": Bad({"files": f"dpkg: error\n{UNCHANGED}"}, UNKNOWN, "flags and path"),
        },
        ("debian", "coreutils", "systemd", "openssh-server", "end"),
    ),
}
