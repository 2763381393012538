"""`sovctl bundle`: builds, signs and verifies bundles of files for a closed site."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from .. import output
from . import bundle_media, bundle_root

if TYPE_CHECKING:
    from sovctl.engine.bundle.signing import SignatureState

StoreFolder = Annotated[Path, typer.Argument(metavar="STORE", help="Folder of the bundle.")]
Keys = Annotated[
    list[Path] | None,
    typer.Option("--key", help="Private key of a targets holder or of the builder. Repeatable."),
]
AsJson = Annotated[bool, typer.Option("--json", help="Print one JSON document.")]


def register(app: typer.Typer) -> None:
    """Add the command to `sovctl`."""
    group = typer.Typer(no_args_is_help=True, help="Signed bundles of files, carried on media into a closed site.")
    app.add_typer(group, name="bundle")
    group.command(epilog="Example: sovctl bundle keys holders anna ben carol builder")(keys)
    bundle_root.register(group)
    group.command(
        epilog="Example: sovctl bundle build --files mirror --lock locks --trust trust --site bank "
        "--key holders/anna.key --key holders/ben.key --key holders/builder.key -o store"
    )(build)
    group.command(epilog="Example: sovctl bundle sign store --key holders/ben.key")(sign)
    bundle_media.register(group)
    group.command(epilog="Example: sovctl bundle verify stick1 stick2 --root trust")(verify)


def keys(
    folder: Annotated[Path, typer.Argument(metavar="FOLDER", help="Folder of the key files; created if absent.")],
    names: Annotated[list[str], typer.Argument(metavar="NAME...", help="Name of each holder.")],
) -> None:
    """Create NAME.key (mode 0600) and NAME.vkey for each holder. Existing keys are kept.

    For a key in a PKCS#11 token, write its URI to NAME.key (docs/bundle.md).
    """
    from sovctl.engine.bundle.keys import create

    for path in create(folder, names):
        output.line(f"{path}: give {path.with_suffix('.vkey').name} to the ceremony, and keep the private key")


def build(
    files: Annotated[Path, typer.Option(help="Folder with the files of the lock.")],
    lock: Annotated[Path, typer.Option(help="Folder of a lock, or a JSON list of files (docs/bundle.md).")],
    trust: Annotated[Path, typer.Option(help="Folder with the versions of the root.")],
    site: Annotated[str, typer.Option(help="Name of the site (site.name); other sites refuse the bundle.")],
    to: Annotated[Path, typer.Option("-o", "--output", help="Folder of the bundle.")],
    key: Keys = None,
    have: Annotated[
        Path | None, typer.Option(help="List of published contents of the site, signed; omitted from the bundle.")
    ] = None,
    have_key: Annotated[Path | None, typer.Option(help="Public key (.vkey) of the site, for --have.")] = None,
    sequence: Annotated[
        int | None, typer.Option(min=1, help="Number of the bundle; default: the one after the newest of the folder.")
    ] = None,
    chunk_size: Annotated[str, typer.Option(help="Maximum size of a chunk: 64KiB to 1GiB.")] = "64MiB",
    expires_days: Annotated[int, typer.Option(min=1, max=3650, help="Days until the signatures expire.")] = 180,
    as_json: AsJson = False,
) -> None:
    """Write files of a lock as chunks with signed metadata. A file that differs from the lock is an error."""
    from datetime import UTC, datetime

    from sovctl.compliance.signing import load
    from sovctl.engine.bundle import signing
    from sovctl.engine.bundle.build import Request
    from sovctl.engine.bundle.build import build as build_store
    from sovctl.engine.bundle.keys import read_vkey
    from sovctl.engine.bundle.lock_file import read_lock
    from sovctl.engine.bundle.published import read
    from sovctl.engine.bundle.sizes import parse_size
    from sovctl.engine.bundle.store import Store
    from sovctl.support.errors import InputError

    if (have is None) != (have_key is None):
        raise InputError("expected --have and --have-key together", hint="the site gives both files")
    at_site = read(have, read_vkey(have_key)[1], site=site).contents if have and have_key else frozenset()
    signers = [load(path) for path in key or ()]
    locked, lock_sha256 = read_lock(lock)
    request = Request(
        files=files,
        locked=locked,
        lock_sha256=lock_sha256,
        trust=trust,
        site=site,
        at_site=at_site,
        sequence=sequence,
        chunk_bytes=parse_size(chunk_size, where="--chunk-size"),
        expires_days=expires_days,
    )
    store = Store(to)
    manifest = build_store(store, request, now=datetime.now(UTC))
    state = signing.sign(store, signers)
    if as_json:
        output.document(
            {
                "sequence": manifest.sequence,
                "files": len(manifest.files),
                "chunks": len(manifest.chunks),
                "bytes": sum(each.size for each in manifest.chunks),
                "signatures_missing": state.targets_missing,
                "complete": state.is_complete,
            }
        )
        return
    size = sum(each.size for each in manifest.chunks)
    output.line(
        f"bundle {manifest.sequence} for {manifest.site}: {len(manifest.files)} files, "
        f"{len(manifest.chunks)} chunks, {size / 1e6:.1f} MB"
    )
    _show_signatures(state)


def sign(store: StoreFolder, key: Keys = None) -> None:
    """Add signatures to a bundle. Two holders of targets and the builder complete it."""
    from sovctl.compliance.signing import load
    from sovctl.engine.bundle import signing
    from sovctl.engine.bundle.store import Store

    _show_signatures(signing.sign(Store(store), [load(path) for path in key or ()]))


def verify(
    media: Annotated[list[Path], typer.Argument(metavar="MEDIA...", help="Folders of media of one bundle.")],
    root: Annotated[str, typer.Option(help="Trusted root: its folder, its 16 words, or its SHA-256.")],
    to: Annotated[
        Path, typer.Option("-o", "--output", help="List of missing chunks; written if chunks are missing.")
    ] = Path("missing.txt"),
    as_json: AsJson = False,
) -> None:
    """Verify signatures and every chunk of media. Exit code 1 if a chunk is missing or damaged."""
    from sovctl.engine.bundle import verification
    from sovctl.engine.bundle.medium import Medium
    from sovctl.engine.bundle.root import trusted_digest
    from sovctl.support.atomic_files import write_atomic

    digest = trusted_digest(root, where="--root")
    try:
        found = verification.verify([Medium(each) for each in media], root_sha256=digest, report=output.progress)
    finally:
        output.progress_done()
    manifest = found.bundle.manifest
    if found.missing:
        write_atomic(to, verification.missing_text(found.missing))
    if as_json:
        output.document(
            {
                "bundle": found.bundle.id,
                "site": manifest.site,
                "sequence": manifest.sequence,
                "signers": list(found.bundle.signers),
                "missing": list(found.missing),
                "damaged": [{"medium": str(path), "sha256": sha256} for path, sha256 in found.damaged],
            }
        )
    else:
        output.line(
            f"bundle {manifest.sequence} for {manifest.site}, created {manifest.created}, "
            f"signed by {', '.join(found.bundle.signers)}"
        )
        for path, sha256 in found.damaged:
            output.line(f"damaged on {path}: {sha256}")
        output.line(
            f"{len(manifest.chunks) - len(found.missing)} of {len(manifest.chunks)} chunks are intact"
            + (f"; missing chunks: {to}" if found.missing else "")
        )
    if found.missing or found.damaged:
        raise typer.Exit(1)


def _show_signatures(state: SignatureState) -> None:
    if state.targets_missing:
        output.line(f"missing signatures of targets: {state.targets_missing}; sovctl bundle sign STORE --key FILE")
    elif state.online_missing:
        output.line("missing signature of the builder: sovctl bundle sign STORE --key FILE")
    else:
        output.line("all signatures are complete")
