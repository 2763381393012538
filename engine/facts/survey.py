"""Parser of the JSON lists of the surveys in `probes/`: unmanaged things on a node."""

from __future__ import annotations

import json
from typing import NamedTuple

from .unreadable import MALFORMED, Unreadable


class Thing(NamedTuple):
    """One thing that neither a package nor sovctl put on a node.

    Args:
        kind: `file`, `program`, `unit`, `cron`, `listener`, `user`, `preload`, `access`, `package source`,
            `changed package file`, `library`, `privileged program`, `login variable`, `process`, `route`,
            `host name`, `time zone`, or since the last apply `changed file`, `account`, `package hold`, `address`,
            `service variable`, `mount`, `routing rule` or `kernel setting`.
        name: path, address, account, destination or host name.
        detail: reason for the reader.
    """

    kind: str
    name: str
    detail: str


def parse_survey(text: str) -> list[Thing]:
    """Return the things of a survey, in the order printed.

    Raises:
        Unreadable: the text is not a list of kind, name and detail.
    """
    try:
        rows = json.loads(text)
        things = [Thing(*row) for row in rows]
    except MALFORMED:
        raise Unreadable("a JSON list of kind, name and detail", text, where="survey") from None
    if not isinstance(rows, list) or not all(isinstance(each, str) for thing in things for each in thing):
        raise Unreadable("a JSON list of kind, name and detail", text, where="survey")
    return things
