"""`sovctl waiver sign`: the signature of a person under a waiver, and the inputs that all waiver commands share."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from .. import output

if TYPE_CHECKING:
    from sovctl.compliance.controls.exceptions import Exceptions, WaiverText
    from sovctl.engine.checks.runner.compliance_inputs import ComplianceInputs

SiteFile = Annotated[Path, typer.Argument(metavar="[SITE]", help="site.yaml, or its folder.")]
WaiverFile = Annotated[Path | None, typer.Option("--waivers", help="Further YAML file of waivers and attestations.")]
DEFAULT = Path("site.yaml")
_ROLES = ("request", "approval")


def register(group: typer.Typer) -> None:
    """Add the command to `sovctl waiver`."""
    example = "sovctl waiver sign W-1 site.yaml --role approval --key ~/officer.key --name officer.example"
    group.command(epilog=f"Example: {example}")(sign)


def sign(
    name: Annotated[str, typer.Argument(metavar="ID", help="Id of the waiver.")],
    role: Annotated[str, typer.Option(help="Signed act: request or approval.", autocompletion=lambda: list(_ROLES))],
    key: Annotated[Path, typer.Option(help="Private key of the person, mode 0600; created if absent.")],
    key_name: Annotated[
        str, typer.Option("--name", help="Name of the person in the public key, such as officer.example.")
    ],
    site: SiteFile = DEFAULT,
    waivers: WaiverFile = None,
) -> None:
    """Print the signature of a person under a waiver, for its `signatures` in site.yaml.

    Writes the public key next to a new private key. Any change of the waiver, except of its signatures, voids it.
    """
    from sovctl.compliance.signing import load_or_create
    from sovctl.compliance.verify_key import checked_key_name
    from sovctl.compliance.waiver_signatures import sign_waiver
    from sovctl.support.atomic_files import write_atomic
    from sovctl.support.errors import InputError

    if role not in _ROLES:
        raise InputError(f"expected request or approval, got {role}", where="--role")
    checked_key_name(key_name)
    inputs = read_inputs(site, waivers)
    waiver = named_waiver(inputs.exceptions, name)
    assert inputs.subject is not None  # a site.yaml was read
    is_new = not key.exists()
    signer = load_or_create(key)
    vkey = key.with_suffix(".vkey")
    if is_new:
        write_atomic(vkey, signer.public.vkey(key_name) + "\n")
        output.info(f"created {key} and {vkey}; add the .vkey text of an approver to compliance.waiver_approvers")
    output.line(sign_waiver(waiver.signed_text(), site=inputs.subject.site, role=role, key=signer, name=key_name))
    output.info(f"add this line to `signatures` of {name}")


def read_inputs(site: Path, file: Path | None) -> ComplianceInputs:
    """Return frameworks, waivers and attestations of a site.yaml, and of a further file."""
    from sovctl.engine.checks.runner.compliance_inputs import load_inputs

    return load_inputs(site / "site.yaml" if site.is_dir() else site, waiver_file=file)


def named_waiver(exceptions: Exceptions, name: str) -> WaiverText:
    """Return the waiver with an id.

    Raises:
        InputError: unknown id.
    """
    from sovctl.support.errors import InputError
    from sovctl.support.suggestions import nearest

    found = {each.id: each for each in exceptions.texts}
    if name not in found:
        near = nearest(name, list(found))
        hint = f"did you mean {near}?" if near else "list them with `sovctl waiver list`"
        raise InputError(f"unknown waiver {name}", where="ID", hint=hint)
    return found[name]
