"""Writes the sets to a folder; the same seed gives the same bytes."""

from __future__ import annotations

import csv
import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from bench.pii_sets import addresses, legal_forms, names, number_rows, rows_of_people, special_categories
from bench.pii_sets.documents import LANGUAGES, clean, disguised, structured
from bench.pii_sets.unseen import unseen, unseen_clean
from sovctl.support.atomic_files import write_atomic

CUSTOMERS = "customers.csv"
"""The list that the people of `names.jsonl` are on."""


def write_sets(folder: Path, *, seed: int, per_type: int) -> list[Path]:
    """Every set; the paths of the JSONL files."""
    folder.mkdir(parents=True, exist_ok=True)
    few = max(1, per_type // 10)
    sets: dict[str, list[dict[str, Any]]] = {
        "structured": [d for each in LANGUAGES for d in structured(each, per_type=per_type, seed=seed)],
        "disguised": [d for each in LANGUAGES for d in disguised(each, per_type=few, seed=seed)],
        "clean": [d for each in LANGUAGES for d in clean(each, documents=2 * per_type, seed=seed)],
    }
    sets["numbers"] = [
        d for each in number_rows.LANGUAGES for d in number_rows.number_rows(each, documents=2 * per_type, seed=seed)
    ]
    sets["unseen"] = [*unseen(per_type=few, seed=seed), *unseen_clean(documents=2 * few, seed=seed)]
    sets["names"] = [document for each in names.LANGUAGES for document in names.named(each, seed=seed)]
    sets["rows"] = [
        document for each in rows_of_people.LANGUAGES for document in rows_of_people.rows_of_people(each, seed=seed)
    ]
    sets["addresses"] = [
        document
        for each in addresses.languages()
        for make in (addresses.addresses, addresses.streets)
        for document in make(each, documents=per_type, seed=seed)
    ]
    sets["special"] = [
        document
        for each in special_categories.languages()
        for make in (special_categories.mentions, special_categories.others, special_categories.nameless)
        for document in make(each, documents=2 * per_type, seed=seed)
    ]
    for make, name in ((legal_forms.legal_forms, "legal-forms"), (legal_forms.counters, "counters")):
        sets[name] = [d for each in legal_forms.languages() for d in make(each, documents=per_type, seed=seed)]
    with (folder / CUSTOMERS).open("w", encoding="utf-8", newline="") as file:
        rows = csv.DictWriter(file, names.COLUMNS)
        rows.writeheader()
        rows.writerows(names.customers(seed=seed))
    return [
        _write(folder / f"{name}.jsonl", ({**each, "set": name} for each in documents))
        for name, documents in sets.items()
    ]


def _write(path: Path, documents: Iterable[dict[str, Any]]) -> Path:
    write_atomic(path, "".join(json.dumps(each, ensure_ascii=False) + "\n" for each in documents))
    return path
