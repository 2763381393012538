"""Writes, compares and verifies manifests of folders. Runs on a node with the node's python3 (standard library only).

python3 trees_probe.py write FOLDER MANIFEST        list every entry of FOLDER with its SHA-256 in FOLDER/MANIFEST
python3 trees_probe.py compare MANIFEST FOLDER...   one JSON document; compares metadata, reads few files
python3 trees_probe.py verify MANIFEST FOLDER...    one JSON document; hashes every file
python3 trees_probe.py unlock FOLDER                clear the immutable and append-only flags

An entry is [path, type, mode, uid, gid, size, mtime_ns, ctime_ns, inode, SHA-256 or link target]. `compare` hashes a
file only if its times or inode differ and nothing else does. Larger files than HASH_LIMIT_BYTES count as changed then,
except if only the ctime differs, which a change of permissions and back also causes: `verify` hashes these.
"""

import fcntl
import hashlib
import json
import os
import stat
import struct
import sys
import time

FORMAT = 1
SHOWN = 40
HASH_LIMIT_BYTES = 16777216
HASH_LIMIT_TOTAL_BYTES = 268435456
GET_FLAGS, SET_FLAGS = 0x80086601, 0x40086602  # FS_IOC_GETFLAGS, FS_IOC_SETFLAGS of linux/fs.h
LOCKED = 0x30  # FS_IMMUTABLE_FL | FS_APPEND_FL
COMPARED = ("type", "mode", "owner", "group", "size")


def entries(folder, skipped):
    found = {".": describe(folder, os.lstat(folder))}
    stack = [(folder, "")]
    while stack:
        path, prefix = stack.pop()
        with os.scandir(path) as children:
            for child in children:
                name = prefix + child.name
                if name == skipped:
                    continue
                status = child.stat(follow_symlinks=False)
                found[os.fsencode(name).decode("utf-8", "backslashreplace")] = describe(child.path, status)
                if stat.S_ISDIR(status.st_mode):
                    stack.append((child.path, name + "/"))
    return found


def describe(path, status):
    mode = format(stat.S_IMODE(status.st_mode), "04o")
    common = [mode, status.st_uid, status.st_gid]
    if stat.S_ISREG(status.st_mode):
        return ["file", *common, status.st_size, status.st_mtime_ns, status.st_ctime_ns, status.st_ino, None]
    if stat.S_ISLNK(status.st_mode):
        return ["link", *common, 0, 0, 0, 0, os.fsencode(os.readlink(path)).decode("utf-8", "backslashreplace")]
    return ["folder" if stat.S_ISDIR(status.st_mode) else "special", *common, 0, 0, 0, 0, None]


def sha256(path):
    digest = hashlib.sha256()
    with open(path, "rb", buffering=0) as file:
        while block := file.read(1 << 20):
            digest.update(block)
    return digest.hexdigest()


def write(folder, manifest):
    found = entries(folder, manifest)
    for name, entry in found.items():
        if entry[0] == "file":
            entry[8] = sha256(os.path.join(folder, name))
    lines = [json.dumps([name, *found[name]]) for name in sorted(found)]
    head = json.dumps({"format": FORMAT, "written_ns": time.time_ns()})
    partial = os.path.join(folder, manifest + ".partial")
    with open(partial, "w", opener=lambda path, flags: os.open(path, flags, 0o644)) as file:
        file.write("\n".join([head, *lines, ""]))
        file.flush()
        os.fsync(file.fileno())
    os.replace(partial, os.path.join(folder, manifest))


def read(folder, manifest):
    with open(os.path.join(folder, manifest), "rb") as file:
        data = file.read()
    head, *lines = data.decode().splitlines()
    if json.loads(head)["format"] != FORMAT:
        raise ValueError("format")
    known = {}
    for line in lines:
        name, *entry = json.loads(line)
        if len(entry) != 9:
            raise ValueError("entry")
        known[name] = entry
    return hashlib.sha256(data).hexdigest(), known


def differences(folder, known, found, hashes_all):
    budget = HASH_LIMIT_TOTAL_BYTES
    for name in sorted(known.keys() | found.keys()):
        was, now = known.get(name), found.get(name)
        if was is None:
            yield f"{name}: not in the manifest"
        elif now is None:
            yield f"{name}: missing"
        else:
            differ = [word for index, word in enumerate(COMPARED) if was[index] != now[index]]
            if was[0] == now[0] == "link" and was[8] != now[8]:
                differ.append("target")
            if not differ and now[0] == "file" and (hashes_all or was[5:8] != now[5:8]):
                is_cheap = now[4] <= min(HASH_LIMIT_BYTES, budget)
                if hashes_all or is_cheap:
                    budget -= 0 if hashes_all else now[4]
                    if sha256(os.path.join(folder, name)) != was[8]:
                        differ.append("content")
                elif (was[5], was[7]) != (now[5], now[7]):
                    differ.append("time or inode")
            if differ:
                yield f"{name}: {', '.join(differ)}"


def check(folder, manifest, hashes_all):
    root = os.path.realpath(folder)
    answer = {"root": root, "manifest_sha256": None, "entries": 0, "changed": [], "more": 0}
    try:
        answer["manifest_sha256"], known = read(root, manifest)
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return answer  # absent or damaged; the controller expects a digest
    changed = list(differences(root, known, entries(root, manifest), hashes_all))
    answer.update(entries=len(known), changed=changed[:SHOWN], more=max(0, len(changed) - SHOWN))
    return answer


def unlock(folder):
    for path, folders, files in os.walk(folder, topdown=True):
        for name in [".", *files, *folders]:
            each = os.path.join(path, name)
            if os.path.islink(each) or not (os.path.isfile(each) or os.path.isdir(each)):
                continue
            try:
                descriptor = os.open(each, os.O_RDONLY | os.O_NONBLOCK)
            except OSError:
                continue
            try:
                flags = struct.unpack("l", fcntl.ioctl(descriptor, GET_FLAGS, struct.pack("l", 0)))[0]
                if flags & LOCKED:
                    fcntl.ioctl(descriptor, SET_FLAGS, struct.pack("l", flags & ~LOCKED))
            except OSError:
                pass  # this file system has no flags
            finally:
                os.close(descriptor)


def main():
    command, *arguments = sys.argv[1:]
    if command == "write":
        write(*arguments)
    elif command == "unlock":
        unlock(*arguments)
    else:
        manifest, *folders = arguments
        json.dump({each: check(each, manifest, command == "verify") for each in folders}, sys.stdout)
        sys.stdout.write("\n")


main()
