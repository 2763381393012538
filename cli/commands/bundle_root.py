"""`sovctl bundle root`: ceremony of the root of trust, and replacement of a holder."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from .. import output

if TYPE_CHECKING:
    from sovctl.engine.bundle.root import RootState

Trust = Annotated[Path, typer.Argument(metavar="TRUST", help="Folder with the versions of the root.")]
Days = Annotated[int, typer.Option(min=1, max=3650, help="Days until the root expires.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print one JSON document.")]


def register(group: typer.Typer) -> None:
    """Add the commands to `sovctl bundle`."""
    root = typer.Typer(no_args_is_help=True, help="Root of trust: three holders, of whom two sign.")
    group.add_typer(root, name="root")
    root.command(
        epilog="Example: sovctl bundle root init trust --root-key anna.vkey --root-key ben.vkey --root-key carol.vkey "
        "--targets-key anna.vkey --targets-key ben.vkey --online-key builder.vkey"
    )(init)
    root.command(epilog="Example: sovctl bundle root sign trust --key anna.key")(sign)
    root.command(epilog="Example: sovctl bundle root rotate trust --remove carol --add dave.vkey")(rotate)
    root.command(epilog="Example: sovctl bundle root show trust")(show)


def init(
    trust: Trust,
    root_key: Annotated[list[Path], typer.Option(help="Public key of a root holder. At least two; three are usual.")],
    targets_key: Annotated[list[Path], typer.Option(help="Public key of a holder that signs bundles. At least two.")],
    online_key: Annotated[list[Path], typer.Option(help="Public key of the builder.")],
    expires_days: Days = 730,
) -> None:
    """Write the first version of the root, without signatures. Two signatures make it valid."""
    from datetime import UTC, datetime

    from sovctl.engine.bundle import root
    from sovctl.engine.bundle.keys import read_vkey

    holders = root.Holders(*([read_vkey(path) for path in each] for each in (root_key, targets_key, online_key)))
    root.init(trust, holders, now=datetime.now(UTC), expires_days=expires_days)
    _show(root.state(trust), as_json=False)


def sign(trust: Trust, key: Annotated[Path, typer.Option(help="Private key of a root holder.")]) -> None:
    """Sign the newest version of the root. Compare the words with the paper of the ceremony first."""
    from sovctl.compliance.signing import load
    from sovctl.engine.bundle import root

    _show(root.sign(trust, load(key)), as_json=False)


def rotate(
    trust: Trust,
    remove: Annotated[str, typer.Option(help="Name of the holder to replace.")],
    add: Annotated[Path, typer.Option(help="Public key of the new holder.")],
    role: Annotated[str, typer.Option(help="root, targets or online.")] = "root",
    expires_days: Days = 730,
) -> None:
    """Write the next version of the root with a holder replaced. The two remaining holders sign it."""
    from datetime import UTC, datetime

    from sovctl.engine.bundle import root
    from sovctl.engine.bundle.keys import read_vkey

    root.rotate(trust, role, remove=remove, add=read_vkey(add), now=datetime.now(UTC), expires_days=expires_days)
    _show(root.state(trust), as_json=False)


def show(trust: Trust, as_json: AsJson = False) -> None:
    """Show the words, holders and signatures of the newest version."""
    from sovctl.engine.bundle import root

    _show(root.state(trust), as_json=as_json)


def _show(state: RootState, *, as_json: bool) -> None:
    from sovctl.engine.bundle.root_words import to_words

    words = to_words(state.sha256)
    if as_json:
        output.document(
            {
                "version": state.version,
                "sha256": state.sha256,
                "words": words,
                "expires": state.expires.date().isoformat(),
                "holders": state.holders,
                "signed_by": state.signed_by,
                "signatures_missing": state.missing,
            }
        )
        return
    output.line(f"root version {state.version}, expires {state.expires.date()}")
    output.line(f"words    {words}")
    for role, names in state.holders.items():
        output.line(f"{role:8} {', '.join(names)}")
    output.line(f"signed   {', '.join(state.signed_by) or '-'}; missing signatures: {state.missing}")
