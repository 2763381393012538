"""`sovctl evaluate`: asks a pool the site's own questions, and records the marks."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from sovctl.support.errors import ExitCode

from .. import output

DEFAULT = Path("site.yaml")


def register(app: typer.Typer) -> None:
    """Add the command to `sovctl`."""
    app.command(epilog="Example: sovctl evaluate --pool chat --questions questions.jsonl --key-file client.key")(
        evaluate
    )


def evaluate(
    pool: Annotated[str, typer.Option("--pool", help="Pool that answers.")],
    questions: Annotated[Path, typer.Option("--questions", metavar="FILE", help="50 to 200 questions, JSON lines.")],
    key_file: Annotated[Path, typer.Option("--key-file", metavar="KEY", help="File with the API key of a client.")],
    site: Annotated[Path, typer.Argument(help="Path of site.yaml.")] = DEFAULT,
    state: Annotated[Path | None, typer.Option("--state", help="State folder; default: .sovctl next to SITE.")] = None,
    pass_mark: Annotated[
        float, typer.Option("--pass-mark", min=0.01, max=1.0, help="Smallest fraction of correct answers.")
    ] = 0.9,
    max_tokens: Annotated[int, typer.Option("--max-tokens", min=1, max=32768, help="Tokens of one answer.")] = 512,
    address: Annotated[
        str, typer.Option("--address", help="Gateway, HOST or HOST:PORT; default: the first one of the site.")
    ] = "",
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON document.")] = False,
) -> None:
    """Ask a pool the site's own questions through the gateway, and record the marks. Resumes an interrupted call."""
    from sovctl.engine.checks.runner.circumstances import actor
    from sovctl.engine.evaluation.run import evaluate as ask
    from sovctl.engine.site.site import Site

    opened = Site.open(site, state=state, touches_nodes=True)
    with opened.state.exclusive("evaluate"):
        try:
            found = ask(
                opened,
                pool=pool,
                questions=questions,
                key_file=key_file,
                pass_mark=pass_mark,
                max_tokens=max_tokens,
                operator=str(actor()),
                address=address,
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
