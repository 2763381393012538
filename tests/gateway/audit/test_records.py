"""Audit records: their bytes are the ledger's canonical ones."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sovctl.compliance.ledger.format import MAX_RECORD_BYTES
from sovctl.compliance.ledger.record import encode_record
from sovctl.gateway.audit.records import encode
from sovctl.support.errors import InputError

_VALUES = st.recursive(
    st.one_of(st.text(), st.integers(-(2**53) + 1, 2**53 - 1), st.booleans(), st.none()),
    lambda inner: st.one_of(st.lists(inner), st.dictionaries(st.text(st.characters(codec="ascii")), inner)),
)


@given(st.dictionaries(st.text(st.characters(codec="ascii")), _VALUES))
def test_records_are_encoded_as_the_ledger_does(record: dict[str, Any]) -> None:
    assert encode(record) == encode_record(record)


def test_a_record_that_the_ledger_would_not_take_is_refused() -> None:
    assert len(encode({"a": "x" * (MAX_RECORD_BYTES - 8)})) == MAX_RECORD_BYTES
    with pytest.raises(InputError):
        encode({"a": "x" * (MAX_RECORD_BYTES - 7)})
