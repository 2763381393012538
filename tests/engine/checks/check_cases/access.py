"""Cases of the checks of access."""

from __future__ import annotations

from check_cases.case import FAIL, UNKNOWN, Bad, Sample

from sovctl.engine.checks.definitions.access import ssh_keys_only

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


SAMPLES = {
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
