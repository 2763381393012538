"""Cases of the checks of access."""

from __future__ import annotations

from check_cases.case import FAIL, UNKNOWN, A, B, Bad, Sample

from sovctl.engine.checks.definitions.access import (
    clients_file,
    key_folders,
    one_root,
    root_keys,
    ssh_keys_only,
    sshd_for_every_network,
)

SSHD = """\
port 22
permitrootlogin without-password
pubkeyauthentication yes
passwordauthentication no
kbdinteractiveauthentication no
permitemptypasswords no
hostbasedauthentication no
gssapiauthentication no
"""

LOGIN = "permitrootlogin no\npubkeyauthentication yes\npasswordauthentication no\n"
LOGINS = f"## ops 10.77.0.1\n{LOGIN}## root 192.0.2.1\n{LOGIN}"
OPEN = LOGINS[::-1].replace("passwordauthentication no"[::-1], "passwordauthentication yes"[::-1], 1)[::-1]

FOLDERS = "755 0 0 /etc/ssh\n750 0 962 /etc/sovctl/tls\n755 0 0 /etc/sovctl\n755 0 0 /etc\n755 0 0 /\n"
KEY = "/etc/sovctl/tls/node.key"
FILES = f"640 0 962 {KEY}\n600 0 0 /etc/ssh/ssh_host_ed25519_key\n"

ROOT_SETTINGS = (
    "pubkeyauthentication yes\nauthorizedkeysfile .ssh/authorized_keys .ssh/authorized_keys2\n"
    "authorizedkeyscommand none\ntrustedusercakeys none\n"
)
ROOT_KEYS = "file /root/.ssh/authorized_keys 1\nkey SHA256:planned\nfile /root/.ssh/authorized_keys2 absent\n"
CLIENTS = "/etc/sovctl/secrets/gateway-clients.json"

SAMPLES = {
    "access.sshd-for-every-network": Sample(
        sshd_for_every_network.Expected(
            logins=("ops 10.77.0.1", "root 192.0.2.1"),
            values={"permitrootlogin": "no", "pubkeyauthentication": "yes", "passwordauthentication": "no"},
        ),
        {"logins": LOGINS},
        {
            "match-block-for-an-address": Bad(
                {"logins": OPEN}, FAIL, "passwordauthentication no for root from 192.0.2.1"
            ),
            "one-login-failed": Bad({"logins": f"## ops 10.77.0.1\n{LOGIN}## root 192.0.2.1\n"}, UNKNOWN, "root"),
            "one-login-missing": Bad({"logins": f"## ops 10.77.0.1\n{LOGIN}"}, UNKNOWN, "for root from 192.0.2.1"),
        },
        ("permitrootlogin", "passwordauthentication", "pubkeyauthentication", "## ops", "## root"),
    ),
    "access.key-folders": Sample(
        key_folders.Expected(
            folders=("/etc/ssh", "/etc/sovctl/tls", "/etc/sovctl", "/etc", "/"),
            private_folders=("/etc/sovctl/tls",),
            files={KEY: (0o640, 0, 962)},
        ),
        {"folders": FOLDERS, "files": FILES},
        {
            "writable-parent": Bad(
                {"folders": FOLDERS.replace("755 0 0 /etc/sovctl", "775 0 0 /etc/sovctl")}, FAIL, "0775"
            ),
            "owned-parent": Bad({"folders": FOLDERS.replace("755 0 0 /etc\n", "755 1000 0 /etc\n")}, FAIL, "user 1000"),
            "open-folder": Bad({"folders": FOLDERS.replace("750", "755")}, FAIL, "closed to other users"),
            "other-group": Bad({"files": FILES.replace("640 0 962", "640 0 100")}, FAIL, "group 100"),
            "readable-host-key": Bad({"files": FILES.replace("600 0 0", "644 0 0")}, FAIL, "ssh_host_ed25519_key"),
            "absent-key": Bad({"files": FILES.replace("640 0 962", "absent - -")}, UNKNOWN, "no such file"),
        },
        ("/etc/ssh\n".strip(), "/etc/sovctl/tls", KEY, "ssh_host"),
    ),
    "access.one-root": Sample(
        one_root.Expected(),
        {"database": "root:0\n", "file": "root:0\n"},
        {
            "second": Bad({"file": "root:0\nbackdoor:0\n"}, FAIL, "root, backdoor"),
            "of-the-directory-service": Bad({"database": "root:0\ntoor:0\n"}, FAIL, "getent passwd"),
            "garbled": Bad({"file": "root\n"}, UNKNOWN, "name:0"),
        },
        ("root:0",),
    ),
    "access.root-keys": Sample(
        root_keys.Expected(keys=("SHA256:planned",)),
        {"settings": ROOT_SETTINGS, "keys": ROOT_KEYS},
        {
            "added": Bad(
                {"keys": ROOT_KEYS.replace("keys2 absent", "keys2 1\nkey SHA256:added")}, FAIL, "SHA256:added"
            ),
            "command": Bad(
                {"settings": ROOT_SETTINGS.replace("command none", "command /opt/keys")},
                FAIL,
                "authorizedkeyscommand none",
            ),
            "authority": Bad({"settings": ROOT_SETTINGS.replace("cakeys none", "cakeys /etc/ca")}, FAIL, "/etc/ca"),
            "unknown-line": Bad({"keys": ROOT_KEYS.replace("keys 1", "keys 2")}, UNKNOWN, "each of 2 lines"),
            "one-file-of-two": Bad({"keys": "file /root/.ssh/authorized_keys absent\n"}, UNKNOWN, "2 files"),
        },
        ("authorizedkeysfile", "authorizedkeyscommand", "trustedusercakeys", "keys2 absent", "key SHA256"),
    ),
    "access.clients-file": Sample(
        clients_file.Expected(sha256=A),
        {"digest": f"{A}  {CLIENTS}\n", "permissions": f"600 964 962 {CLIENTS}\n"},
        {
            "other-content": Bad({"digest": f"{B}  {CLIENTS}\n"}, FAIL, "bbbbbbbbbbbb"),
            "readable": Bad({"permissions": f"644 964 962 {CLIENTS}\n"}, FAIL, "0644"),
            "other-owner": Bad({"permissions": f"600 0 0 {CLIENTS}\n"}, FAIL, "user 0"),
            "absent": Bad({"permissions": f"absent - - {CLIENTS}\n"}, UNKNOWN, "no such file"),
        },
        (A, "600 964"),
    ),
    "access.ssh-keys-only": Sample(
        ssh_keys_only.Expected(users=("ops", "root")),
        {"user_0": SSHD, "user_1": SSHD},
        {
            "passwords": Bad(
                {"user_0": SSHD.replace("passwordauthentication no", "passwordauthentication yes")}, FAIL, "yes"
            ),
            "for-root-alone": Bad({"user_1": SSHD.replace("without-password", "yes")}, FAIL, "for root"),
            "not-said": Bad(
                {"user_0": SSHD.replace("kbdinteractiveauthentication no\n", "")}, UNKNOWN, "kbdinteractive"
            ),
        },
        ("pubkeyauthentication", "passwordauthentication", "kbdinteractive", "permitempty", "permitroot", "hostbased"),
    ),
}
