"""Management controllers (BMC) of nodes: a YAML file, because site.yaml has no addresses of them.

    version: 1
    nodes:
      dgx-1: {address: 10.20.9.11, certificate_sha256: 5f0c..., username: sovctl, password_file: secrets/dgx-1.bmc}

`certificate_sha256` is the SHA-256 of the controller's TLS certificate in DER, read at its console. Unknown keys are
errors. No option disables the comparison.
"""

from __future__ import annotations

from ipaddress import IPv4Address
from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field, StringConstraints, ValidationError

from sovctl.support.errors import InputError, SpecError
from sovctl.support.strict_yaml import read_file

from ..spec.types import FilePath, Name, Port, SpecModel
from .seed_settings import problem_of

WHAT = "the management controllers"


class Bmc(SpecModel):
    """Management controller of one node."""

    address: IPv4Address
    """Address on the management network."""
    port: Port = 443
    """TCP port of Redfish over https (DMTF DSP0266)."""
    certificate_sha256: Annotated[str, StringConstraints(pattern=r"^[0-9a-f]{64}$")]
    """SHA-256 of its TLS certificate in DER, 64 lower-case hex digits."""
    username: Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9._-]{1,64}$")]
    """Account on the controller."""
    password_file: FilePath
    """File with the password, mode 600, relative to this file."""
    system: Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9._-]{1,128}$")] | None = None
    """Id of the computer system. Default: the only one of the controller."""


class BmcFile(SpecModel):
    """Content of the file."""

    version: Literal[1]
    """Version of the format."""
    nodes: Annotated[dict[Name, Bmc], Field(min_length=1)]
    """Controllers by name of the node."""


def load(path: Path, node: str) -> Bmc:
    """Return the management controller of a node.

    Raises:
        InputError: the file is unreadable, or lacks the node.
        SpecError: invalid content; contains all problems.
    """
    text = read_file(path, what=WHAT)
    try:
        found = BmcFile.model_validate(text.value)
    except ValidationError as error:
        raise SpecError([problem_of(path, each) for each in error.errors()], what=WHAT) from None
    if node not in found.nodes:
        raise InputError(f"no management controller of {node!r}", where=f"{path}: nodes")
    return found.nodes[node]
