"""`sovctl audit erase` and `export`: data about a subject in a gateway; run `python -m sovctl.gateway subject`."""

from pathlib import Path
from typing import Annotated

import typer

Config = Annotated[
    Path, typer.Option("--config", metavar="FILE", help="Settings file of the gateway, written by `sovctl apply`.")
]
Subject = Annotated[str | None, typer.Option(metavar="ID", help="Client, or ISSUER:SUBJECT of an identity provider.")]
Tenant = Annotated[str | None, typer.Option(metavar="NAME", help="Tenant of --values-file.")]
Values = Annotated[
    str | None,
    typer.Option(metavar="FILE", help="File of mode 0600 with a person's values, one per line; - for standard input."),
]
Ledgers = Annotated[
    list[Path] | None,
    typer.Option(
        "--ledger", metavar="DIR", help="Ledger, or its copy, of another gateway with this vault; repeatable."
    ),
]
_DEFAULT = Path("/etc/sovctl/gateway.yaml")


def register(group: typer.Typer) -> None:
    """Add the commands to `sovctl audit`."""
    group.command(epilog="Example: sovctl audit erase --subject idp:5f1c --dry-run --config gateway.yaml")(erase)
    group.command(epilog="Example: sovctl audit export --subject idp:5f1c --out person.json --config gateway.yaml")(
        export
    )


def erase(
    subject: Subject = None,
    tenant: Tenant = None,
    values_file: Values = None,
    ledger: Ledgers = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Show the counts, and erase nothing.")] = False,
    yes: Annotated[bool, typer.Option("--yes", help="Erase without confirmation.")] = False,
    config: Config = _DEFAULT,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON document.")] = False,
) -> None:
    """Erase the data that a gateway holds about a subject: vault, hand-offs, and the salts of ledger entries.

    Ledger entries stay, and all proofs verify; without the salt they cannot be linked to the person. An interrupted
    erasure is continued by the same command.
    """
    flags = {"--dry-run": dry_run, "--yes": yes, "--json": as_json}
    more = [f"--ledger={each}" for each in ledger or []] + [name for name, is_set in flags.items() if is_set]
    _run("erase", config, subject, tenant, values_file, *more)


def export(
    subject: Subject = None,
    tenant: Tenant = None,
    values_file: Values = None,
    ledger: Ledgers = None,
    out: Annotated[Path | None, typer.Option(metavar="FILE", help="New file, written with mode 0600.")] = None,
    stdout: Annotated[bool, typer.Option("--stdout", help="Print the document instead.")] = False,
    config: Config = _DEFAULT,
) -> None:
    """Write all data that a gateway holds about a subject as one JSON document. The export is recorded first."""
    others = [f"--ledger={each}" for each in ledger or []]
    to = [*others, *(["--out", str(out)] if out is not None else []), *(["--stdout"] if stdout else [])]
    _run("export", config, subject, tenant, values_file, *to)


def _run(word: str, config: Path, subject: str | None, tenant: str | None, values: str | None, *more: str) -> None:
    from .gateway import become

    named = {"--subject": subject, "--tenant": tenant, "--values-file": values}
    options = [f"{name}={value}" for name, value in named.items() if value is not None]
    become("subject", word, f"--config={config}", *options, *more)
