"""Changes of systemd units and of their processes."""

from __future__ import annotations

from collections.abc import Iterator

from .kind import Kind

UNITS = {
    "chrony": "clock/chrony",
    "nvidia-fabricmanager": "service/nvidia-fabricmanager",
    "nvidia-persistenced": "service/nvidia-persistenced",
}
"""Row of the running state, by unit of a GPU node."""


def kinds() -> Iterator[Kind]:
    """Yield the kinds."""
    for unit, row in UNITS.items():
        drop_in = f"/etc/systemd/system/{unit}.service.d"
        lines = f"mkdir -p {drop_in}; printf '[Service]\\nNice=5\\n' > {drop_in}/z.conf; systemctl daemon-reload"
        service = f"{unit}.service"
        restarts = (f"n2/{row}",)
        yield Kind(f"n2/drop-in/{unit}", "n2", lines, f"n2/unit/{service}", subject=unit, restarts=restarts)
        yield Kind(f"n2/mask/{unit}", "n2", f"systemctl mask {unit}", f"n2/unit/{service}", subject=unit,
                   also=restarts)  # fmt: skip
        # The driver loses persistence mode with the daemon.
        modes = ("n2/gpu_modes/all",) if unit == "nvidia-persistenced" else ()
        yield Kind(f"n2/stopped/{unit}", "n2", f"systemctl stop {unit}", f"n2/{row}", "active", subject=unit,
                   also=modes)  # fmt: skip
        yield Kind(f"n2/disabled/{unit}", "n2", f"systemctl disable {unit}", f"n2/{row}", "enabled", subject=unit)
    yield from _running()
    yield from _services()


def _running() -> Iterator[Kind]:
    program = "/usr/sbin/chronyd"
    yield Kind("n1/replaced-program/chrony", "n1", f"cp -p {program} {program}.x; mv {program}.x {program}",
               "n1/clock/chrony", "replaced files")  # fmt: skip
    folder = "/run/systemd/system/nvidia-persistenced.service.d"
    write = f"mkdir -p {folder}; printf '[Service]\\nEnvironment=A=1\\n' > {folder}/z.conf"
    own = f"{write}; systemctl daemon-reload"
    yield Kind("n1/runtime drop-in/persistenced", "n1", own, "n1/unit/nvidia-persistenced.service",
               restarts=("n1/service/nvidia-persistenced",))  # fmt: skip
    fragment = "cp /usr/lib/systemd/system/chrony.service /etc/systemd/system/; systemctl daemon-reload"
    yield Kind("s1/fragment/chrony", "s1", fragment, "s1/unit/chrony.service", subject="chrony",
               restarts=("s1/clock/chrony",))  # fmt: skip


def _services() -> Iterator[Kind]:
    gateway, pool = "s1/gateway/gateway", "n1/pool/chat"
    yield Kind("s1/stopped/gateway", "s1", "systemctl stop sovctl-gateway", gateway, "active")
    yield Kind("s1/disabled/gateway", "s1", "systemctl disable sovctl-gateway", gateway, "enabled")
    path = "/etc/systemd/system/sovctl-gateway.service"
    edit = f"sed -i '/^NoNewPrivileges/d' {path}; systemctl daemon-reload"
    yield Kind("s1/unit file/gateway", "s1", edit, gateway, "unit_sha256", subject="gateway unit")
    folder = f"{path}.d"
    write = f"mkdir -p {folder}; printf '[Service]\\nEnvironment=HTTPS_PROXY=http://192.0.2.9\\n' > {folder}/p.conf"
    drop_in = f"{write}; systemctl daemon-reload"
    yield Kind("s1/drop-in/gateway", "s1", drop_in, "s1/unit/sovctl-gateway.service", "other_files",
               subject="gateway unit", restarts=(gateway,))  # fmt: skip
    # Without a reload, systemd runs the old unit.
    edit = f"cp -p {path} /var/tmp/u; echo '# x' >> {path}"
    stale = f"{edit}; systemctl daemon-reload; mv /var/tmp/u {path}; touch {path}"
    yield Kind("s1/not reloaded/gateway", "s1", stale, "s1/unit/sovctl-gateway.service", "needs_daemon_reload",
               subject="gateway unit", restarts=(gateway,), also=(gateway,), is_undone_by_reload=True)  # fmt: skip
    yield Kind("n1/stopped/pool", "n1", "systemctl stop sovctl-pool-chat", pool, "active", subject="pool process")
    yield Kind("n1/disabled/pool", "n1", "systemctl disable sovctl-pool-chat", pool, "enabled")
    timer = "sovctl-probe-chat.timer"
    yield Kind("n1/stopped/probe", "n1", f"systemctl stop {timer}", pool, '"probe"', subject="probe")
    yield Kind("n1/changed/probe", "n1", "echo '# x' >> /usr/local/lib/sovctl/probe", pool, "probe_sha256")
    yield Kind("n1/disabled/probe", "n1", f"systemctl disable {timer}", pool, "probe_at_boot")
    yield Kind("s1/disabled/nftables", "s1", "systemctl disable nftables", "s1/perimeter/firewall", "enabled")
    yield Kind("n2/unmasked/apt-daily", "n2", "systemctl unmask apt-daily.timer; systemctl start apt-daily.timer",
               "n2/service/apt-daily.timer")  # fmt: skip
