"""Witness policies of C2SP tlog-policy: k of n, groups of groups, and all invalid lines at once."""

from __future__ import annotations

import pytest

from sovctl.compliance.signing import SigningKey
from sovctl.compliance.tlog.policy import parse_policy
from sovctl.compliance.verify_key import COSIGNATURE
from sovctl.support.errors import InputError

KEYS = {name: SigningKey.generate().public for name in ("X1", "X2", "X3", "Y1", "Y2", "log")}
LOG = f"log {KEYS['log'].vkey('sovctl.site/test')}\n"


def witness(name: str) -> str:
    return f"witness {name} {KEYS[name].vkey(name + '.example', kind=COSIGNATURE)}\n"


# The shape of the example of the standard.
TWO_LEVELS = (
    LOG
    + "".join(map(witness, ("X1", "X2", "X3")))
    + "group X 2 X1 X2 X3\n\n# the other organization\n"
    + "".join(map(witness, ("Y1", "Y2")))
    + "group Y any Y1 Y2\n\tgroup both all X Y\nquorum both\n"
)


@pytest.mark.parametrize(
    ("cosigned", "is_met"),
    [
        ("X1 X2 Y1", True),
        ("X1 X3 Y2", True),
        ("X1 X2 X3 Y1 Y2", True),
        ("X1 Y1 Y2", False),
        ("X1 X2 X3", False),
        ("", False),
    ],
)
def test_a_quorum_of_two_organizations(cosigned: str, is_met: bool) -> None:
    policy = parse_policy(TWO_LEVELS)
    assert policy.is_met({KEYS[name] for name in cosigned.split()}) is is_met
    assert policy.logs == (("sovctl.site/test", KEYS["log"]),)


def test_quorums_of_one_witness_and_of_none() -> None:
    assert not parse_policy(witness("X1") + "quorum X1\n").is_met(set())
    assert parse_policy(witness("X1") + "quorum X1\n").is_met({KEYS["X1"]})
    assert parse_policy("quorum none\n").is_met(set())


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "expected a line `quorum`"),
        ("quorum none\nquorum none\n", "a second one"),
        ("quorum X1\n" + witness("X1"), "defined above"),
        (witness("X1") + witness("X1") + "quorum X1\n", "expected a new name"),
        (witness("X1") + witness("X1").replace(" X1 ", " Z ", 1) + "quorum X1\n", "witness key is given twice"),
        (LOG + LOG + "quorum none\n", "log key is given twice"),
        (witness("X1") + "group G 2 X1\nquorum G\n", "a number from 1 to 1"),
        (witness("X1") + "group G 01 X1\nquorum G\n", "a number from 1 to 1"),
        (witness("X1") + "group G 1 X1 X1\nquorum G\n", "twice"),
        (witness("X1") + "group G all X1\ngroup H all X1 G\nquorum H\n", "twice"),
        ("group none all none\nquorum none\n", "expected a new name"),
        ("witness X1 x+00+AA==\nquorum none\n", "line 1: expected a verifier key"),
        ("quorum none\r\n", "control characters"),
        ("mirror x\nnext y\nquorum none\n", "line 1: .*; line 2: "),
    ],
    ids=range(14),  # the texts have keys of this process
)
def test_invalid_policies_are_refused(text: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        parse_policy(text)


def test_a_log_key_is_no_witness_key() -> None:
    with pytest.raises(InputError, match="expected a verifier key"):
        parse_policy(f"witness X1 {KEYS['X1'].vkey('X1.example')}\nquorum X1\n")
