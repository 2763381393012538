"""Changes of packages, environments, models, pools, credentials, the firewall, kernel settings and accounts."""

from __future__ import annotations

from collections.abc import Iterator

from .kind import Kind
from .lab import ADMINISTRATOR, MODEL

POOL, GATEWAY = "n1/pool/chat", "s1/gateway/gateway"
_ENVIRONMENT = "$(ls -d /opt/sovctl/gateway/lib/python3*/site-packages)"
_FLIP = "touch -r {0} /var/tmp/t; printf X | dd of={0} bs=1 seek={1} conv=notrunc status=none; touch -r /var/tmp/t {0}"
"""Replaces one byte and keeps the time of the file."""


def kinds() -> Iterator[Kind]:
    """Yield the kinds."""
    yield from _packages()
    yield from _environments()
    yield from _models()
    yield from _pools()
    yield from _credentials()
    yield from _firewall()
    yield from _host()


def _packages() -> Iterator[Kind]:
    # A change of a package can change its dependencies, which have a row of their own.
    of_n1, of_n2 = ("n1/package/dependencies",), ("n2/package/dependencies",)
    yield Kind("n1/hold/nvidia-open", "n1", "apt-mark unhold nvidia-open", "n1/package/nvidia-open", also=of_n1)
    options = "--allow-downgrades --allow-change-held-packages -o DPkg::Lock::Timeout=60"
    install = f"DEBIAN_FRONTEND=noninteractive apt-get install -qq {options} {{}} >/dev/null"
    # The pin of the site would refuse another version of the driver, as dpkg does not.
    yield Kind("n2/version/persistenced", "n2", "cd /root; apt-get download -qq nvidia-persistenced=580.173.02-1 "
               "2>/dev/null; dpkg --install --force-hold --force-depends nvidia-persistenced_580.173.02-1_amd64.deb "
               ">/dev/null; rm nvidia-persistenced_*", "n2/package/nvidia-persistenced",
               also=(*of_n2, "n2/service/nvidia-persistenced", "n2/gpu_modes/all"),
               subject="nvidia-persistenced")  # fmt: skip
    yield Kind("n2/version/dcgm", "n2", install.format("datacenter-gpu-manager-4-cuda13=1:4.6.0-1"),
               "n2/package/datacenter-gpu-manager-4-cuda13", also=of_n2,
               restarts=("n2/service/nvidia-dcgm",))  # fmt: skip
    yield Kind("n2/removed/nscq", "n2", "dpkg --remove --force-all libnvidia-nscq >/dev/null 2>&1",
               "n2/package/libnvidia-nscq", also=of_n2)  # fmt: skip
    yield Kind("s1/apt source", "s1", "echo 'deb http://192.0.2.9 ./' > /etc/apt/sources.list.d/z.list",
               "s1/repository/site-mirror", "z.list")  # fmt: skip
    yield Kind(
        "n1/apt pin",
        "n1",
        "sed -i 's/1001/1/' /etc/apt/preferences.d/sovctl",
        "n1/repository/site-mirror",
        "pin_sha256",
    )


def _environments() -> Iterator[Kind]:
    def kind(name: str, key: str, command: str) -> Kind:
        return Kind(f"s1/environment/{name}", "s1", command, "s1/environment/gateway", key, restarts=(GATEWAY,))

    yield kind("module", "yaml/__init__.py", f"echo '# x' >> {_ENVIRONMENT}/yaml/__init__.py")
    yield kind("pth", "z.pth", f"echo 'import os' > {_ENVIRONMENT}/z.pth")
    yield kind("mode", ".: mode", "chmod 0777 /opt/sovctl/gateway/")
    yield kind("bytecode", "x.cpython-311.pyc", f"echo > {_ENVIRONMENT}/x.cpython-311.pyc")
    yield kind("interpreter", "bin/python3", "ln -sf /bin/true /opt/sovctl/gateway/bin/python3")
    yield kind("stamp", ".built-from", "echo 0 > /opt/sovctl/gateway/.built-from")
    yield kind("link", "", "ln -sfn /tmp /opt/sovctl/gateway")


def _models() -> Iterator[Kind]:
    folder = f"/srv/sovctl/models/{MODEL}"

    def kind(name: str, key: str, command: str) -> Kind:
        # A row names at most five files of a tree.
        subject = "changed model file" if "changed" in name else ""
        return Kind(f"n1/model/{name}", "n1", command, f"n1/model/{MODEL}", key, restarts=(POOL,), subject=subject)

    yield kind("extra", "z.safetensors", f"touch {folder}/z.safetensors")
    yield kind("changed", '"config.json', f"echo x >> {folder}/config.json")
    yield kind("mode", "tokenizer.json", f"chmod 0666 {folder}/tokenizer.json")
    yield kind("removed", "generation_config.json", f"rm {folder}/generation_config.json")
    yield kind("flipped", "model.safetensors", _FLIP.format(f"{folder}/model.safetensors", 600_000))
    yield kind("immutable and changed", "tokenizer_config.json",
               f"echo x >> {folder}/tokenizer_config.json; chattr +i {folder}/tokenizer_config.json")  # fmt: skip
    # Only a hash of the whole file finds this one. It has a round of its own, so that its row has no other cause.
    yield kind("flipped in a large file", "", _FLIP.format(f"{folder}/notes.bin", 20_000_000))


def _pools() -> Iterator[Kind]:
    flags = "/etc/sovctl/pools/chat.yaml"
    edit = f"sed -i 's/^max-num-seqs: .*/max-num-seqs: 4/' {flags}"

    def kind(name: str, key: str, command: str) -> Kind:
        return Kind(f"n1/pool/{name}", "n1", command, POOL, key, subject="pool process")

    yield kind("flag", '"max-num-seqs"', edit)
    # The file is restored with its time after the process has read it, so that only the process has the other flag.
    read = "/proc/$(systemctl show --property=MainPID --value sovctl-pool-chat)/cmdline"
    wait = f"for i in $(seq 60); do tr '\\0' ' ' < {read} | grep -q 'max-num-seqs 4' && break; sleep 1; done"
    yield kind("flag of the process", "running_flags", f"cp -p {flags} /var/tmp/f; {edit}; systemctl restart "
               f"sovctl-pool-chat; {wait}; cp -p /var/tmp/f {flags}; rm /var/tmp/f")  # fmt: skip
    drop_in = "/run/systemd/system/sovctl-pool-chat.service.d"
    write = f"mkdir -p {drop_in}; printf '[Service]\\nEnvironment=VLLM_LOGGING_LEVEL=DEBUG\\n' > {drop_in}/z.conf"
    yield kind("variable of the process", "running_environment", f"{write}; systemctl daemon-reload; systemctl "
               f"restart sovctl-pool-chat; sleep 8; rm -r {drop_in}; systemctl daemon-reload")  # fmt: skip
    yield Kind("n1/pool/launcher", "n1", "echo '# x' >> /usr/local/lib/sovctl/serve", POOL, "launcher_sha256")
    server = "setsid python3 -m http.server --bind 127.0.0.1 8099 >/dev/null 2>&1"
    yield Kind("n1/pool/by hand", "n1", f"systemctl stop sovctl-pool-chat; cd /; {server} & echo $! > /run/hand.pid; "
               "sleep 2", "n1/listener/tcp 127.0.0.1:8099", also=(POOL, "n1/process//usr/bin/python3.11"),
               subject="pool process", restore="kill $(cat /run/hand.pid); rm /run/hand.pid")  # fmt: skip


def _credentials() -> Iterator[Kind]:
    def kind(node: str, name: str, path: str, command: str, also: tuple[str, ...] = ()) -> Kind:
        row = f"{node}/credential/{path.rpartition('/')[2]}"
        restarts = (POOL,) if node == "n1" else (GATEWAY,)
        return Kind(f"{node}/credential/{name}", node, command.replace("FILE", path), row, restarts=restarts, also=also)

    tls, secrets = "/etc/sovctl/tls", "/etc/sovctl/secrets"
    key = "-newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes"
    make = f"openssl req -x509 {key} -subj /CN=n1 -days {{}} -keyout /var/tmp/k -out /var/tmp/c 2>/dev/null; "
    yield kind("n1", "repointed", f"{tls}/node.pem", "cp -p FILE /var/tmp/n; ln -sf /var/tmp/n FILE",
               also=(f"n1/attributes/{tls}/node.pem",))  # fmt: skip
    yield kind("s1", "expires soon", f"{tls}/node.pem", make.format(3) + "cat /var/tmp/c > FILE")
    yield kind("n1", "other key", f"{tls}/node.key", make.format(300) + "cat /var/tmp/k > FILE")
    yield kind("s1", "another authority", f"{tls}/ca.pem", make.format(300) + "cat /var/tmp/c >> FILE")
    yield kind("n1", "removed", f"{tls}/ca.pem", "rm FILE")
    yield kind("s1", "mode", f"{secrets}/token.key", "chmod 0644 FILE")
    yield kind("s1", "owner", f"{secrets}/vault.kek", "chown 0 FILE")
    yield kind("s1", "changed", f"{secrets}/gateway-clients.json", "echo ' ' >> FILE")
    yield kind("s1", "unknown file", f"{secrets}/old.key", "echo x > FILE")
    yield Kind("s1/gateway/config", "s1", "echo '# x' >> /etc/sovctl/gateway.yaml", GATEWAY, "config_sha256")


def _firewall() -> Iterator[Kind]:
    for node, name, key, command in (
        ("n1", "rule", "192.0.2.9", "nft add rule inet sovctl output ip daddr 192.0.2.9 accept"),
        ("n2", "table", "ip drift", "nft add table ip drift"),
        ("n2", "policy", "policy accept", "nft chain inet sovctl output '{ policy accept; }'"),
        ("s1", "flushed", "", "nft flush ruleset"),
        ("n1", "flushed chain", "rules", "nft flush chain inet sovctl input; nft add rule inet sovctl input accept"),
    ):
        yield Kind(f"{node}/firewall/{name}", node, command, f"{node}/perimeter/firewall", key, subject="firewall")


def _host() -> Iterator[Kind]:
    yield Kind(
        "n1/sysctl/now", "n1", "sysctl -qw net.ipv4.ip_forward=1", "n1/tuning/kernel", "ip_forward", subject="sysctl"
    )
    yield Kind("n2/sysctl/redirects", "n2", "sysctl -qw net.ipv4.conf.all.accept_redirects=1", "n2/tuning/kernel")
    yield Kind("s1/sysctl/at boot", "s1", "echo 'net.ipv4.ip_forward = 1' > /etc/sysctl.d/99-z.conf",
               "s1/file//etc/sysctl.d/99-z.conf", also=("s1/tuning/kernel",),
               restore="rm /etc/sysctl.d/99-z.conf", blocks_apply=True)  # fmt: skip
    yield Kind(
        "n2/hosts",
        "n2",
        "(echo 192.0.2.9 s1; cat /etc/hosts) > /var/tmp/h; cat /var/tmp/h > /etc/hosts",
        "n2/hosts_file/nodes",
    )
    drop_in = "/etc/ssh/sshd_config.d"
    yield Kind("n2/sshd/changed", "n2", f"sed -i 's/PasswordAuthentication no/PasswordAuthentication yes/' "
               f"{drop_in}/00-sovctl.conf; systemctl reload ssh", "n2/sshd/server")  # fmt: skip
    yield Kind("n2/sshd/earlier Match", "n2", f"printf 'Match User {ADMINISTRATOR} Address 10.77.0.0/24\\n"
               f"  PasswordAuthentication yes\\n' > {drop_in}/00-a.conf; systemctl reload ssh",
               f"n2/access/{drop_in}/00-a.conf", also=("n2/sshd/server",),
               restore=f"rm {drop_in}/00-a.conf; systemctl reload ssh", blocks_apply=True)  # fmt: skip
    yield from _administrator()


def _administrator() -> Iterator[Kind]:
    name, keys = ADMINISTRATOR, f"/etc/ssh/authorized_keys.d/{ADMINISTRATOR}"
    other = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIPPd4lxmIp4xfbcmvVh1cB5J7ObeQHVnYYbxuNZ0pTDA x"
    for number, (kind, value, command) in enumerate((
        ("key", '"keys"', f"echo '{other}' >> {keys}"),
        ("keys mode", "keys_mode", f"chmod 0666 {keys}"),
        ("sudo", "sudo_sha256", f"echo '{name} ALL=(root) NOPASSWD: ALL' >> /etc/sudoers.d/sovctl-{name}"),
        ("groups", "groups", f"usermod --append --groups sudo {name}"),
        ("shell", "shell", f"usermod --shell /bin/sh {name}"),
        ("password", "has_password", f"echo '{name}:x-drift-1' | chpasswd"),
        ("removed", "", f"userdel {name}"),
    )):  # fmt: skip
        node = ("n1", "n2", "s1")[number % 3]
        yield Kind(f"{node}/administrator/{kind}", node, command, f"{node}/administrator/{name}", value)
