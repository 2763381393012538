"""Adds up outcomes: leak rates with intervals, F1 and F2, false hits, over-masking.

**False hits per 1,000 tokens**: replaced pieces that share no character with an annotated span, per 1,000 words, which
are separated by white space. **Strict** F: a span counts if exactly its characters were replaced; **partial**: if
any of them was. F2 counts recall four times. Types are not compared, because every set has its own names for them.
**Special categories** are compared by document and category; their false hits are those of documents without any.
**Intervals** are 95 %, by bootstrap over documents, because spans of one document are correlated.
"""

from __future__ import annotations

import random
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from typing import Any

from bench.judging.documents import Document
from bench.judging.leaks import Outcome

_RESAMPLES, _SEED = 400, 20261121


def summarise(documents: Sequence[Document], outcomes: Sequence[Outcome], inspect_s: Sequence[float]) -> dict[str, Any]:
    """Return all figures."""
    pairs = list(zip(documents, outcomes, strict=True))
    languages = sorted({document.language for document in documents})
    clean = [outcome for document, outcome in pairs if not document.spans]
    size_bytes = sum(len(document.text.encode()) for document in documents)
    ordered = sorted(inspect_s)
    return {
        "documents": len(documents),
        "spans": sum(len(document.spans) for document in documents),
        "leaks": _leaks(pairs),
        "scores": {"all": _scores(outcomes)}
        | {each: _scores([o for d, o in pairs if d.language == each]) for each in languages},
        "false_hits": {
            "all": _false_hits(outcomes),
            "documents without spans": _false_hits(clean),
            "documents without spans, by language": {
                each: _false_hits([o for d, o in pairs if d.language == each and not d.spans]) for each in languages
            },
            "documents without spans, by set": {
                each: _false_hits([o for d, o in pairs if d.set == each and not d.spans])
                for each in sorted({d.set for d in documents if d.set and not d.spans})
            },
        },
        "categories": {
            each: _categories([(d, o) for d, o in pairs if each in ("all", d.language)]) for each in ("all", *languages)
        },
        "time": {
            "p50_ms": round(ordered[len(ordered) // 2] * 1000, 3),
            "p99_ms": round(ordered[len(ordered) * 99 // 100] * 1000, 3),
            "mb_per_s": round(size_bytes / max(sum(inspect_s), 1e-9) / 1e6, 2),
        },
    }


def _leaks(pairs: Iterable[tuple[Document, Outcome]]) -> list[dict[str, Any]]:
    """Return one row per type and language, then one per language, then one for all."""
    by_group: defaultdict[tuple[str, str], list[tuple[int, int, int]]] = defaultdict(list)
    for document, outcome in pairs:
        counts: defaultdict[tuple[str, str], list[int]] = defaultdict(lambda: [0, 0, 0])
        for span, leaked, partial in zip(document.spans, outcome.leaked, outcome.partial, strict=True):
            for group in ((span.type, document.language), ("all", document.language), ("all", "all")):
                each = counts[group]
                each[0] += 1
                each[1] += leaked
                each[2] += partial
        for group, found in counts.items():
            by_group[group].append((found[0], found[1], found[2]))
    order = sorted(by_group, key=lambda group: (group[1] == "all", group[0] == "all", group[1], group[0]))
    return [_leak_row(*group, by_group[group]) for group in order]


def _leak_row(entity_type: str, language: str, counts: list[tuple[int, int, int]]) -> dict[str, Any]:
    spans = sum(each[0] for each in counts)
    leaked, partial = sum(each[1] for each in counts), sum(each[2] for each in counts)
    low, high = _interval([(each[1], each[0]) for each in counts])
    return {
        "type": entity_type,
        "language": language,
        "spans": spans,
        "leaked": leaked,
        "leak_rate": round(leaked / spans, 5),
        "low": low,
        "high": high,
        "partial": partial,
        "partial_rate": round(partial / spans, 5),
    }


def _scores(outcomes: Sequence[Outcome]) -> dict[str, float]:
    found: dict[str, float] = {}
    predicted, spans = sum(o.predicted for o in outcomes), sum(len(o.exact) for o in outcomes)
    for name, hits, matched in (
        ("strict", sum(o.predicted_exact for o in outcomes), sum(sum(o.exact) for o in outcomes)),
        ("partial", sum(o.predicted_touching for o in outcomes), sum(sum(o.touched) for o in outcomes)),
    ):
        precision, recall = hits / predicted if predicted else 0.0, matched / spans if spans else 0.0
        found |= {f"{name}_precision": round(precision, 4), f"{name}_recall": round(recall, 4)}
        for beta in (1, 2):
            below = beta * beta * precision + recall
            found[f"{name}_f{beta}"] = round((1 + beta * beta) * precision * recall / below, 4) if below else 0.0
    ordinary = sum(o.ordinary for o in outcomes)
    found["over_masked"] = round(sum(o.over_masked for o in outcomes) / ordinary, 5) if ordinary else 0.0
    return found


def _categories(pairs: Sequence[tuple[Document, Outcome]]) -> dict[str, Any]:
    """Return precision and recall of special categories in annotated documents, and false hits in all of them."""
    annotated = [(d.categories, o) for d, o in pairs if d.categories is not None]
    expected = Counter(name for names, _ in annotated for name in names)
    hit = Counter(name for names, o in annotated for name in names & o.categories.keys())
    wrong = Counter(name for names, o in annotated for name in o.categories.keys() - names)
    right, predicted = hit.total(), hit.total() + wrong.total()
    clean = {
        "clean": [o for names, o in annotated if not names],
        "other": [o for d, o in pairs if d.categories is None],
    }
    return {
        "mentions": expected.total(),
        "found": right,
        "recall": round(right / expected.total(), 4) if expected else None,
        "precision": round(right / predicted, 4) if predicted else None,
        "missed": dict((expected - hit).most_common()),
        "wrong": dict(wrong.most_common()),
        "false_hits": {name: _false_categories(outcomes) for name, outcomes in clean.items()},
    }


def _false_categories(outcomes: Sequence[Outcome]) -> dict[str, Any]:
    """Return mentions of categories in documents without any, per 1,000 words."""
    words, hits = sum(o.words for o in outcomes), sum(sum(o.categories.values()) for o in outcomes)
    return {"words": words, "hits": hits, "per_1000": round(hits / words * 1000, 3) if words else None}


def _false_hits(outcomes: Sequence[Outcome]) -> dict[str, Any] | None:
    """None when there is nothing to count in."""
    words = sum(o.words for o in outcomes)
    if not words:
        return None
    entity_types = Counter(entity_type for o in outcomes for entity_type in o.false_types)
    low, high = _interval([(len(o.false_types), o.words) for o in outcomes])
    return {
        "words": words,
        "hits": entity_types.total(),
        "per_1000": round(entity_types.total() / words * 1000, 3),
        "low": round(low * 1000, 3),
        "high": round(high * 1000, 3),
        "by_entity_type": dict(entity_types.most_common()),
    }


def _interval(counts: Sequence[tuple[int, int]]) -> tuple[float, float]:
    """Return the 95 % interval of the ratio of two sums, by bootstrap over documents."""
    if not any(above for above, _ in counts):
        return 0.0, 0.0
    dice = random.Random(_SEED)
    rates = []
    for _ in range(_RESAMPLES):
        drawn = dice.choices(counts, k=len(counts))
        below = sum(each[1] for each in drawn)
        rates.append(sum(each[0] for each in drawn) / below if below else 0.0)
    rates.sort()
    return round(rates[int(_RESAMPLES * 0.025)], 5), round(rates[int(_RESAMPLES * 0.975) - 1], 5)
