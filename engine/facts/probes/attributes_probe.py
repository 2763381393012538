"""Read-only probe of type, mode, owner and flags of paths; runs on a node (standard library only). Arguments: PATH...

Prints one JSON document: {path: {"type", "mode", "uid", "gid", "is_locked"}}; absent paths are omitted. `is_locked`:
the immutable or the append-only flag is set.
"""

import fcntl
import json
import os
import stat
import struct
import sys

GET_FLAGS = 0x80086601  # FS_IOC_GETFLAGS of linux/fs.h
LOCKED = 0x30  # FS_IMMUTABLE_FL | FS_APPEND_FL


def is_locked(path):
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW)
    except OSError:
        return False
    try:
        return bool(struct.unpack("l", fcntl.ioctl(descriptor, GET_FLAGS, struct.pack("l", 0)))[0] & LOCKED)
    except OSError:
        return False  # this file system has no flags
    finally:
        os.close(descriptor)


def describe(path):
    status = os.lstat(path)
    kinds = ((stat.S_ISREG, "file"), (stat.S_ISDIR, "folder"), (stat.S_ISLNK, "link"))
    kind = next((name for matches, name in kinds if matches(status.st_mode)), "special")
    return {
        "type": kind,
        "mode": format(stat.S_IMODE(status.st_mode), "04o"),
        "uid": status.st_uid,
        "gid": status.st_gid,
        "is_locked": kind in ("file", "folder") and is_locked(path),
    }


json.dump({path: describe(path) for path in sys.argv[1:] if os.path.lexists(path)}, sys.stdout)
sys.stdout.write("\n")
