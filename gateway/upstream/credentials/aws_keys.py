"""Keys of AWS from a file, which another program may replace while the gateway runs.

The file has the format of AWS's shared credentials file: a section for each profile, with `aws_access_key_id`,
`aws_secret_access_key` and, for temporary keys, `aws_session_token`. The file is read again after it changed. If the
new content is unusable, no request is sent.
"""

from __future__ import annotations

import configparser
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from pathlib import Path

from sovctl.support.errors import InputError
from sovctl.support.secret_files import read_secret

from ...domain.errors import UpstreamFailed
from ...settings import BedrockSettings
from ...telemetry import log
from .sigv4 import AwsKeys, signed_headers

_SERVICE = "bedrock"  # name in signatures of `bedrock-runtime` (AWS service endpoints, read 2026-11)


class AwsAuthorization:
    """Signs requests to Bedrock.

    Args:
        file: the credentials file.
        now: returns the time in UTC.

    Raises:
        InputError: the file is unusable.
    """

    def __init__(
        self, settings: BedrockSettings, file: Path, *, now: Callable[[], datetime] = lambda: datetime.now(UTC)
    ) -> None:
        self._settings, self._path, self._now = settings, file, now
        self._seen = self._version()
        self._keys: AwsKeys | None = read_keys(file, settings.profile)

    async def headers(self, *, authority: str, target: str, body: bytes) -> Mapping[str, str]:
        if (version := self._version()) != self._seen:
            self._read_again()
            self._seen = version
        if self._keys is None:
            raise UpstreamFailed("credentials")
        return signed_headers(
            self._keys,
            method="POST",
            authority=authority,
            target=target,
            body=body,
            region=self._settings.region,
            service=_SERVICE,
            now=self._now(),
        )

    def rejected(self) -> None:
        self._seen = None

    def _read_again(self) -> None:
        try:
            self._keys = read_keys(self._path, self._settings.profile)
        except InputError as error:
            self._keys = None
            log.event("cloud keys unusable", level=40, reason=str(error))

    def _version(self) -> tuple[int, int, int] | None:
        try:
            found = self._path.stat()
        except OSError:
            return None
        return found.st_mtime_ns, found.st_size, found.st_ino


def read_keys(file: Path, profile: str) -> AwsKeys:
    """Read the keys of a profile.

    Raises:
        InputError: the file is absent, readable by others, or holds no such keys.
    """
    parser = configparser.ConfigParser(interpolation=None, default_section="")
    try:
        parser.read_string(read_secret(file))
        section = parser[profile]
        key, secret = section["aws_access_key_id"], section["aws_secret_access_key"]
        token = section.get("aws_session_token")
    except (configparser.Error, KeyError):  # the message of a parser repeats the line
        raise InputError(
            f"expected aws_access_key_id and aws_secret_access_key in section [{profile}], got none", where=str(file)
        ) from None
    for text in (key, secret, token):
        if text is not None and not (text and text.isascii() and text.isprintable()):
            raise InputError("expected keys of printable ASCII", where=str(file))
    return AwsKeys(key, secret, token)
