"""Measures leaks and false hits of the gateway's own detector on annotated texts.

    python -m bench.pii --data FILE.jsonl              any set: text, language, spans [{start, end, type}]
    python -m bench.pii --data FILE.jsonl --json       the same as one JSON document
    python -m bench.pii --data FILE.jsonl --listed people.csv      with an index of these people
    make bench-pii                                     sets of our own (bench.pii_sets), judged against the bars

The detector is built from the gateway's settings (`--config gateway.yaml`; else their defaults, with the phone formats
of the countries where a document's language is spoken), runs in this process, and every text is a request of its own.
`judging.leaks` defines a leak, `judging.scores` the totals.
Nothing of a text is printed, only types, languages and counts.
"""

from __future__ import annotations

import argparse
import json
import secrets
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from bench.judging.documents import Document, read_documents
from bench.judging.gateway import Masker
from bench.judging.leaks import Outcome, judge
from bench.judging.scores import summarise
from bench.pii_sets.unseen import CLASSES
from bench.pii_sets.write import CUSTOMERS, write_sets
from sovctl.gateway.detect import make_detector
from sovctl.gateway.detect.edm.index.build import build_index
from sovctl.gateway.settings import DetectSettings, load_settings
from sovctl.gateway.settings.detection.exact_data_match import ExactDataMatchSettings
from sovctl.support.atomic_files import write_atomic
from sovctl.support.errors import SovctlError, SpecError
from sovctl.support.secret_files import KEY_BYTES

# From issue 3, 2026-11: what must hold for each type and language, and in texts without identifiers.
MOST_LEAKED, MOST_LEAKED_NAMES = 0.01, 0.02
MOST_FALSE_PER_1000 = 3.0
# From issue 15, 2026-11: spellings and contexts of unseen data (`bench.pii_sets.unseen`).
MOST_LEAKED_UNSEEN = 0.02
# From issue 15, 2026-11: special categories of personal data next to a person (`bench.pii_sets.special_categories`).
LEAST_RECALL, LEAST_PRECISION = 0.9, 0.95
MOST_FALSE_CATEGORIES_PER_1000 = 2.0
MOST_FALSE_IN_SET, MOST_FALSE_LEGAL_FORMS = 2.0, 5.0  # per 1,000 words, in documents without identifiers
NAMES = frozenset({"PERSON", "PER", "NAME", "ORG", "ORGANIZATION", "COMPANY", "GIVENNAME", "SURNAME"})
"""Types that only a list of the institution's customers or a model can find; no bar without one of them."""


# Without settings of a site, texts of a language are those of a site where it is spoken.
REGIONS = {
    "ar": ("AE", "SA", "EG"),
    "cs": ("CZ",),
    "da": ("DK",),
    "de": ("DE", "AT", "CH"),
    "el": ("GR",),
    "en": ("US", "GB", "IN", "SG"),
    "es": ("ES", "MX", "AR"),
    "fi": ("FI",),
    "fr": ("FR", "BE", "CH"),
    "hi": ("IN",),
    "hu": ("HU",),
    "id": ("ID",),
    "it": ("IT", "CH"),
    "ja": ("JP",),
    "kk": ("KZ",),
    "ko": ("KR",),
    "nl": ("NL", "BE"),
    "no": ("NO",),
    "pl": ("PL",),
    "pt": ("PT", "BR"),
    "ro": ("RO",),
    "ru": ("RU", "KZ"),
    "sv": ("SE",),
    "tr": ("TR",),
    "uk": ("UA",),
    "zh": ("CN", "SG"),
}


def measure(
    documents: list[Document], settings: DetectSettings | None, *, listed: ExactDataMatchSettings | None = None
) -> dict[str, Any]:
    """Return all figures.

    Args:
        settings: of the site; None for a site of each document's language.
        listed: instead of the people that the site lists.
    """
    base = settings or DetectSettings()
    if listed is not None:
        base = base.model_copy(update={"exact_data_match": listed})
    maskers: dict[str, Masker] = {}
    judged: list[Document] = []
    outcomes: list[Outcome] = []
    for document in documents:
        language = document.language if settings is None and document.language in REGIONS else ""
        if language not in maskers:
            site = base.model_copy(update={"phone_regions": list(REGIONS[language])}) if language else base
            maskers[language] = Masker(make_detector(site))
        try:
            replacement = maskers[language].replace(document.text)
        except Exception:  # noqa: BLE001 - such a text stays on-prem, and is counted as not inspected
            continue
        judged.append(document)
        outcomes.append(judge(document, replacement))
    result = (
        summarise(judged, outcomes, [each for masker in maskers.values() for each in masker.inspect_s])
        if judged
        else {}
    )
    return {"not_inspected": len(documents) - len(judged), **result}


def index_of(people: Path, folder: Path) -> ExactDataMatchSettings:
    """Build an index of these people with its own key, in `folder`.

    Raises:
        SovctlError: not a valid list.
    """
    folder.mkdir(parents=True, exist_ok=True)
    key, made = (
        secrets.token_bytes(KEY_BYTES),
        ExactDataMatchSettings(index_file=folder / "edm", key_file=folder / "edm.key"),
    )
    write_atomic(made.key_file, key.hex(), mode=0o600)
    build_index(people, made.index_file, key, built_at="")
    return made


def misses(result: dict[str, Any], *, has_names: bool) -> list[str]:
    """Return the missed targets.

    Args:
        has_names: names are looked for in a list or by a model, so their bar counts.
    """
    found: list[str] = []
    if result["not_inspected"]:
        found.append(f"the detector raised on {result['not_inspected']} documents (at most 0)")
    for row in result.get("leaks", []):
        kind, _, form = row["type"].partition("~")
        is_name, is_unseen = kind.upper() in NAMES, form in CLASSES
        if row["type"] == "all" or (is_name and not has_names):
            continue
        most = MOST_LEAKED_NAMES if is_name else MOST_LEAKED_UNSEEN if is_unseen else MOST_LEAKED
        if row["leak_rate"] > most:
            got = f"{row['leaked']} of {row['spans']} leaked, {row['leak_rate']:.1%}"
            found.append(f"{row['type']} in {row['language']}: {got} (at most {most:.0%})")
    clean = result["false_hits"]["documents without spans, by language"] if "false_hits" in result else {}
    for language, hits in clean.items():
        if hits is not None and hits["per_1000"] >= MOST_FALSE_PER_1000:
            got = f"{hits['per_1000']} false hits per 1,000 words"
            found.append(f"{language}: {got} (below {MOST_FALSE_PER_1000:g})")
    for name, hits in clean_sets(result).items():
        most = MOST_FALSE_LEGAL_FORMS if name == "legal-forms" else MOST_FALSE_IN_SET
        if hits["per_1000"] >= most:
            found.append(f"set {name}: {hits['per_1000']} false hits per 1,000 words (below {most:g})")
    return [*found, *_missed_categories(result.get("categories", {}))]


def clean_sets(result: dict[str, Any]) -> dict[str, Any]:
    """Return the false hits of each set of our own, in its documents without identifiers."""
    return result["false_hits"]["documents without spans, by set"] if "false_hits" in result else {}


def _missed_categories(categories: dict[str, Any]) -> Iterator[str]:
    """Yield the missed targets of special categories, by language."""
    for language, row in categories.items():
        if row["recall"] is not None and row["recall"] < LEAST_RECALL:
            yield f"special categories in {language}: recall {row['recall']:.1%} (at least {LEAST_RECALL:.0%})"
        if row["precision"] is not None and row["precision"] < LEAST_PRECISION:
            yield f"special categories in {language}: precision {row['precision']:.1%} (at least {LEAST_PRECISION:.0%})"
        for name, hits in row["false_hits"].items():
            if hits["words"] and hits["per_1000"] >= MOST_FALSE_CATEGORIES_PER_1000:
                got = f"{hits['per_1000']} false hits per 1,000 words"
                most = f"below {MOST_FALSE_CATEGORIES_PER_1000:g}"
                yield f"special categories in {language}, {name} documents: {got} ({most})"


def show(result: dict[str, Any]) -> None:
    """Print the tables."""
    if "leaks" not in result:
        return
    print(f"{result['documents']} documents, {result['spans']} spans")
    print(f"{'type':24}{'lang':>6}{'spans':>8}{'leaked':>8}{'rate':>9}{'95 %':>18}{'partial':>9}")
    for row in result["leaks"]:
        between = f"{row['low']:.2%} - {row['high']:.2%}"
        print(
            f"{row['type']:24}{row['language']:>6}{row['spans']:>8}{row['leaked']:>8}{row['leak_rate']:>9.2%}"
            f"{between:>18}{row['partial']:>9}"
        )
    print(f"\n{'':12}{'F1 strict':>10}{'F2 strict':>10}{'F1 partial':>11}{'F2 partial':>11}{'over-masked':>12}")
    for name, row in result["scores"].items():
        print(
            f"{name:12}{row['strict_f1']:>10.3f}{row['strict_f2']:>10.3f}{row['partial_f1']:>11.3f}"
            f"{row['partial_f2']:>11.3f}{row['over_masked']:>12.2%}"
        )
    hits = result["false_hits"]
    rows = {name: hits[name] for name in ("all", "documents without spans")}
    rows |= hits["documents without spans, by language"]
    rows |= {f"set {name}": row for name, row in clean_sets(result).items()}
    print(f"\n{'false hits':28}{'words':>9}{'per 1,000':>11}{'95 %':>16}  by entity type")
    for name, row in rows.items():
        if row is not None:
            between = f"{row['low']:.2f} - {row['high']:.2f}"
            entity_types = ", ".join(f"{entity_type} {count}" for entity_type, count in row["by_entity_type"].items())
            print(f"{name:28}{row['words']:>9,}{row['per_1000']:>11.2f}{between:>16}  {entity_types}")
    columns = f"{'mentions':>10}{'recall':>9}{'precision':>11}{'clean':>8}{'other':>8}"
    print(f"\n{'special categories':20}{columns}  missed; wrong")
    for name, row in result["categories"].items():
        if row["mentions"] or row["wrong"]:
            per = [f"{row['false_hits'][each]['per_1000'] or 0:>8.2f}" for each in ("clean", "other")]
            listed = [", ".join(f"{each} {count}" for each, count in row[key].items()) for key in ("missed", "wrong")]
            shares = f"{row['recall'] or 0:>9.1%}{row['precision'] or 0:>11.1%}"
            print(f"{name:20}{row['mentions']:>10}{shares}{''.join(per)}  {'; '.join(listed)}")
    took = result["time"]
    print(f"\ninspection: {took['p50_ms']} ms p50, {took['p99_ms']} ms p99 a document, {took['mb_per_s']} MB/s")


def main() -> int:
    """Run the command line."""
    parser = argparse.ArgumentParser(prog="python -m bench.pii", description="Measure the gateway's detection.")
    parser.add_argument("--data", type=Path, action="append", metavar="FILE.jsonl", help="may be given again")
    parser.add_argument("--listed", type=Path, metavar="PEOPLE.csv", help="a list to look for, as of `edm build`")
    parser.add_argument("--config", type=Path, metavar="gateway.yaml", help="whose detect settings to use")
    parser.add_argument("--json", action="store_true", help="one JSON document instead of tables")
    parser.add_argument("--check", action="store_true", help="end with 1 when a bar is missed")
    parser.add_argument("--seed", type=int, default=7, help="of our own sets, when no --data is given")
    parser.add_argument("--output", type=Path, default=Path("build/bench/pii.json"))
    options = parser.parse_args()
    try:
        folder = options.output.parent / "pii"
        paths = options.data or write_sets(folder, seed=options.seed, per_type=60)
        people = options.listed or (None if options.data else folder / CUSTOMERS)
        listed = index_of(people, folder) if people else None
        settings = load_settings(options.config).detect if options.config else None
        documents = [document for path in paths for document in read_documents(path)]
        result = measure(documents, settings, listed=listed)
    except SovctlError as error:
        for problem in error.problems if isinstance(error, SpecError) else [error]:
            print(f"pii: {problem}", file=sys.stderr)
        return error.exit_code
    result["missed"] = missed = misses(result, has_names=listed is not None)
    options.output.parent.mkdir(parents=True, exist_ok=True)
    write_atomic(options.output, json.dumps(result, indent=2) + "\n")
    if options.json:
        print(json.dumps(result, indent=2))
    else:
        show(result)
        for each in missed:
            print(f"MISSED {each}")
    return int(options.check and bool(missed))


if __name__ == "__main__":
    sys.exit(main())
