"""`sovctl bootstrap ca`: ceremony of the site's root certificate, on an offline machine."""

from __future__ import annotations

from ipaddress import IPv4Network
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ... import output
from ...observing import DEFAULT, SiteFile, State

if TYPE_CHECKING:
    from cryptography import x509

Folder = Annotated[Path, typer.Argument(metavar="FOLDER", help="Folder of the root, on an offline medium.")]
Out = Annotated[Path, typer.Option("-o", "--output", help="File to write; must not exist.")]
PassphraseFile = Annotated[
    Path | None, typer.Option(help="File with the passphrase of the root key: mode 0600, at least 20 characters.")
]


def register(bootstrap: typer.Typer) -> None:
    """Add the commands to `sovctl bootstrap`."""
    group = typer.Typer(no_args_is_help=True, help="Ceremony of an offline root certificate.")
    bootstrap.add_typer(group, name="ca")
    group.command(epilog="Example: sovctl bootstrap ca script example-bank -o ceremony.txt")(script)
    group.command(epilog="Example: sovctl bootstrap ca root offline --name example-bank --passphrase-file passphrase")(
        root
    )
    group.command(epilog="Example: sovctl bootstrap ca request -o site.csr")(request)
    group.command(
        epilog="Example: sovctl bootstrap ca sign offline --request site.csr --network 10.20.1.0/24 "
        "--dns-name dgx-1 --passphrase-file passphrase -o site.pem"
    )(sign)
    group.command(
        epilog="Example: sovctl bootstrap ca install --certificate site.pem --root root.pem --expect-root WORDS "
        "--transcript ceremony.txt"
    )(install)


def script(name: Annotated[str, typer.Argument(help="Name of the site.")], out: Out) -> None:
    """Write the script of the ceremony, with a box for each step."""
    from sovctl.engine.bootstrap import ceremony

    _write_new(out, ceremony.script(name))


def root(
    folder: Folder,
    name: Annotated[str, typer.Option(help="Name of the site, for the subject.")],
    passphrase_file: PassphraseFile = None,
    token_file: Annotated[
        Path | None, typer.Option(help="File with the RFC 7512 URI of a P-256 key in a PKCS#11 token, mode 0600.")
    ] = None,
) -> None:
    """Create the root key, certificate and revocation list, and print the words of the certificate.

    An existing root is never replaced.
    """
    from datetime import UTC, datetime

    from sovctl.engine.bootstrap.root_authority import RootAuthority

    authority = RootAuthority(folder)
    now = datetime.now(UTC).replace(microsecond=0)
    authority.create(name, passphrase_file=passphrase_file, token_file=token_file, now=now)
    _show("root", authority.certificate())


def request(out: Out, site: SiteFile = DEFAULT, state: State = None) -> None:
    """Create the key of the site's issuing authority, and write its request for the root."""
    from sovctl.engine.bootstrap import ceremony
    from sovctl.engine.site.site import Site
    from sovctl.support.canonical_json import sha256_hex

    opened = Site.open(site, state=state, touches_nodes=False)
    _check_new(out)
    with opened.state.exclusive("bootstrap ca request"):
        made = ceremony.request(opened)
    _write_new(out, made.decode())
    output.line(f"sha256 {sha256_hex(made)}")


def sign(
    folder: Folder,
    request: Annotated[Path, typer.Option(help="Request of the site.")],
    network: Annotated[list[str], typer.Option(help="Permitted network of nodes; repeatable.")],
    dns_name: Annotated[list[str], typer.Option(help="Permitted name of a node; repeatable.")],
    out: Out,
    days: Annotated[int, typer.Option(min=90, max=3650, help="Validity in days.")] = 1095,
    passphrase_file: PassphraseFile = None,
) -> None:
    """Sign the request of a site with the offline root, limited to these networks and names."""
    from datetime import UTC, datetime

    from cryptography.hazmat.primitives.serialization import Encoding

    from sovctl.engine.bootstrap.root_authority import RootAuthority, read_request

    _check_new(out)
    networks = [_network(text) for text in network]
    signed = RootAuthority(folder).sign(
        read_request(request), networks=networks, names=dns_name, days=days, passphrase_file=passphrase_file,
        now=datetime.now(UTC).replace(microsecond=0),
    )  # fmt: skip
    _write_new(out, signed.public_bytes(Encoding.PEM).decode())
    _show("issuing authority", signed)
    output.line(f"permitted {', '.join([*map(str, networks), *dns_name])}")


def install(
    certificate: Annotated[Path, typer.Option(help="Signed certificate of the site's issuing authority.")],
    root: Annotated[Path, typer.Option(help="Root certificate, root.pem of the ceremony.")],
    expect_root: Annotated[str, typer.Option(help="Words or SHA-256 of the root, from a second channel.")],
    transcript: Annotated[Path, typer.Option(help="Script of the ceremony with all boxes checked.")],
    site: SiteFile = DEFAULT,
    state: State = None,
) -> None:
    """Install root and issuing authority at the site, and record the digest of the transcript in the ledger.

    Afterwards `sovctl apply` issues certificates of 90 days from it.
    """
    from sovctl.engine.bootstrap import ceremony
    from sovctl.engine.bootstrap.root_authority import read_certificate
    from sovctl.engine.bundle.root_words import parse_digest
    from sovctl.engine.site.site import Site

    opened = Site.open(site, state=state, touches_nodes=False)
    expected = parse_digest(expect_root, where="--expect-root")
    issuer = read_certificate(certificate)
    with opened.state.exclusive("bootstrap ca install"):
        ceremony.install(opened, issuer, read_certificate(root), expected=expected, transcript=transcript)
    _show("installed issuing authority", issuer)


def _network(text: str) -> IPv4Network:
    from sovctl.support.errors import InputError

    try:
        return IPv4Network(text)
    except ValueError:
        raise InputError("expected an IPv4 network such as 10.20.1.0/24", where="--network") from None


def _show(what: str, certificate: x509.Certificate) -> None:
    from sovctl.engine.bootstrap.ceremony import fingerprint
    from sovctl.engine.bundle.root_words import to_words

    digest = fingerprint(certificate)
    output.line(f"{what}, valid until {certificate.not_valid_after_utc:%Y-%m-%d}")
    output.line(f"sha256 {digest}")
    output.line(f"words  {to_words(digest)}")


def _check_new(path: Path) -> None:
    from sovctl.support.errors import InputError

    if path.exists():
        raise InputError("the file exists; it is not replaced", where=str(path))


def _write_new(path: Path, text: str) -> None:
    from sovctl.support.atomic_files import write_atomic

    _check_new(path)
    write_atomic(path, text)
    output.info(f"wrote {path}")
