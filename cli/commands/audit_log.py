"""`sovctl audit search`, `tail` and `prove`: read entries of a ledger. Each access is recorded in that ledger."""

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from .. import output

if TYPE_CHECKING:
    from sovctl.compliance.ledger.format import Entry

Ledger = Annotated[Path, typer.Option(help="Folder of the ledger.")]
Json = Annotated[bool, typer.Option("--json", help="Print one JSON document; with --follow one line per entry.")]
Copy = Annotated[
    bool, typer.Option("--copy", help="The folder is a copy outside the site: the access is not recorded.")
]
_DEFAULT = Path(".sovctl/ledger")


def complete_type(incomplete: str) -> list[tuple[str, str]]:
    """Return the types of records that begin with the typed text."""
    from sovctl.compliance.ledger.record_types import complete

    return complete(incomplete)


def register(group: typer.Typer) -> None:
    """Add the commands to `sovctl audit`."""
    group.command(epilog="Example: sovctl audit search --type 'apply-*' --since 2026-11-01")(search)
    group.command(epilog="Example: sovctl audit tail --follow")(tail)
    group.command(epilog="Example: sovctl audit prove 73894 --out proofs")(prove)


def search(
    ledger: Ledger = _DEFAULT,
    types: Annotated[
        list[str] | None,
        typer.Option(
            "--type",
            help="Type of records, or a pattern such as 'gateway.*'; repeatable.",
            autocompletion=complete_type,
        ),
    ] = None,
    node: Annotated[str, typer.Option(help="Node, target or pool of the record.")] = "",
    identifier: Annotated[str, typer.Option("--id", help="Id of a request, a run, a hand-off or a check.")] = "",
    subject: Annotated[
        str, typer.Option(help="Digest in the record, such as the key of a conversation: 64 hex digits.")
    ] = "",
    since: Annotated[str | None, typer.Option(help="Earliest time, UTC: 2026-11-28 or 2026-11-28T10:00:00Z.")] = None,
    until: Annotated[str | None, typer.Option(help="End of the time range, UTC, excluded.")] = None,
    limit: Annotated[int, typer.Option(min=1, max=100_000, help="Newest entries to show.")] = 1000,
    copy: Copy = False,
    as_json: Json = False,
) -> None:
    """List the entries that meet all conditions, in the order of the ledger."""
    from sovctl.compliance.log_access import access
    from sovctl.compliance.log_access.search import parse_time, query

    wanted = query(
        types=types or [],
        node=node,
        id=identifier,
        commitment=subject,
        since=parse_time(since, where="--since") if since else None,
        until=parse_time(until, where="--until") if until else None,
    )
    _record(ledger, "search", wanted.as_json(), is_copy=copy)
    _show(access.search(ledger, wanted, limit=limit), as_json=as_json)


def tail(
    ledger: Ledger = _DEFAULT,
    lines: Annotated[int, typer.Option("-n", "--lines", min=0, max=100_000, help="Newest entries to show.")] = 10,
    follow: Annotated[bool, typer.Option("--follow", "-f", help="Show new entries until Ctrl-C.")] = False,
    copy: Copy = False,
    as_json: Json = False,
) -> None:
    """Show the newest entries."""
    from sovctl.compliance.log_access import access

    _record(ledger, "tail", {"lines": lines, "follow": follow}, is_copy=copy)
    found = access.newest(ledger, lines)
    if not follow:
        _show(found, as_json=as_json)
        return
    start = found[-1].leaf_index + 1 - len(found) if found else access.size(ledger)
    for entry in access.follow(ledger, start):
        output.line_now(json.dumps(_plain(entry), sort_keys=True) if as_json else _line(entry))


def prove(
    wanted: Annotated[str, typer.Argument(metavar="ENTRY", help="Index of an entry, or the id of a request or run.")],
    ledger: Ledger = _DEFAULT,
    out: Annotated[Path, typer.Option(help="Folder of the proofs.")] = Path(),
    copy: Copy = False,
    as_json: Json = False,
) -> None:
    """Write a proof of each entry, which is verified alone: python3 sovctl-verify.pyz FILE --key log.vkey."""
    from sovctl.compliance.log_access import access, proofs

    found = access.entries_of(ledger, wanted)
    _record(ledger, "prove", {"entries": [entry.leaf_index for entry in found][:100]}, is_copy=copy)
    written = proofs.write(ledger, found, out)
    if as_json:
        output.document([each.as_json() for each in written])
        return
    for each in written:
        output.line(f"{each.path}  {each.size} bytes  {each.type}")
    output.info(f"verify with: sovctl audit verify {written[0].path} --key log.vkey, the key kept outside the site")


def _record(ledger: Path, command: str, conditions: dict[str, object], *, is_copy: bool) -> None:
    from sovctl.compliance.log_access import access

    if not is_copy and not access.record_access(ledger, command, conditions):
        output.info("the access is recorded when the process that writes the ledger appends it")


def _show(entries: "list[Entry]", *, as_json: bool) -> None:
    if as_json:
        output.document({"entries": [_plain(entry) for entry in entries]})
        return
    for entry in entries:
        output.line(_line(entry))


def _plain(entry: "Entry") -> dict[str, object]:
    return {"index": entry.leaf_index, "record": entry.record}


def _line(entry: "Entry") -> str:
    record = entry.record
    rest = {name: value for name, value in record.items() if name not in ("type", "time")}
    text = json.dumps(rest, sort_keys=True, ensure_ascii=True)
    return f"{entry.leaf_index:>8}  {record.get('time', '-'):<24}  {record.get('type', '-'):<18}  {text}"
