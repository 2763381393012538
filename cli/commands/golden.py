"""`sovctl golden`: records the tokens of pools for the check `pool.golden-tokens`, and shows the records."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from .. import output

if TYPE_CHECKING:
    from sovctl.engine.facts.benchmarks.golden_tokens import GoldenRecord

SiteFile = Annotated[Path, typer.Argument(help="Path of site.yaml.")]
State = Annotated[Path | None, typer.Option("--state", help="State folder; default: .sovctl next to SITE.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print one JSON document.")]
DEFAULT = Path("site.yaml")


def register(app: typer.Typer) -> None:
    """Add the command to `sovctl`."""
    group = typer.Typer(no_args_is_help=True, help="Recorded tokens of pools, for `pool.golden-tokens`.")
    app.add_typer(group, name="golden")
    group.command(epilog="Examples: sovctl golden record  ·  sovctl golden record --pool chat --replace")(record)
    group.command(epilog="Example: sovctl golden show site.yaml")(show)


def record(
    site: SiteFile = DEFAULT,
    state: State = None,
    pool: Annotated[list[str] | None, typer.Option("--pool", help="Only this pool. Repeatable.")] = None,
    replace: Annotated[bool, typer.Option("--replace", help="Replace the tokens of an earlier recording.")] = False,
    as_json: AsJson = False,
) -> None:
    """Send fixed prompts to every replica twice, and record the tokens if all answers agree."""
    from sovctl.engine.checks.runner.golden import record as record_tokens
    from sovctl.engine.site.site import Site

    opened = Site.open(site, state=state, touches_nodes=True)
    with opened.state.exclusive("golden record"):
        records = record_tokens(opened, pools=pool or (), replace=replace)
    _show(records, as_json=as_json)


def show(site: SiteFile = DEFAULT, state: State = None, as_json: AsJson = False) -> None:
    """Show model, engine, GPU and date of the recorded tokens. Contacts no node."""
    from sovctl.engine.site.golden_tokens import load_all
    from sovctl.engine.site.site import Site

    opened = Site.open(site, state=state, touches_nodes=False)
    records = load_all(opened.state.root, [each.name for each in opened.spec.pools])
    _show(list(records.values()), as_json=as_json)


def _show(records: list[GoldenRecord], *, as_json: bool) -> None:
    if as_json:
        output.document({"records": [each.to_json() for each in records]})
        return
    for each in records:
        tokens = sum(len(completion.token_ids) for completion in each.completions)
        bound = each.binding
        output.line(
            f"{each.pool}: {tokens} tokens of {len(each.completions)} prompts, recorded {each.time}, run {each.run}"
        )
        output.line(f"  vLLM {bound.engine_version}, {bound.quantization}, {bound.layout}, {bound.gpu}")
        output.line(f"  model {bound.model_sha256}")
    if not records:
        output.line("no recorded tokens; run `sovctl golden record`")
