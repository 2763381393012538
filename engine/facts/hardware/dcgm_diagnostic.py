"""Parser of `dcgmi diag -j` of DCGM 3.x and 4.x: every result of every GPU, with all its errors.

Source: NVIDIA/DCGM v3.3.9 and v4.6.0, dcgmi/Diag.cpp (`HelperJsonBuildOutput`) and nvvs/include/NvvsJsonStrings.h.

- 4.x: key `DCGM Diagnostic`; a result names its entity; `test_summary` has the result of the test as a whole.
- 3.x: key `DCGM GPU Diagnostic`; the GPU is a text; an absent GPU is `null`; a deployment test has one result without
  GPU, and the text of its error has the key `warnings`.
- An absent result is absent here too: the caller compares the GPUs of each test with those of the platform.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import IntEnum, StrEnum
from typing import Any

from ..numbers import integer
from ..unreadable import MALFORMED, Unreadable

WHERE = "dcgmi diag"
_KEYS = {"DCGM Diagnostic": 4, "DCGM GPU Diagnostic": 3}
_GPU_GROUP = "GPU"


class Status(StrEnum):
    """Result of one test on one entity."""

    PASS = "Pass"
    WARN = "Warn"
    FAIL = "Fail"
    SKIP = "Skip"


class ErrorSeverity(IntEnum):
    """DCGM's next step after an error (dcgmlib/dcgm_errors.h, `dcgmErrorSeverity_t`)."""

    NONE = 0
    MONITOR = 1
    ISOLATE = 2
    UNKNOWN = 3
    TRIAGE = 4
    CONFIG = 5
    RESET = 6


@dataclass(frozen=True, slots=True)
class DiagnosticError:
    """An error of a result; `severity` is `UNKNOWN` if DCGM printed none."""

    message: str
    severity: ErrorSeverity


@dataclass(frozen=True, slots=True)
class DiagnosticResult:
    """Result of a test on one entity.

    Args:
        gpu: DCGM's id of the GPU; None for a result of the node or of another entity.
        entity: such as `GPU 0`, or `node`.
    """

    gpu: int | None
    entity: str
    status: Status
    errors: tuple[DiagnosticError, ...]
    info: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class DiagnosticTest:
    """A test. `name` is that of DCGM 4.x, such as `memory`; deployment tests of 3.x keep their own names.

    Args:
        summary: result of the test as a whole; None in 3.x.
    """

    name: str
    category: str
    results: tuple[DiagnosticResult, ...]
    summary: DiagnosticResult | None

    @property
    def gpus(self) -> tuple[int, ...]:
        """GPUs with a result, in the order printed."""
        return tuple(each.gpu for each in self.results if each.gpu is not None)

    @property
    def all_results(self) -> tuple[DiagnosticResult, ...]:
        """Results of the entities, and of the test as a whole."""
        return self.results if self.summary is None else (*self.results, self.summary)


@dataclass(frozen=True, slots=True)
class Diagnostic:
    """A run of the diagnostic.

    Args:
        major: 3 or 4, by the form of the output.
        version: of DCGM; None if it is not printed.
        gpus: ids of the GPUs that DCGM found; None if they are not printed.
    """

    major: int
    version: str | None
    gpus: tuple[int, ...] | None
    tests: tuple[DiagnosticTest, ...]


_STATUSES = {each.value: each for each in Status}


def parse_diagnostic(text: str) -> Diagnostic:
    """Parse the output.

    Raises:
        Unreadable: the output is empty, incomplete or of an unknown form, the diagnostic did not run, a status is
            unknown, or a test has two results of one GPU.
    """
    try:
        document = json.loads(text)
    except MALFORMED:
        raise Unreadable("one JSON document", text, where=WHERE) from None
    root = _mapping(document, "a JSON object")
    found = [key for key in _KEYS if key in root]
    if len(found) != 1:
        raise Unreadable(f"one of the keys {', '.join(_KEYS)}", ", ".join(root), where=WHERE)
    body, major = _mapping(root[found[0]], found[0]), _KEYS[found[0]]
    if "runtime_error" in body:
        raise Unreadable("results", str(body["runtime_error"]), where=WHERE)
    tests = tuple(_tests(body))
    if not tests:
        raise Unreadable("at least one test", "none", where=WHERE, is_description=True)
    names = [(each.category, each.name) for each in tests]
    if len(names) != len(set(names)):
        raise Unreadable("each test once", ", ".join(name for _, name in names), where=WHERE)
    return Diagnostic(major, _version(root), _gpus(root), tests)


def _version(root: Mapping[str, Any]) -> str | None:
    metadata = root.get("metadata")
    version = metadata.get("version") if isinstance(metadata, dict) else root.get("version")
    return version if isinstance(version, str) and version else None


def _gpus(root: Mapping[str, Any]) -> tuple[int, ...] | None:
    """Return the GPUs of `entity_groups` (4.x), or as many as `GPU Device IDs` has (3.x)."""
    if isinstance(devices := root.get("GPU Device IDs"), list):
        return tuple(range(len(devices)))
    for group in _list(root.get("entity_groups", []), "entity_groups"):
        each = _mapping(group, "an entity group")
        if each.get("entity_group") == _GPU_GROUP:
            return tuple(_integer(_mapping(entity, "an entity").get("entity_id"))
                         for entity in _list(each.get("entities"), "entities"))  # fmt: skip
    return None


def _tests(body: Mapping[str, Any]) -> Iterator[DiagnosticTest]:
    for category in _list(body.get("test_categories"), "test_categories"):
        each = _mapping(category, "a category")
        name = _text(each.get("category"), "category")
        for test in _list(each.get("tests"), f"tests of {name}"):
            yield _test(_mapping(test, "a test"), name)


def _test(test: Mapping[str, Any], category: str) -> DiagnosticTest:
    name = _text(test.get("name"), "name of a test")
    results = tuple(
        _result(_mapping(each, f"a result of {name}"))
        for each in _list(test.get("results", []), f"results of {name}")
        if each is not None
    )
    summary = _result(_mapping(test["test_summary"], "test_summary")) if "test_summary" in test else None
    entities = [each.entity for each in results]
    if len(entities) != len(set(entities)):
        raise Unreadable(f"one result of {name} for each GPU", ", ".join(entities), where=WHERE)
    if not results and summary is None:
        raise Unreadable(f"a result of {name}", "none", where=WHERE, is_description=True)
    return DiagnosticTest(_current_name(name, category), category, results, summary)


def _current_name(name: str, category: str) -> str:
    """Return the name of DCGM 4.x: `Memory Bandwidth` is `memory_bandwidth`. Deployment tests keep their names."""
    return name if category == "Deployment" else name.strip().lower().replace(" ", "_")


def _result(result: Mapping[str, Any]) -> DiagnosticResult:
    word = result.get("status")
    if not isinstance(word, str) or word not in _STATUSES:
        raise Unreadable(f"a status of {', '.join(Status)}", str(word), where=WHERE)
    gpu, entity = _entity(result)
    info = result.get("info", [])
    return DiagnosticResult(
        gpu=gpu,
        entity=entity,
        status=_STATUSES[word],
        errors=tuple(_error(each) for each in _list(result.get("warnings", []), "warnings") if each is not None),
        info=tuple(str(each) for each in (info if isinstance(info, list) else [info])),
    )


def _entity(result: Mapping[str, Any]) -> tuple[int | None, str]:
    if "entity_id" in result:
        group, number = _text(result.get("entity_group"), "entity_group"), _integer(result["entity_id"])
        return (number if group == _GPU_GROUP else None), f"{group} {number}"
    if "gpu_id" in result:
        number = _integer(result["gpu_id"])
        return number, f"GPU {number}"
    return None, "node"


def _error(warning: object) -> DiagnosticError:
    if isinstance(warning, str):  # versions before 3.1
        return DiagnosticError(warning, ErrorSeverity.UNKNOWN)
    each = _mapping(warning, "a warning")
    message = _text(each.get("warning", each.get("warnings")), "text of a warning")
    return DiagnosticError(message.strip(), _severity(each.get("error_severity")))


def _severity(value: object) -> ErrorSeverity:
    try:
        return ErrorSeverity(integer(str(value)))
    except (ValueError, Unreadable):
        return ErrorSeverity.UNKNOWN


def _mapping(value: object, name: str) -> Mapping[str, Any]:
    if not isinstance(value, dict):
        raise Unreadable(name, str(value), where=WHERE)
    return value


def _list(value: object, name: str) -> list[Any]:
    if not isinstance(value, list):
        raise Unreadable(f"a list of {name}", str(value), where=WHERE)
    return value


def _text(value: object, name: str) -> str:
    if not isinstance(value, str) or not value:
        raise Unreadable(name, str(value), where=WHERE)
    return value


def _integer(value: object) -> int:
    """Return a whole number, which 3.x prints as text."""
    text = str(value)
    if isinstance(value, bool) or not text.isascii() or not text.isdigit():
        raise Unreadable("the number of a GPU", text, where=WHERE)
    return integer(text)
