"""List of the contents that a site has published, signed by the site, for a delta.

The builder omits these contents from the next bundle. The list names digests only: no paths and no hosts.
"""

from __future__ import annotations

import json
from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, ValidationError

from sovctl.compliance.signing import SigningKey, sign_document, verify_document
from sovctl.compliance.verify_key import BadSignature, VerifyKey
from sovctl.support.atomic_files import read_error_reason, write_atomic
from sovctl.support.bounded_files import read_bounded
from sovctl.support.errors import InputError

from .manifest import TIME_FORMAT, Sha256

_MAX_BYTES = 128 << 20  # 67 bytes a content: 2 million contents


class _Document(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)

    format: Literal["sovctl-published/1"]
    site: str
    time: str
    sequence: int
    contents: tuple[Sha256, ...]


@dataclass(frozen=True)
class Published:
    """Contents that a site has published.

    Args:
        sequence: of the newest published bundle.
    """

    site: str
    sequence: int
    contents: frozenset[str]


def write(path: Path, site: str, sequence: int, contents: Collection[str], key: SigningKey, *, now: datetime) -> None:
    """Write and sign the list."""
    value = {
        "format": "sovctl-published/1",
        "site": site,
        "time": now.strftime(TIME_FORMAT),
        "sequence": sequence,
        "contents": sorted(contents),
    }
    write_atomic(path, json.dumps({"published": value, "signature": sign_document(value, key)}, indent=0) + "\n")


def read(path: Path, key: VerifyKey, *, site: str) -> Published:
    """Read and verify a list.

    Raises:
        InputError: unreadable, unsigned, signed by another key, or of another site.
    """
    try:
        document: Any = json.loads(read_bounded(path, _MAX_BYTES))
        verify_document(document["published"], document["signature"], key)
        found = _Document.model_validate_json(json.dumps(document["published"]))
    except OSError as error:
        raise InputError(f"cannot read the list: {read_error_reason(error)}", where=str(path)) from None
    except BadSignature as error:
        raise InputError(error.message, where=str(path), hint="export it again: sovctl import inventory") from None
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError, ValidationError):
        hint = "export it at the site: sovctl import inventory"
        raise InputError("not a signed list of published contents", where=str(path), hint=hint) from None
    if found.site != site:
        raise InputError(f"expected the list of site {site}, got one of {found.site}", where=str(path))
    return Published(found.site, found.sequence, frozenset(found.contents))
