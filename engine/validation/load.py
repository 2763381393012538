"""Loads a site.yaml. One run reports all problems, each with line, expected value, actual value and hint.

    loaded = load(Path("site.yaml"))
    loaded.spec.pools[0].name
    loaded.where("pools[chat].port")      # "site.yaml:61: pools[0].port"
    check_files(loaded)                   # before node access: referenced files and their permissions

Planning from facts needs no other file than site.yaml. Commands that access nodes call `check_files` first.
"""

from __future__ import annotations

import contextlib
import os
import stat
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime
from pathlib import Path

from sovctl.support.canonical_json import digest, sha256_hex
from sovctl.support.errors import InputError, Problem, SpecError
from sovctl.support.renamed_keys import move_renamed_keys
from sovctl.support.strict_yaml import MAX_BYTES, YamlSyntaxError, YamlText, parent, read_text, steps

from ..catalog import Catalog, load_catalog
from ..catalog.calibrations import read_calibrations
from ..catalog.site_file import read_site_catalog
from ..sizing.pool.auto_fields import FIELDS, resolve_auto_fields, with_default_sizes
from ..spec import SiteSpec
from ..spec.types import Secret
from .problems import SECRET_FIELDS, secret_problems
from .recognizer_files import read_recognizers
from .renamed_keys import RENAMED_KEYS
from .rules import check
from .well_formed import well_formed

MAX_PROBLEMS = 100  # problems printed per file


@dataclass(frozen=True)
class LoadedSpec:
    """A valid site.yaml.

    Args:
        path: path of the file, as the user wrote it.
        text_sha256: SHA-256 of the file's bytes.
        spec_sha256: SHA-256 of the canonical JSON of the values with defaults, independent of comments and key order.
    """

    spec: SiteSpec
    path: Path
    text_sha256: str
    spec_sha256: str
    text: YamlText
    catalog: Catalog
    """The catalogue of sovctl with the site's entries."""
    data: bytes
    """Content of the file."""

    @property
    def folder(self) -> Path:
        """Base folder of relative paths in the file."""
        return self.path.parent

    def where(self, path: str) -> str:
        """Return file, line and path for messages. Items are named by index or name: `pools[0].port`,
        `pools[chat].port`."""
        return _where(self.path, self.text, path)

    def resolve(self, reference: str) -> Path:
        """Return the file of a path in site.yaml."""
        return self.folder / reference


def load(path: Path, *, today: date | None = None, is_draft: bool = False, data: bytes | None = None) -> LoadedSpec:
    """Read and check a site.yaml. Of the files it names, only `catalog_file` and `calibration_file` are read.

    Args:
        today: current day in UTC, for expiry dates; None: the system clock's.
        is_draft: whether the site is only sized; its pools may then need more nodes than it has.
        data: content to use instead of the file's.

    Raises:
        SpecError: all problems of the site.
        InputError: the file is unreadable.
    """
    data = _read(path) if data is None else data
    day = today or datetime.now(UTC).date()
    return parse(data, path=path, today=day, catalog=_catalog(data, path), is_draft=is_draft)


def _catalog(data: bytes, path: Path) -> Catalog:
    """Return the catalogue with the entries of the files that the site names."""
    with contextlib.suppress(YamlSyntaxError):
        content = read_text(data).value
        if isinstance(content, dict):
            named = [content.get(key) for key in ("catalog_file", "calibration_file")]
            return _own_catalog(path.parent, *(each if isinstance(each, str) else None for each in named))
    return load_catalog()


def catalog_of(spec: SiteSpec, folder: Path) -> Catalog:
    """Return the catalogue of a loaded site: sovctl's catalogue with the site's entries and measurements.

    Raises:
        InputError, SpecError: a file was removed or became invalid after loading.
    """
    return _own_catalog(folder, spec.catalog_file, spec.calibration_file)


def _own_catalog(folder: Path, catalog_file: str | None, calibration_file: str | None) -> Catalog:
    catalog = read_site_catalog(folder / catalog_file) if catalog_file else load_catalog()
    return replace(catalog, calibrations=read_calibrations(folder / calibration_file)) if calibration_file else catalog


def parse(data: bytes, *, path: Path, today: date, catalog: Catalog, is_draft: bool = False) -> LoadedSpec:
    """Check the bytes of a site.yaml; reads no file.

    Args:
        path: path of the file, for messages and relative paths.

    Raises:
        SpecError: all problems of the site.
    """
    try:
        text = read_text(data)
    except YamlSyntaxError as error:
        raise SpecError([error.placed(path)]) from None
    if text.value is None:
        hint = "start with: sovctl init --preset lab"
        raise SpecError([Problem("expected a site description, got an empty file", where=str(path), hint=hint)])
    problems = list(text.problems)
    value, renamed = move_renamed_keys(text.value, RENAMED_KEYS)
    formed = well_formed(value, problems)
    spec = formed.spec
    if not formed.places and not formed.broken & {"node_groups", "models", "pools", "workload", "sizing", "software"}:
        spec, unsettled = resolve_auto_fields(spec, catalog)
        problems += unsettled
    else:
        formed = formed.without_auto(FIELDS)  # rules over pools need numbers
        spec = formed.spec
    reported = [*formed.misspelt, *(each.where for each in problems)]
    checked = check(
        spec, catalog, today=today, broken=formed.broken, partial=frozenset(formed.places), is_draft=is_draft
    )
    found = [*secret_problems(value), *map(formed.placed, checked)]
    if (filled := formed.with_placeholders) is not None:
        pools = [with_default_sizes(pool, 1) for pool in getattr(filled.spec, "pools", [])]
        more = check(
            filled.spec.model_copy(update={"pools": pools}) if pools else filled.spec,
            catalog,
            today=today,
            broken=filled.broken,
            partial=frozenset(filled.places),
            is_draft=is_draft,
            has_placeholders=True,
        )
        known = {(each.where, each.message) for each in found}
        found += [each for each in map(filled.placed, more) if (each.where, each.message) not in known]
    # Problems at a path that was reported, or below it, follow from the reported problem.
    problems += [
        each for each in found if not any(place == each.where or parent(place) == each.where for place in reported)
    ]
    problems += renamed
    if problems:
        raise SpecError(_in_file_order(path, text, problems))
    return LoadedSpec(
        spec=spec,
        path=path,
        text_sha256=sha256_hex(data),
        spec_sha256=digest(spec.model_dump(mode="json")),
        text=text,
        catalog=catalog,
        data=data,
    )


def _read(path: Path) -> bytes:
    hint = "create one with `sovctl init --preset lab`"
    try:
        with path.open("rb") as file:
            return file.read(MAX_BYTES + 1)
    except FileNotFoundError:
        raise InputError("no such file", where=str(path), hint=hint) from None
    except IsADirectoryError:
        raise InputError("expected a file, got a folder", where=str(path), hint=f"try {path / 'site.yaml'}") from None
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) and error.strerror else "unusable name"
        raise InputError(f"expected a file that can be read, got: {reason.lower()}", where=str(path)) from None


def _in_file_order(path: Path, text: YamlText, problems: Iterable[Problem]) -> list[Problem]:
    ordered = sorted(problems, key=lambda problem: text.line(problem.where))
    shown = [text.placed(path, each) for each in ordered[:MAX_PROBLEMS]]
    more = len(ordered) - len(shown)
    if more:
        shown.append(
            Problem(f"{more} more problems are not shown", where=str(path), hint="fix the problems above first")
        )
    return shown


def _where(path: Path, text: YamlText, place: str) -> str:
    return f"{path}:{text.line(place)}: {text.by_index(place)}"


@dataclass(frozen=True)
class FileReference:
    """A file or environment variable that site.yaml names.

    Args:
        place: path in site.yaml, such as `access.key_file`.
        is_secret: whether the file must have mode 600.
    """

    place: str
    file: str | None
    env: str | None
    is_secret: bool


def references(spec: SiteSpec) -> Iterator[FileReference]:
    """Yield every file and environment variable that a site.yaml names, in the order of the schema."""
    if spec.catalog_file is not None:
        yield FileReference("catalog_file", spec.catalog_file, None, is_secret=False)
    if spec.calibration_file is not None:
        yield FileReference("calibration_file", spec.calibration_file, None, is_secret=False)
    for index, pack_file in enumerate(spec.compliance.pack_files):
        yield FileReference(f"compliance.pack_files[{index}]", pack_file, None, is_secret=False)
    if spec.compliance.answers_file is not None:
        yield FileReference("compliance.answers_file", spec.compliance.answers_file, None, is_secret=False)
    if spec.fabric is not None and spec.fabric.cabling_file is not None:
        yield FileReference("fabric.cabling_file", spec.fabric.cabling_file, None, is_secret=False)
    for index, pool in enumerate(spec.pools):
        if pool.evaluation is not None:
            where = f"pools[{index}].evaluation.questions_file"
            yield FileReference(where, pool.evaluation.questions_file, None, is_secret=False)
    yield FileReference("access.key_file", spec.access.key_file, None, is_secret=True)
    yield FileReference("access.known_hosts_file", spec.access.known_hosts_file, None, is_secret=False)
    yield FileReference("artifacts.apt_key_file", spec.artifacts.apt_key_file, None, is_secret=False)
    if spec.host.logs is not None and spec.host.logs.ca_file is not None:
        yield FileReference("host.logs.ca_file", spec.host.logs.ca_file, None, is_secret=False)
    for index, receiver in enumerate(
        spec.monitoring.server.receivers if spec.monitoring and spec.monitoring.server else ()
    ):
        where = f"monitoring.server.receivers[{index}].{receiver.kind}"
        if receiver.ca_file is not None:
            yield FileReference(f"{where}.ca_file", receiver.ca_file, None, is_secret=False)
        if receiver.secret is not None:
            yield _secret(f"{where}.{receiver.secret_field}", receiver.secret)
    if spec.gateway is None:
        return
    for index, cloud in enumerate(spec.gateway.clouds):
        if cloud.ca_file is not None:
            yield FileReference(f"gateway.clouds[{index}].ca_file", cloud.ca_file, None, is_secret=False)
        if cloud.api_key is not None:
            yield _secret(f"gateway.clouds[{index}].api_key", cloud.api_key)
        if cloud.credentials is not None:
            yield _secret(f"gateway.clouds[{index}].{cloud.credentials_place}", cloud.credentials)
        if cloud.vertex is not None and (file := cloud.vertex.token_ca_file) is not None:
            yield FileReference(f"gateway.clouds[{index}].vertex.token_ca_file", file, None, is_secret=False)
        if (proxy := cloud.proxy) is not None:
            if proxy.ca_file is not None:
                yield FileReference(f"gateway.clouds[{index}].proxy.ca_file", proxy.ca_file, None, is_secret=False)
            if proxy.password is not None:
                yield _secret(f"gateway.clouds[{index}].proxy.password", proxy.password)
    if database := spec.gateway.vault.postgresql:
        yield _secret("gateway.vault.postgresql.password", database.password)
        if database.ca_file is not None:
            yield FileReference("gateway.vault.postgresql.ca_file", database.ca_file, None, is_secret=False)
    for index, kek in enumerate(spec.gateway.vault.kek):
        if kek.pkcs11:
            yield _secret(f"gateway.vault.kek[{index}].pkcs11.pin", kek.pkcs11.pin)
    if spec.gateway.client_ca_file is not None:
        yield FileReference("gateway.client_ca_file", spec.gateway.client_ca_file, None, is_secret=False)
    if (listed := spec.gateway.detect.exact_data_match) is not None:
        yield FileReference("gateway.detect.exact_data_match.index_file", listed.index_file, None, is_secret=False)
        yield FileReference("gateway.detect.exact_data_match.key_file", listed.key_file, None, is_secret=True)
    for index, file in enumerate(spec.gateway.detect.recognizer_files):
        yield FileReference(f"gateway.detect.recognizer_files[{index}]", file, None, is_secret=False)
    for index, provider in enumerate(spec.gateway.identity_providers):
        for field, file in (("jwks_file", provider.jwks_file), ("ca_file", provider.ca_file)):
            if file is not None:
                yield FileReference(f"gateway.identity_providers[{index}].{field}", file, None, is_secret=False)
    if (handoff := spec.gateway.handoff) is not None and handoff.webhook is not None and handoff.webhook.ca_file:
        yield FileReference("gateway.handoff.webhook.ca_file", handoff.webhook.ca_file, None, is_secret=False)
    if spec.gateway.tracing is not None and spec.gateway.tracing.ca_file is not None:
        yield FileReference("gateway.tracing.ca_file", spec.gateway.tracing.ca_file, None, is_secret=False)
    for index, client in enumerate(spec.gateway.clients):
        yield _secret(f"gateway.clients[{index}].api_key", client.api_key)


def _secret(place: str, secret: Secret) -> FileReference:
    return FileReference(place, secret.file, secret.env, is_secret=True)


def file_problems(
    loaded: LoadedSpec, *, environ: Mapping[str, str] | None = None
) -> list[tuple[FileReference, Problem]]:
    """Return the problems of referenced files and variables: absent, unreadable, empty, or secret without mode 600.

    Messages contain no content of a file and no path of a secret.

    Args:
        environ: environment of the controller; None: `os.environ`.
    """
    variables = os.environ if environ is None else environ
    found = [
        (reference, Problem(message, where=loaded.where(_leaf(reference)), hint=hint))
        for reference in references(loaded.spec)
        for message, hint in _reference_problems(loaded, reference, variables)
    ]
    absent = {each.file for each, _ in found}
    if loaded.spec.gateway is not None:
        detect = loaded.spec.gateway.detect
        taken = {each.name for each in detect.recognizers}
        for index, file in enumerate(detect.recognizer_files):
            if file not in absent and file not in detect.recognizer_files[:index]:
                names, wrong = read_recognizers(loaded.resolve(file), taken=taken)
                taken.update(names)
                reference = FileReference(f"gateway.detect.recognizer_files[{index}]", file, None, is_secret=False)
                found += [(reference, each) for each in wrong]
    return found


def check_files(loaded: LoadedSpec, *, environ: Mapping[str, str] | None = None) -> None:
    """Check the referenced files and variables; see `file_problems`.

    Raises:
        SpecError: all problems.
    """
    if found := file_problems(loaded, environ=environ):
        hint = f"list what is missing before the first plan: sovctl doctor {loaded.path}"
        raise SpecError([problem for _, problem in found], hint=hint)


def _leaf(reference: FileReference) -> str:
    if steps(reference.place)[-1] not in SECRET_FIELDS:
        return reference.place
    return f"{reference.place}.{'file' if reference.file is not None else 'env'}"


def _reference_problems(
    loaded: LoadedSpec, reference: FileReference, environ: Mapping[str, str]
) -> Iterator[tuple[str, str]]:
    """Yield message and hint of each problem of one reference."""
    if reference.file is None:
        if not environ.get(reference.env or ""):
            yield "environment variable is unset or empty", "export it before running sovctl"
        return
    path = loaded.resolve(reference.file)
    try:
        status = path.stat()
        readable = os.access(path, os.R_OK)
    except OSError as error:
        reason = (error.strerror or "inaccessible").lower()
        yield f"expected a file, got: {reason}", "create it, or correct the path; it is relative to site.yaml"
        return
    if not stat.S_ISREG(status.st_mode):
        yield "not a regular file", "correct the path; it is relative to site.yaml"
    elif not readable:
        yield "file is unreadable", "grant read permission to the user that runs sovctl"
    elif status.st_size == 0:
        yield "file is empty", "write the expected content to it"
    elif reference.is_secret and status.st_mode & 0o077:
        yield (
            f"secret file is readable by others, expected mode 600, got mode {status.st_mode & 0o777:o}",
            "run `chmod 600` on it, and rotate the secret if others had access",
        )
    elif not reference.is_secret and _has_private_key(path):
        yield (
            "file contains a private key, expected public content: apply copies this file to nodes",
            "write the public part to it, such as `gpg --armor --export KEY`; rotate the key if others read it",
        )


PUBLIC_FILE_LIMIT_BYTES = 1 << 20
"""Part of a public file that is searched for private keys, bytes."""
_SECRET_PACKETS = frozenset({*range(0x94, 0x98), *range(0x9C, 0xA0), 0xC5, 0xC7})
"""First bytes of a binary OpenPGP secret key or subkey: tags 5 and 7 in both formats (RFC 9580, 4.2)."""


def _has_private_key(path: Path) -> bool:
    with path.open("rb") as file:
        content = file.read(PUBLIC_FILE_LIMIT_BYTES)
    return b"PRIVATE KEY" in content or (content[:1] != b"" and content[0] in _SECRET_PACKETS)
