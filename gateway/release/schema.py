"""Checks an answer against the JSON schema of its request. No network access; patterns take linear time.

The verdict is UNKNOWN for a schema that

- is invalid, or has a `$ref` to another document;
- has a `pattern` that Hyperscan rejects (back references, look-around), because Hyperscan does not backtrack;
- has `patternProperties` with a repetition, because Python's engine matches those;
- takes too much work: followed `$ref`s are counted, so nested references cannot stall the gateway.

    check = SchemaCheck(most_schemas=128)
    check.judge({"type": "object"}, '{"a": 1}')      # Outcome("json_schema", Verdict.PASS)
"""

from __future__ import annotations

import re
import threading
from collections import OrderedDict
from collections.abc import Callable, Iterator, Mapping
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any

import hyperscan
import orjson
from jsonschema import Draft202012Validator
from jsonschema.exceptions import SchemaError, ValidationError
from jsonschema.validators import extend
from referencing import Registry
from referencing.exceptions import Unresolvable

from .verdict import Outcome, Verdict

CHECK = "json_schema"
MOST_SCHEMA_BYTES = 256 << 10
MOST_REFERENCES = 5000
"""`$ref`s followed for one answer: enough for a tree of 5,000 nodes; 0.1 s of work (measured 2026-11)."""

_followed: ContextVar[list[int]] = ContextVar("followed")
_patterns: ContextVar[Mapping[str, hyperscan.Database]] = ContextVar("patterns")
_NO_REPETITION = re.compile(r"[^*+{?()\\|]*")
_SCANNING = threading.Lock()  # a Hyperscan database has one scratch space, and large answers are judged in threads
_NOT_A_SCHEMA = "schema-refused"


class _Endless(Exception):
    """The schema takes too much work."""


def _ref(original: Callable[..., Any]) -> Callable[..., Iterator[ValidationError]]:
    def follow(validator: Any, reference: Any, instance: Any, schema: Any) -> Iterator[ValidationError]:
        count = _followed.get()
        count[0] += 1
        if count[0] > MOST_REFERENCES:
            raise _Endless
        yield from original(validator, reference, instance, schema) or ()

    return follow


def _pattern(validator: Any, pattern: str, instance: Any, _schema: Any) -> Iterator[ValidationError]:
    if validator.is_type(instance, "string") and not _matches(_patterns.get()[pattern], instance):
        yield ValidationError("expected a string of the pattern")


def _unique(_validator: Any, is_wanted: bool, instance: Any, _schema: Any) -> Iterator[ValidationError]:
    # jsonschema compares every pair of items if they cannot be sorted.
    if is_wanted and isinstance(instance, list):
        plain = [int(item) if isinstance(item, float) and item.is_integer() else item for item in instance]
        if len({orjson.dumps(item, option=orjson.OPT_SORT_KEYS) for item in plain}) < len(instance):
            yield ValidationError("expected every item once")


_Validator = extend(
    Draft202012Validator,
    {
        "pattern": _pattern,
        "uniqueItems": _unique,
        "$ref": _ref(Draft202012Validator.VALIDATORS["$ref"]),
        "$dynamicRef": _ref(Draft202012Validator.VALIDATORS["$dynamicRef"]),
    },
)


@dataclass(frozen=True)
class _Schema:
    """A compiled schema; `validator` is None if it was rejected."""

    validator: Any
    patterns: Mapping[str, hyperscan.Database]


class SchemaCheck:
    """Judges answers; caches the schemas that were used last."""

    def __init__(self, *, most_schemas: int = 128) -> None:
        self._most = most_schemas
        self._compiled: OrderedDict[bytes, _Schema] = OrderedDict()

    def judge(self, schema: Any, text: str) -> Outcome:
        """Return the verdict on the complete text of an answer."""
        compiled = self._schema(schema)
        if compiled.validator is None:
            return Outcome(CHECK, Verdict.UNKNOWN, _NOT_A_SCHEMA)
        try:
            answer = orjson.loads(text)
        except orjson.JSONDecodeError:
            return Outcome(CHECK, Verdict.FAIL, "no-json")
        counted, known = _followed.set([0]), _patterns.set(compiled.patterns)
        try:
            error = next(compiled.validator.iter_errors(answer), None)
        except (_Endless, RecursionError):
            return Outcome(CHECK, Verdict.UNKNOWN, "schema-endless")
        except Unresolvable:
            return Outcome(CHECK, Verdict.UNKNOWN, "schema-reference")
        finally:
            _followed.reset(counted)
            _patterns.reset(known)
        return Outcome(CHECK, Verdict.PASS) if error is None else Outcome(CHECK, Verdict.FAIL, "invalid")

    def _schema(self, schema: Any) -> _Schema:
        try:
            key = orjson.dumps(schema, option=orjson.OPT_SORT_KEYS)
        except orjson.JSONEncodeError:
            return _Schema(None, {})
        compiled = self._compiled.pop(key, None)  # moves it to the end; another thread may compile it, too
        if compiled is None:
            compiled = _compile(schema, len(key))
        self._compiled[key] = compiled
        if len(self._compiled) > self._most:
            self._compiled.popitem(last=False)
        return compiled


def _compile(schema: Any, size: int) -> _Schema:
    if size > MOST_SCHEMA_BYTES or not isinstance(schema, dict):
        return _Schema(None, {})
    try:
        Draft202012Validator.check_schema(schema)
        patterns = {pattern: _database(pattern) for pattern in _patterns_of(schema)}
    except (SchemaError, RecursionError, hyperscan.error, UnicodeEncodeError, _Endless):
        return _Schema(None, {})
    return _Schema(_Validator(schema, registry=Registry()), patterns)


def _patterns_of(value: Any) -> Iterator[str]:
    """Yield every `pattern` in a schema.

    Raises:
        _Endless: Python's engine would match a pattern that may take more than linear time.
    """
    if isinstance(value, dict):
        for key, item in value.items():
            if key == "pattern" and isinstance(item, str):
                yield item
            elif key == "patternProperties" and not all(map(_NO_REPETITION.fullmatch, item)):
                raise _Endless
            yield from _patterns_of(item)
    elif isinstance(value, list):
        for item in value:
            yield from _patterns_of(item)


def _database(pattern: str) -> hyperscan.Database:
    database = hyperscan.Database(mode=hyperscan.HS_MODE_BLOCK)
    flags = hyperscan.HS_FLAG_UTF8 | hyperscan.HS_FLAG_SINGLEMATCH | hyperscan.HS_FLAG_ALLOWEMPTY
    database.compile(expressions=[pattern.encode()], ids=[0], elements=1, flags=[flags])
    return database


def _matches(database: hyperscan.Database, text: str) -> bool:
    hits: list[int] = []
    with _SCANNING:
        database.scan(text.encode(), match_event_handler=lambda *_: hits.append(1))
    return bool(hits)
