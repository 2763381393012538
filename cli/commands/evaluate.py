"""`sovctl evaluate`: asks a pool the site's own questions, and records the marks."""

from __future__ import annotations

from contextlib import nullcontext
from pathlib import Path
from typing import Annotated

import typer

from sovctl.support.errors import ExitCode

from .. import output

DEFAULT = Path("site.yaml")
EPILOG = """Examples: sovctl evaluate --pool chat --on-node
  ·  sovctl evaluate --pool chat --questions-file questions.jsonl --key-file client.key"""


def register(app: typer.Typer) -> None:
    """Add the command to `sovctl`."""
    app.command(epilog=EPILOG)(evaluate)


def evaluate(
    pool: Annotated[str, typer.Option("--pool", help="Pool that answers.")],
    site: Annotated[Path, typer.Argument(help="Path of site.yaml.")] = DEFAULT,
    state: Annotated[Path | None, typer.Option("--state", help="State folder; default: .sovctl next to SITE.")] = None,
    questions_file: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="50 to 200 questions, JSON lines; default: that of the pool in SITE."),
    ] = None,
    on_node: Annotated[
        bool, typer.Option("--on-node", help="Ask a replica on its node, also before gateways route to it.")
    ] = False,
    key_file: Annotated[
        Path | None,
        typer.Option(metavar="KEY", help="File with the API key of a client; required without --on-node."),
    ] = None,
    pass_mark: Annotated[
        float | None,
        typer.Option(min=0.01, max=1.0, help="Smallest fraction of correct answers; default: the pool's, or 0.9."),
    ] = None,
    max_tokens: Annotated[
        int | None, typer.Option(min=1, max=32768, help="Tokens of one answer; default: the pool's, or 512.")
    ] = None,
    address: Annotated[
        str, typer.Option("--address", help="Gateway, HOST or HOST:PORT; default: the first one of the site.")
    ] = "",
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON document.")] = False,
) -> None:
    """Ask a pool the site's own questions, and record the marks. Resumes an interrupted call."""
    from sovctl.engine.checks.runner.circumstances import actor
    from sovctl.engine.checks.runner.pool_replica import on_node as connect
    from sovctl.engine.evaluation.run import evaluate as ask
    from sovctl.engine.evaluation.run import settings_of
    from sovctl.engine.site.site import Site

    opened = Site.open(site, state=state, touches_nodes=True)
    wanted = settings_of(opened, pool, questions_file, pass_mark, max_tokens)
    with opened.state.exclusive("evaluate"), connect(opened, pool) if on_node else nullcontext() as replica:
        try:
            found = ask(
                opened,
                pool=pool,
                questions=wanted.questions,
                key_file=key_file,
                pass_mark=wanted.pass_mark,
                max_tokens=wanted.max_tokens,
                operator=str(actor()),
                address=address,
                replica=replica,
                report=lambda done, total: output.progress(f"{done} of {total} questions"),
            )
        finally:
            output.progress_done()
    result, baseline = found.evaluation, found.baseline
    if as_json:
        document = {**result.to_json(), "correct": result.correct, "passed": found.obstacle is None}
        output.document({**document, "obstacle": found.obstacle, "baseline": baseline.to_json() if baseline else None})
    else:
        speed = result.tokens / result.seconds if result.seconds else 0.0
        output.line(f"{pool}: {result.correct} of {result.total} correct ({result.score:.1%}), {speed:.0f} tokens/s")
        output.line(f"  baseline {baseline.score:.1%} of {baseline.time}" if baseline else "  no baseline")
        output.line(f"  wrong: {', '.join(result.wrong) or 'none'}")
        output.line(f"  {found.obstacle or 'passed'}; {found.file}")
    if found.obstacle:
        raise typer.Exit(ExitCode.FAILURE)
