"""Commands of `sovctl rag`: results to standard output, progress and messages to standard error."""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict
from typing import Any, Self

from sovctl.support.errors import ExitCode, InputError, SovctlError, SpecError
from sovctl.support.os_errors import os_error_message

from ...telemetry import log
from ..values import Groups
from . import arguments, reconciliation
from .access_list import read_access_list
from .directory import read_directory
from .gateway_search import search
from .ingestion import Ingestion, Outcome, Status
from .sandbox import parser_user_id
from .service import Service, StoredDocument, as_json
from .settings import RagSettings, load_settings
from .sources import Source, find_sources

_PROGRESS_S = 10.0  # between two lines of progress if standard error is not a terminal


def main(given: list[str] | None = None) -> int:
    """Run a command; return the exit code."""
    try:
        options = arguments.parser().parse_args(given)
        code = _COMMANDS[options.command](options, load_settings(options.config))
        sys.stdout.flush()  # detect a closed pipe here instead of in the interpreter's shutdown
        return code
    except SpecError as error:
        for problem in error.problems:
            _complain(problem)
        return error.exit_code
    except SovctlError as error:
        _complain(error)
        return error.exit_code
    except KeyboardInterrupt:
        _complain(SovctlError("interrupted; stored documents are complete, and the same command continues"))
        return ExitCode.INTERRUPTED
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # discard the remaining output
        return ExitCode.OK
    except Exception as error:  # noqa: BLE001 - last error handler: no traceback is printed
        if (refused := os_error_message(error)) is not None:
            _complain(refused)
            return refused.exit_code
        _complain(SovctlError(f"internal error: {log.describe(error)}", hint="please report it, with the command"))
        return ExitCode.INTERNAL


@contextmanager
def _prepared(options: argparse.Namespace, settings: RagSettings) -> Iterator[tuple[Ingestion, list[Source]]]:
    """Read the user's files before the first request to the service."""
    access = read_access_list(options.groups_file)
    sources = find_sources(options.path, options.root)
    user_id = parser_user_id(settings.parser.user)
    own = {options.groups_file.resolve(), options.config.resolve()}
    with Service(settings) as service:
        ingestion = Ingestion(
            service=service,
            collection=options.collection,
            access=access,
            limits=settings.parser.limits(),
            user_id=user_id,
            target_tokens=options.chunk_tokens,
        )
        yield ingestion, [source for source in sources if source.path.resolve() not in own]


def _ingest(options: argparse.Namespace, settings: RagSettings) -> int:
    outcomes = []
    with _prepared(options, settings) as (ingestion, sources):
        stored = ingestion.service.documents(options.collection)
        with _Progress(len(sources)) as progress:
            for outcome in ingestion.run(sources, stored, jobs=options.jobs):
                outcomes.append(outcome)
                progress.show(outcome.source_id)
    _show_outcomes(options, outcomes)
    return ExitCode.FAILURE if any(each.status is Status.REFUSED for each in outcomes) else ExitCode.OK


def _reconcile(options: argparse.Namespace, settings: RagSettings) -> int:
    if not options.path.is_dir():
        raise InputError("expected a folder", where=str(options.path))
    with _prepared(options, settings) as (ingestion, sources):
        stored = ingestion.service.documents(options.collection)
        found = list(reconciliation.differences(ingestion, sources, stored))
        if not options.apply:
            return _show_differences(options, found)
        if not options.allow_deletions:
            reconciliation.check_deletions(found, stored)
        rows: list[dict[str, Any]] = []
        with _Progress(len(found)) as progress:
            for each in reconciliation.apply(ingestion, found, sources, stored, jobs=options.jobs):
                rows.append(_row(each))
                progress.show(each.source_id)
    lines = [f"{row['result']:<16}{row['source_id']}{row['detail'] and ': '}{row['detail']}" for row in rows]
    _show(options, {"collection": options.collection, "applied": True, "changes": rows}, lines or ["no differences"])
    return ExitCode.FAILURE if any(row["result"] == Status.REFUSED for row in rows) else ExitCode.OK


def _show_differences(options: argparse.Namespace, found: list[reconciliation.Difference]) -> int:
    rows = [{"action": each.action, "source_id": each.source_id, "detail": each.detail} for each in found]
    lines = [f"{each.action:<12}{each.source_id}: {each.detail}" for each in found] or ["no differences"]
    _show(options, {"collection": options.collection, "applied": False, "differences": rows}, lines)
    return ExitCode.CHANGES if found else ExitCode.OK


def _row(each: Outcome | reconciliation.Difference) -> dict[str, Any]:
    if isinstance(each, Outcome):
        return {"result": each.status, "source_id": each.source_id, "detail": each.message, "reason": each.reason}
    result = {"delete": "deleted", "set_groups": "groups_changed"}[each.action]
    return {"result": result, "source_id": each.source_id, "detail": each.detail, "reason": ""}


def _list(options: argparse.Namespace, settings: RagSettings) -> int:
    with Service(settings) as service:
        stored = service.documents(options.collection)
    rows = [_document(stored[source_id]) for source_id in sorted(stored)]
    lines = [
        f"{row['source_id']}  {row['version'][7:19]}  {row['chunks']} chunks  allow {','.join(row['groups']['allow'])}"
        + (f"  deny {','.join(row['groups']['deny'])}" if row["groups"]["deny"] else "")
        for row in rows
    ]
    _show(options, {"collection": options.collection, "documents": rows}, lines or ["no documents"])
    return ExitCode.OK


def _document(stored: StoredDocument) -> dict[str, Any]:
    return {**asdict(stored), "groups": as_json(stored.groups)}


def _delete(options: argparse.Namespace, settings: RagSettings) -> int:
    with Service(settings) as service:
        results = {source_id: service.delete(options.collection, source_id) for source_id in options.source}
    rows = [{"source_id": source_id, "deleted": deleted} for source_id, deleted in results.items()]
    lines = [f"{'deleted' if row['deleted'] else 'not found'}  {row['source_id']}" for row in rows]
    _show(options, {"collection": options.collection, "documents": rows}, lines)
    return ExitCode.OK if all(results.values()) else ExitCode.FAILURE


def _groups(options: argparse.Namespace, settings: RagSettings) -> int:
    if not options.allow:
        raise InputError("expected a group", where="--allow", hint="delete the document to hide it from all callers")
    groups = Groups(frozenset(options.allow), frozenset(options.deny))
    with Service(settings) as service:
        service.set_groups(options.collection, options.source, groups)
    shown = as_json(groups)
    line = f"{options.source}: allow {','.join(shown['allow'])}" + (
        f", deny {','.join(shown['deny'])}" if groups.deny else ""
    )
    _show(options, {"collection": options.collection, "source_id": options.source, "groups": shown}, [line])
    return ExitCode.OK


def _directory(options: argparse.Namespace, settings: RagSettings) -> int:
    groups = read_directory(
        options.export, subject_attribute=options.subject_attribute, subject_prefix=options.subject_prefix
    )
    if not options.dry_run:
        with Service(settings) as service:
            service.set_directory(groups)
    subjects = {subject for members in groups.values() for subject in members}
    counts = {"groups": len(groups), "subjects": len(subjects), "memberships": sum(map(len, groups.values()))}
    line = ", ".join(f"{count} {name}" for name, count in counts.items())
    _show(options, {**counts, "imported": not options.dry_run}, [line + (" (not imported)" if options.dry_run else "")])
    return ExitCode.OK


def _search(options: argparse.Namespace, settings: RagSettings) -> int:
    found = search(settings, options.collection, options.query, options.results)
    lines = []
    for each in found:
        page = each.attributes.get("page")
        lines += [
            f"{each.score:.3f}  {each.name}" + (f", page {page}" if page else ""),
            f"    {' '.join(each.text.split())}",
        ]
    rows = [asdict(each) for each in found]
    _show(options, {"collection": options.collection, "results": rows}, lines or ["no results"])
    return ExitCode.OK


_COMMANDS = {
    "ingest": _ingest,
    "reconcile": _reconcile,
    "list": _list,
    "delete": _delete,
    "groups": _groups,
    "directory": _directory,
    "search": _search,
}


def _show_outcomes(options: argparse.Namespace, outcomes: list[Outcome]) -> None:
    counts = Counter(each.status for each in outcomes)
    refused = [each for each in outcomes if each.status is Status.REFUSED]
    lines = [f"refused  {each.source_id}: {each.message}" for each in refused]
    lines.append(", ".join(f"{counts[status]} {status.replace('_', ' ')}" for status in Status))
    result = {
        "collection": options.collection,
        "counts": {status.value: counts[status] for status in Status},
        "documents": [asdict(each) for each in outcomes],
    }
    _show(options, result, lines)


class _Progress:
    """Progress on standard error: one line that is overwritten on a terminal, else a line every `_PROGRESS_S`."""

    def __init__(self, total: int) -> None:
        self._total = total
        self._count = 0
        self._shown_s = time.monotonic()
        self._is_terminal = sys.stderr.isatty() and os.environ.get("TERM") != "dumb"

    def show(self, name: str) -> None:
        """Count one document."""
        self._count += 1
        text = f"{self._count} of {self._total} documents"
        if self._is_terminal:
            sys.stderr.write(f"\r\x1b[K{text}  {name[:60] if name.isprintable() else ''}")
            sys.stderr.flush()
        elif time.monotonic() - self._shown_s >= _PROGRESS_S:
            self._shown_s = time.monotonic()
            sys.stderr.write(f"{text}\n")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self._is_terminal:
            sys.stderr.write("\r\x1b[K")


def _show(options: argparse.Namespace, document: Mapping[str, Any], lines: Iterable[str]) -> None:
    if options.json:
        sys.stdout.write(json.dumps(document, indent=2, sort_keys=True) + "\n")
    else:
        sys.stdout.write("".join(f"{_visible(line)}\n" for line in lines))


def _visible(text: str) -> str:
    """Return a text with escapes instead of control characters: the name of a file can contain any."""
    if text.isprintable():
        return text
    return "".join(each if each.isprintable() else each.encode("unicode_escape").decode() for each in text)


def _complain(error: SovctlError) -> None:
    sys.stderr.write(f"sovctl: {_visible(str(error))}\n" + (f"hint: {error.hint}\n" if error.hint else ""))
