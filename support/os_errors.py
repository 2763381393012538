"""What the machine refuses is no mistake in the code: the place and the system's words are enough.

os_error_message(PermissionError(13, "Permission denied", "/etc/x"))  # "/etc/x: permission denied by the system"
"""

from __future__ import annotations

import errno
import os

from .errors import InputError, MissingTool, SovctlError

_MISNAMED = frozenset({errno.EISDIR, errno.ENOTDIR, errno.EEXIST, errno.EBUSY, errno.ENAMETOOLONG, errno.ELOOP})
_FORBIDDEN = frozenset({errno.EACCES, errno.EPERM})
_WITHOUT_ROOM = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.EMFILE, errno.ENOMEM})
_ROOM = "make room or give access, then run the same command again"
_NAME = "name another place for it"


def os_error_message(error: BaseException) -> SovctlError | None:
    """An error of the machine in words for a person; None for any other error."""
    if isinstance(error, FileNotFoundError) and error.filename is None:  # only getcwd(2) names no file
        return InputError("expected a folder to work in, got one that is gone", hint="cd to one that exists")
    if not isinstance(error, OSError) or error.errno not in _MISNAMED | _FORBIDDEN | _WITHOUT_ROOM:
        return None
    kind = MissingTool if error.errno in _WITHOUT_ROOM else InputError
    place = error.filename2 or error.filename  # of a rename, the place that was meant and not the draft
    return kind(
        f"this machine refuses: {os.strerror(error.errno).lower()}",
        where=str(place) if place else "",
        hint=_NAME if error.errno in _MISNAMED else _ROOM,
    )
