"""Finds and removes the remains of sovctl on a node. Runs on a node with the node's python3 (standard library only).

python3 remains_probe.py find REQUEST     one JSON document with the remains; changes nothing
python3 remains_probe.py remove REQUEST   removes files and folders, and prints their number

Request of `find`: {"paths": {name: [glob, ...]}, "kept": [path, ...], "accounts": [...], "groups": [...],
"blocks": {path: line}}. Request of `remove`: {"paths": [...], "kept": [...], "erase": bool}; `erase` overwrites files.
Kept paths and folders on a network file system, which other nodes can use, are neither found nor removed.
"""

import fcntl
import glob
import grp
import json
import os
import pwd
import re
import stat
import struct
import sys

GET_FLAGS, SET_FLAGS = 0x80086601, 0x40086602  # FS_IOC_GETFLAGS, FS_IOC_SETFLAGS of linux/fs.h
LOCKED = 0x30  # FS_IMMUTABLE_FL | FS_APPEND_FL
BLOCK = 1 << 20
LOCAL = {
    "ext2",
    "ext3",
    "ext4",
    "xfs",
    "btrfs",
    "zfs",
    "f2fs",
    "vfat",
    "tmpfs",
    "ramfs",
    "overlay",
    "squashfs",
    "rootfs",
}


def mounts():
    """Return the file system by mount point; the last mount of a point counts (proc_pid_mountinfo(5))."""
    found = {}
    with open("/proc/self/mountinfo", encoding="utf-8", errors="surrogateescape") as file:
        for line in file:
            words = line.split()
            point = re.sub(r"\\([0-7]{3})", lambda match: chr(int(match[1], 8)), words[4])
            found[point] = words[words.index("-") + 1]
    return found


def shared(path, mounted):
    """Return whether a path is on a file system that is not in LOCAL."""
    path = os.path.join(os.path.realpath(os.path.dirname(path)), os.path.basename(path))
    while path not in mounted and path != "/":
        path = os.path.dirname(path)
    return mounted.get(path, "rootfs") not in LOCAL


def is_folder(path):
    return os.path.isdir(path) and not os.path.islink(path)


def is_left(path, kept, mounted):
    """Return whether `remove` would remove something at a path."""
    if path in kept or not os.path.lexists(path) or shared(path, mounted):
        return False
    if not is_folder(path):
        return True
    if path in mounted or any(each.startswith(path + "/") for each in kept):
        return any(is_left(os.path.join(path, name), kept, mounted) for name in os.listdir(path))
    return True


def find(request):
    kept, mounted = set(request["kept"]), mounts()
    paths = {}
    for name, patterns in request["paths"].items():
        found = sorted({path for pattern in patterns for path in glob.glob(pattern)})
        paths[name] = [path for path in found if is_left(path, kept, mounted)]
    return {
        "paths": paths,
        "shared": sorted(point for point in mounted if shared(point, mounted) and near(point, request["paths"])),
        "accounts": [name for name in request["accounts"] if exists(pwd.getpwnam, name)],
        "groups": [name for name in request["groups"] if exists(grp.getgrnam, name)],
        "blocks": [path for path, line in request["blocks"].items() if contains(path, line)],
    }


def near(point, paths):
    folders = {pattern.rstrip("/*") for patterns in paths.values() for pattern in patterns}
    return any(point == each or point.startswith(each + "/") or each.startswith(point + "/") for each in folders)


def exists(look_up, name):
    try:
        look_up(name)
    except KeyError:
        return False
    return True


def contains(path, line):
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            return line in file.read().splitlines()
    except OSError:
        return False


def unlock(path):
    """Clear the immutable and append-only flags of a file or folder."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW)
    except OSError:
        return
    try:
        flags = struct.unpack("l", fcntl.ioctl(descriptor, GET_FLAGS, struct.pack("l", 0)))[0]
        if flags & LOCKED:
            fcntl.ioctl(descriptor, SET_FLAGS, struct.pack("l", flags & ~LOCKED))
    except OSError:
        pass  # this file system has no flags
    finally:
        os.close(descriptor)


def overwrite(path):
    size = os.path.getsize(path)
    with open(path, "r+b", buffering=0) as file:
        while size > 0:
            file.write(os.urandom(min(BLOCK, size)))
            size -= BLOCK
        os.fsync(file.fileno())


def remove(path, kept, mounted, erase):
    """Remove a path without the kept parts, and return the number of removed files."""
    if not os.path.lexists(path):
        return 0
    if path in kept:
        own_by_root(path)
    if path in kept or shared(path, mounted):
        return 0
    unlock(path)
    if is_folder(path):
        count = sum(remove(os.path.join(path, name), kept, mounted, erase) for name in os.listdir(path))
        if path not in mounted and not os.listdir(path):
            os.rmdir(path)
        return count
    if erase and stat.S_ISREG(os.lstat(path).st_mode):
        overwrite(path)
    os.unlink(path)
    return 1


def own_by_root(path):
    """Give a kept folder to root, because the account of its owner is removed."""
    os.chown(path, 0, 0, follow_symlinks=False)
    for folder, folders, files in os.walk(path):
        for name in [*folders, *files]:
            os.chown(os.path.join(folder, name), 0, 0, follow_symlinks=False)


def main():
    command, request = sys.argv[1], json.loads(sys.argv[2])
    if command == "find":
        json.dump(find(request), sys.stdout)
        sys.stdout.write("\n")
    else:
        kept, mounted = set(request["kept"]), mounts()
        count = sum(remove(path, kept, mounted, request["erase"]) for path in sorted(request["paths"], reverse=True))
        sys.stdout.write(f"removed: {count}\n")


if __name__ == "__main__":
    main()
