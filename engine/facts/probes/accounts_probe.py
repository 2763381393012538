"""Read-only survey of accounts, groups and ssh keys that sovctl does not know. Standard library only.

Argument: one JSON document {"accounts": [name, ...], "login": name, "keys": ["type key", ...]}: accounts that may
exist, the account of sovctl, and its public keys. Prints one JSON list of [kind, name, detail]. A second argument is
the root of another tree, with the same paths below it.
"""

import json
import os
import sys

IS_SIMULATED = os.path.exists("/etc/sovctl-simulated")  # the key of `sovctl lab shell` has the comment "shell@..."
ROOT = sys.argv[2] if len(sys.argv) > 2 else ""
FIRST_ACCOUNT, NOBODY = 1000, 65534  # Debian Policy, 9.2.2; login.defs(5), UID_MIN
PRIVILEGED = ("root", "sudo", "wheel", "admin", "shadow", "disk", "docker", "lxd")  # a member can become root
EXPIRED = ("0", "1")  # days since 1970 (shadow(5)); sovctl sets it for a former administrator
KEY_FILES = (".ssh/authorized_keys", ".ssh/authorized_keys2")


def rows(path, count):
    """Return the lines of a colon-separated file with at least a number of fields."""
    try:
        with open(ROOT + path, encoding="utf-8", errors="replace") as file:
            return [line.rstrip("\n").split(":") for line in file if line.count(":") >= count - 1]
    except FileNotFoundError:
        return []


def accounts(known):
    shadow = rows("/etc/shadow", 8)
    passwords = {row[0]: row[1] for row in shadow}
    expired = {row[0] for row in shadow if row[7] in EXPIRED}
    for name, _, uid, *_ in rows("/etc/passwd", 7):
        number, password = int(uid) if uid.isdecimal() else -1, passwords.get(name, "*")
        if number == 0 and name != "root":
            yield ["user", name, "has user id 0"]
        elif name in passwords and not password:
            yield ["user", name, "has an empty password"]
        elif name in known or name in expired or name == "root":
            continue
        elif number >= FIRST_ACCOUNT and number != NOBODY:
            yield ["user", name, "account that site.yaml does not contain"]
        elif not password.startswith(("!", "*")):
            yield ["user", name, "system account with a password"]


def members(known):
    for name, _, _, names in rows("/etc/group", 4):
        if name in PRIVILEGED:
            for member in filter(None, names.split(",")):
                if member not in known and member != "root":
                    yield ["user", member, f"member of group {name}"]


def keys_of(path):
    """Return "type key" of each line; a line can begin with options (sshd(8))."""
    with open(path, encoding="utf-8", errors="replace") as file:
        lines = [line.split() for line in file if line.strip() and not line.startswith("#")]
    if IS_SIMULATED:
        lines = [line for line in lines if not line[-1].startswith("shell@")]
    places = [next((place for place, word in enumerate(line) if word.startswith("AAAA")), 0) for line in lines]
    return [" ".join(line[max(0, place - 1) : place + 1]) for line, place in zip(lines, places)]  # noqa: B905 - Python 3.9


def keys(known, login, own):
    for name, _, _, _, _, home, _ in rows("/etc/passwd", 7):
        # Files of root are in the survey of files. sshd ignores those of administrators.
        if name == "root" or (name in known and name != login):
            continue
        for file in KEY_FILES:
            path = f"{home.rstrip('/')}/{file}"
            if os.path.isfile(ROOT + path):
                others = [key for key in keys_of(ROOT + path) if name != login or key not in own]
                if others:
                    count = f"{len(others)} key{'s' if len(others) > 1 else ''}"
                    yield ["access", path, f"{count} besides sovctl's" if name == login else f"{count} of {name}"]


def main():
    request = json.loads(sys.argv[1])
    known = {*request["accounts"], request["login"]}
    found = [*accounts(known), *members(known), *keys(known, request["login"], set(request["keys"]))]
    unique = {(kind, name): detail for kind, name, detail in reversed(found)}
    json.dump([[*key, detail] for key, detail in sorted(unique.items())], sys.stdout)
    sys.stdout.write("\n")


main()
