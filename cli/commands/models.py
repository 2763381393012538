"""`sovctl models`: compares two models by quality, speed, memory and licence."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from .. import output

EPILOG = """Examples: sovctl models compare qwen3-32b llama-3.3-70b site.yaml
  ·  sovctl models compare qwen3-32b llama-3.3-70b --gpu H200-141GB-SXM --in-flight 32"""


def register(app: typer.Typer) -> None:
    """Add the command to `sovctl`."""
    group = typer.Typer(no_args_is_help=True, help="Compare models by quality, speed, memory and licence.")
    app.add_typer(group, name="models")
    group.callback()(lambda: None)  # a group with one command would be that command
    group.command(epilog=EPILOG)(compare)


def compare(
    first: Annotated[str, typer.Argument(metavar="A", help="Model of site.yaml, or id in the catalogue.")],
    second: Annotated[str, typer.Argument(metavar="B", help="Model of site.yaml, or id in the catalogue.")],
    site: Annotated[
        Path | None, typer.Argument(help="Path of site.yaml, for marks, GPUs and workload; default: catalogue only.")
    ] = None,
    state: Annotated[Path | None, typer.Option("--state", help="State folder; default: .sovctl next to SITE.")] = None,
    pool: Annotated[
        str, typer.Option("--pool", help="Pool whose GPUs and workload apply; default: the first one of A or B.")
    ] = "",
    gpu: Annotated[str, typer.Option("--gpu", help="GPU of the catalogue instead of those of a pool.")] = "",
    input_tokens: Annotated[
        int | None, typer.Option("--input-tokens", min=1, max=16_777_216, help="Mean tokens of a prompt.")
    ] = None,
    output_tokens: Annotated[
        int | None, typer.Option("--output-tokens", min=1, max=16_777_216, help="Mean tokens of an answer.")
    ] = None,
    in_flight: Annotated[
        int, typer.Option("--in-flight", min=1, max=8192, help="Requests in flight of one replica.")
    ] = 8,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON document.")] = False,
) -> None:
    """Print quality, speed, memory and licence of two models side by side. Contacts no node.

    Quality is that of `sovctl evaluate`. Speed is an estimate with its band; measurements of the site correct it.
    """
    from sovctl.engine.catalog import load_catalog
    from sovctl.engine.evaluation.comparison import Request
    from sovctl.engine.evaluation.comparison import compare as compared
    from sovctl.engine.evaluation.records import all_evaluations
    from sovctl.engine.site.state_folder import SiteState
    from sovctl.engine.validation.load import load

    from ..views import models as view

    loaded = None if site is None else load(site, is_draft=True)
    found = compared(
        first,
        second,
        catalog=load_catalog() if loaded is None else loaded.catalog,
        spec=None if loaded is None else loaded.spec,
        evaluations=[] if site is None else all_evaluations(SiteState.of_site(site, state).root),
        request=Request(pool, gpu, input_tokens, output_tokens, in_flight),
    )
    if as_json:
        output.document(view.document(found))
    else:
        view.show(found)
