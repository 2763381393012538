"""Import policy of a site: a YAML file with persons and scanner.

persons:                       # public keys (.vkey) of importers and approvers
- anna+1a2b3c4d+AT...
- ben+5e6f7a8b+AX...
scanner:
  max_age_days: 7              # of virus definitions
accept_without_scanner:        # only where ClamAV is not installed; recorded in the ledger
  by: security office
  reason: media are scanned at the gate, protocol 4711
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field, StringConstraints, ValidationError

from sovctl.compliance.signing import parse_vkey
from sovctl.compliance.verify_key import VerifyKey
from sovctl.support.canonical_json import digest
from sovctl.support.errors import InputError, Problem, SpecError
from sovctl.support.strict_yaml import read_file

FILE = "import-policy.yaml"
_WHAT = "the import policy"
_Text = Annotated[str, StringConstraints(min_length=3, max_length=300)]


class _Model(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class Scanner(_Model):
    """ClamAV."""

    database: Path | None = None
    """Folder of virus definitions; None for ClamAV's default."""
    max_age_days: Annotated[int, Field(ge=1, le=365)] = 7
    """Maximum age of virus definitions."""


class WithoutScanner(_Model):
    """Acceptance of bundles that no virus scanner read."""

    by: _Text
    reason: _Text


class _PolicyText(_Model):
    persons: Annotated[tuple[str, ...], Field(min_length=2)]
    scanner: Scanner = Scanner()
    accept_without_scanner: WithoutScanner | None = None


@dataclass(frozen=True)
class Policy:
    """A policy and the digest of its values.

    Args:
        persons: name by id of the key.
    """

    persons: dict[str, str]
    scanner: Scanner
    accept_without_scanner: WithoutScanner | None
    sha256: str

    def person(self, key: VerifyKey) -> str:
        """Return the name of a person.

        Raises:
            InputError: the key is not in the policy.
        """
        if key.keyid not in self.persons:
            raise InputError(f"key {key.keyid[:16]} is not in `persons` of {_WHAT}", where="--key")
        return self.persons[key.keyid]


def load(path: Path) -> Policy:
    """Read a policy.

    Raises:
        InputError: unreadable.
        SpecError: all problems of the file.
    """
    text = read_file(path, what=_WHAT, hint="docs/bundle.md shows one")
    try:
        found = _PolicyText.model_validate(text.value)
        persons = [parse_vkey(each) for each in found.persons]
    except ValidationError as error:
        raise SpecError(
            [
                Problem(each["msg"].lower(), where=f"{path}: {'.'.join(map(str, each['loc']))}")
                for each in error.errors(include_url=False, include_input=False)
            ],
            what=_WHAT,
        ) from None
    except InputError as error:
        raise InputError(error.message, where=f"{path}: persons", hint=error.hint) from None
    if len({name for name, _ in persons}) != len(persons) or len({key.keyid for _, key in persons}) != len(persons):
        raise InputError("a name or key is repeated", where=f"{path}: persons", hint="each person has one key")
    return Policy(
        {key.keyid: name for name, key in persons},
        found.scanner,
        found.accept_without_scanner,
        digest(found.model_dump(mode="json")),
    )
