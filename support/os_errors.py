"""Converts errors of the operating system to errors with a path, a reason and a hint.

os_error_message(PermissionError(13, "Permission denied", "/etc/x"))  # "/etc/x: permission denied"
"""

from __future__ import annotations

import errno
import os

from .errors import InputError, MissingTool, SovctlError

_WRONG_PATH = frozenset({errno.EISDIR, errno.ENOTDIR, errno.EEXIST, errno.EBUSY, errno.ENAMETOOLONG, errno.ELOOP})
_FORBIDDEN = frozenset({errno.EACCES, errno.EPERM})
_NO_RESOURCE = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.EMFILE, errno.ENOMEM})
_HINT_RESOURCE = "free space or grant access, then repeat the command"
_HINT_PATH = "use another path"


def os_error_message(error: BaseException) -> SovctlError | None:
    """Return the error to show for an `OSError` with a known cause; None for other exceptions."""
    if isinstance(error, FileNotFoundError) and error.filename is None:  # only getcwd(2) has no file name
        return InputError("the working folder does not exist any more", hint="cd to an existing folder")
    if not isinstance(error, OSError) or error.errno not in _WRONG_PATH | _FORBIDDEN | _NO_RESOURCE:
        return None
    kind = MissingTool if error.errno in _NO_RESOURCE else InputError
    place = error.filename2 or error.filename  # of a rename: the target, not the temporary file
    return kind(
        os.strerror(error.errno).lower(),
        where=str(place) if place else "",
        hint=_HINT_PATH if error.errno in _WRONG_PATH else _HINT_RESOURCE,
    )
