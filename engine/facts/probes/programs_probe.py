"""Read-only survey of what changes the programs of a node: shared libraries, set-user-ID bits, file capabilities and
variables of all logins. Standard library only.

Argument: one JSON document {"known": [path, ...], "privileged": [[pattern, rights], ...]}: files of sovctl, and
programs of Debian's packages with the letters of their rights: u set-user-ID, g set-group-ID, c file capability.
Prints one JSON list of [kind, name, detail]. A second argument is the root of another tree, with the same paths below
it. Values of variables are not printed, because a proxy can contain a password.
"""

import glob
import json
import os
import re
import subprocess
import sys

ROOT = sys.argv[2] if len(sys.argv) > 2 else ""
LAB = re.compile(r".*/[^/]*sovctl-lab.*")
IS_SIMULATED = os.path.exists(ROOT + "/etc/sovctl-simulated")
# ldconfig(8) links and caches files with these names only. The suffixes are of dpkg and rpm during an installation.
LIBRARY = re.compile(r"(lib|ld-).*\.so(\..*)?")
TRANSIENT = re.compile(r".*(\.dpkg-(new|tmp|old)|;[0-9a-f]{8})")
LINKER_FOLDERS = ("/usr/lib", "/usr/lib64", "/usr/lib/*-linux-gnu")
# The survey of files reports each unpackaged file in these.
OTHER_SURVEY = ("/usr/local/", "/opt/")
# (folder, depth) of programs with set bits. Files below are on the same file system.
SET_BIT_FOLDERS = (
    ("/usr/bin", 1), ("/usr/sbin", 1), ("/usr/libexec", 3), ("/usr/lib", 4), ("/usr/local", 4), ("/root", 2),
    ("/tmp", 2), ("/var/tmp", 2), ("/dev/shm", 2),  # noqa: S108 - only read
)  # fmt: skip
CAPABILITY_FOLDERS = ("/usr/bin", "/usr/sbin", "/usr/libexec", "/usr/local/bin", "/usr/local/sbin")
RIGHTS = {"u": "set-user-ID bit", "g": "set-group-ID bit", "c": "file capability"}
# dpkg compares those of packages; the survey of files reports the others of /etc/profile.d and system.conf.d.
VARIABLE_FILES = ("/etc/environment", "/etc/profile", "/etc/security/pam_env.conf", "/etc/systemd/system.conf")
VARIABLE = re.compile(r"(?i:(http|https|ftp|all|no|rsync|socks)_proxy)|LD_\w+|PYTHON\w*|PATH")
ASSIGNMENT = re.compile(r"^\s*(?:export\s+|DefaultEnvironment=\s*)?[\"']?(\w+)(?:=|\s+(?:DEFAULT|OVERRIDE)=)(.*)$")
STANDARD_PATH = re.compile(r"/((usr|usr/local)/)?(s?bin|games)|/snap/bin|\$\{?PATH\}?|~/.*|\$\{?HOME\}?/.*|")


def owners():
    """Return the paths of packages, also those below links of /bin, /sbin and /lib."""
    if not os.path.isdir(ROOT + "/var/lib/dpkg/info"):
        return set(run("rpm", "-q", "-a", "-l").splitlines())
    packages = set()
    for path in [*glob.glob(ROOT + "/var/lib/dpkg/info/*.list"), ROOT + "/var/lib/dpkg/diversions"]:
        if os.path.exists(path):
            with open(path, encoding="utf-8", errors="surrogateescape") as file:
                packages.update(file.read().splitlines())
    return packages | {"/usr" + name for name in packages if name.startswith(("/bin/", "/sbin/", "/lib"))}


def target_of(path):
    """Return the file to which a path leads through all links."""
    if not ROOT:
        return os.path.realpath(path)
    for _ in range(8):
        if os.path.islink(ROOT + path):
            path = os.path.normpath(os.path.join(os.path.dirname(path), os.readlink(ROOT + path)))
    return path


def linker_folders(packages):
    """Return the folders of the dynamic linker (ld.so(8)); the survey of files covers the omitted ones."""
    found = [path[len(ROOT) :] for pattern in LINKER_FOLDERS for path in glob.glob(ROOT + pattern)]
    for path in [ROOT + "/etc/ld.so.conf", *glob.glob(ROOT + "/etc/ld.so.conf.d/*.conf")]:
        named = [line.strip().rstrip("/") for line in lines_of(path) if line.startswith("/")]
        found += [folder for folder in named if folder in packages]
    # /lib is a link to /usr/lib on all supported systems.
    found = {f"/usr{folder}" if folder.startswith("/lib") else folder for folder in found}
    found |= {path[len(ROOT) :] for folder in found for path in glob.glob(f"{ROOT}{folder}/glibc-hwcaps/*")}
    return sorted(folder for folder in found if not f"{folder}/".startswith(OTHER_SURVEY))


def libraries(packages, known):
    for folder in linker_folders(packages):
        for name in sorted(os.listdir(ROOT + folder)) if os.path.isdir(ROOT + folder) else ():
            path = f"{folder}/{name}"
            if not LIBRARY.fullmatch(name) or TRANSIENT.fullmatch(name) or path in known:
                continue
            target = target_of(path)
            if not os.path.isfile(ROOT + target) or target in packages or is_of_lab(path, target):
                continue
            yield ["library", path, "of no package" if target == path else f"link to {target}, which is of no package"]


def is_of_lab(*paths):
    return IS_SIMULATED and any(LAB.fullmatch(path) for path in paths)


def rights_of_programs():
    """Return the letters of the rights by program; programs without such rights are omitted."""
    found = {}
    for folder, depth in SET_BIT_FOLDERS:
        if os.path.isdir(ROOT + folder):
            words = ["-xdev", "-maxdepth", str(depth), "-type", "f", "-perm", "/6000", "-print0"]
            for path in filter(None, run("find", ROOT + folder, *words).split("\0")):
                mode = os.lstat(path).st_mode
                found[path[len(ROOT) :]] = ("u" if mode & 0o4000 else "") + ("g" if mode & 0o2000 else "")
    for folder in CAPABILITY_FOLDERS:
        for entry in os.scandir(ROOT + folder) if os.path.isdir(ROOT + folder) else ():
            if entry.is_file(follow_symlinks=False) and has_capability(entry.path):
                path = entry.path[len(ROOT) :]
                found[path] = found.get(path, "") + "c"
    return found


def has_capability(path):
    try:
        return bool(os.getxattr(path, "security.capability", follow_symlinks=False))
    except OSError:
        return False  # without the attribute, or removed since


def rights_of_packages(paths, patterns):
    """Return the letters that the package of each path ships, which are empty without a package."""
    if os.path.isdir(ROOT + "/var/lib/dpkg/info"):
        # Packages register modes that their scripts set (dpkg-statoverride(1)): user, group, mode, path.
        overrides = [line.split() for line in lines_of(ROOT + "/var/lib/dpkg/statoverride")]
        modes = {row[3]: int(row[2], 8) for row in overrides if len(row) == 4}
        found = {path: "".join(rights for pattern, rights in patterns if re.fullmatch(pattern, path)) for path in paths}
        for path in set(paths) & set(modes):
            found[path] += ("u" if modes[path] & 0o4000 else "") + ("g" if modes[path] & 0o2000 else "")
        return found
    text = run("rpm", "-q", "-f", "--queryformat", "[%{FILEMODES:perms} %{FILENAMES}\n]", *paths) if paths else ""
    rows = dict(line.split(" ", 1)[::-1] for line in text.splitlines() if line.startswith("-") and " " in line)
    found = {path: "".join(letter for letter, place in (("u", 3), ("g", 6)) if row[place] in "sS")
             for path, row in rows.items() if path in paths}  # fmt: skip
    # rpm(8), VERIFY OPTIONS: the ninth character is P if the capabilities differ.
    text = run("rpm", "-V", "-f", "--nofiledigest", "--nodeps", *paths) if paths else ""
    differing = {line.split()[-1] for line in text.splitlines() if line[8:9] == "P"}
    return {path: rights + ("" if path in differing else "c") for path, rights in found.items()}


def privileged(packages, patterns):
    programs = {path: rights for path, rights in rights_of_programs().items() if not is_of_lab(path)}
    shipped = rights_of_packages(sorted(programs), patterns)
    for path, rights in programs.items():
        expected = shipped.get(path, "") if path in packages else ""
        others = [RIGHTS[letter] for letter in rights if letter not in expected]
        if others:
            yield ["privileged program", path, f"{' and '.join(others)} that its package does not ship"]


def variables(packages, known):
    is_dpkg = os.path.isdir(ROOT + "/var/lib/dpkg/info")
    for path in VARIABLE_FILES:
        if path in known or (is_dpkg and path in packages):
            continue
        matches = [ASSIGNMENT.match(line) for line in lines_of(ROOT + path)]
        names = {match[1] for match in matches if match and is_reported(match[1], match[2])}
        if names:
            yield ["login variable", path, f"sets {', '.join(sorted(names))} for all logins"]


def is_reported(name, value):
    if name != "PATH":
        return VARIABLE.fullmatch(name) is not None
    return not all(STANDARD_PATH.fullmatch(each) for each in value.split("#")[0].strip().strip("\"';").split(":"))


def lines_of(path):
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            return file.read().splitlines()
    except OSError:
        return []


def run(*argv):
    done = subprocess.run(argv, capture_output=True, check=False, env=dict(os.environ, LC_ALL="C"))
    return done.stdout.decode("utf-8", "surrogateescape")


def main():
    request = json.loads(sys.argv[1])
    known, packages = set(request["known"]), owners()
    if not packages:
        sys.exit("no database of packages")
    found = [*libraries(packages, known), *privileged(packages, request["privileged"]), *variables(packages, known)]
    json.dump(sorted(found), sys.stdout)
    sys.stdout.write("\n")


if __name__ == "__main__":
    main()
