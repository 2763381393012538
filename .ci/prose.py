#!/usr/bin/env python3
"""Counts indirect English in prose: docstrings, comments and strings of Python files, Markdown, templates.

    .ci/prose.py --baseline .ci/prose.toml            fails if a file has more hits than its baseline, or a new file any
    .ci/prose.py --baseline .ci/prose.toml --write    lowers the baseline to today's counts
    .ci/prose.py --show gateway/app.py                prints every hit of the named files or folders

The baseline may only fall: `--write` refuses to raise a count. A hit has no exemption; rephrase the sentence.
"""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
import tokenize
import tomllib
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

PATTERNS = {
    "nobody/anybody/somebody": r"\b(nobody|anybody|somebody|everybody|no one)(?:'s)?\b",
    "whoever/who has/who + verb": r"\bwhoever\b|\bwho(?= (?:has|have|had|is|are|was|asks?|calls?|waits?|reads?|writes?"
    r"|gets?|sends?|comes?|may|can|says?|looks?|makes?|needs?|knows?|gave|ends?|takes?|claims?|serves?|sees?)\b)",
    "what-clause as subject": r"(?:^|[.:;(\"'] ?|\"\"\")What (?:is|was|has|a|an|the|one|of|may|does|came|comes|can"
    r"|stands|lies|leaves|goes|it|they|every|all|each|site|vLLM|models?|policy)\b"
    r"|\bwhat (?:stands|lies|comes|came|goes|went|is said|was said|was seen|is left|is told|it says|somebody|nobody)\b",
    "reckon": r"\breckon(?:s|ed|ing)?\b",
    "mend": r"\bmend(?:s|ed|ing)?\b",
    "house nouns": r"\b(?:wall|walls|door|doors|road|gang|desk|hall|holes?|memory outside|leftover|leftovers)\b",
    "settle/leave/let in": r"\bsettl(?:e|es|ed)\b|\bunsettled\b|\blet(?:s)? (?:nobody|somebody|go of|in)\b"
    r"|\blets (?:nothing|no)\b",
    "anew/at once/in the place of": r"\banew\b|\bin the place of\b|\bfor the sake of\b|\ball the same\b"
    r"|\bin one go\b|\bin the same breath\b",
    "is told/says/said/speaks": r"\b(?:is|are|was|were|be) (?:told|said)\b|\bspeaks? of\b"
    r"|\bsays? (?:so|no|nothing|of|what|which|who|how|why|it)\b|\bsaid (?:of|so|by|in)\b|\bhear(?:s|d)\b",
    "stand/lie for are": r"\bstand(?:s)? (?:in|at|on|there|behind|beside|between|twice|alone|here|before|with|under)\b"
    r"|\bl(?:ies|ie|ay) (?:in|on|there|behind|beside|here)\b",
    "behind/beside for after/next to": r"\b(?:behind|beside)\b",
    "as far as/so far/meanwhile/at all": r"\bmeanwhile\b|\bas far as\b|\bat all\b|\bin any case\b|\bsees? to it\b",
    "negated aphorism": r"\b(?:is|are) no(?:ne| [a-z]+)\b|\b(?:has|have|had) no(?:ne|thing)\b"
    r"|\bnever (?:a|an|its|the|in|on|of|what|by|for|longer|twice|here|more|less|beyond)\b",
    "relative clause for a noun": r"\b(?:that|those|these|all|ones?|anything|something|everything|nothing)"
    r" (?:that|which|who) (?:is|are|was|were|has|have|had|may|can|it|they|we|no|a|an|the|site|names?|asks?)\b",
}
_COMPILED = {name: re.compile(pattern) for name, pattern in PATTERNS.items()}
_OTHER_TEXTS = (".md", ".j2", ".html", ".yaml", ".yml")
_OWN_PATTERNS = ".ci/prose.py"


def covered_files(root: Path) -> list[str]:
    """Paths that are counted, sorted: Python outside tests, Markdown at the top and in docs, templates."""
    listed = subprocess.run(["git", "ls-files"], cwd=root, capture_output=True, text=True, check=True).stdout.split()
    return sorted(
        name
        for name in listed
        if (root / name).is_file()
        and name != _OWN_PATTERNS
        and (
            (name.endswith(".py") and not name.startswith("tests/"))
            or (name.endswith(".md") and ("/" not in name or name.startswith("docs/")))
            or (name.startswith("templates/") and name.endswith(_OTHER_TEXTS))
        )
    )


def prose_of(path: Path) -> Iterator[tuple[int, str]]:
    """Lines of prose with their numbers: all lines of a text, comments and strings of a Python file."""
    if path.suffix != ".py":
        yield from enumerate(path.read_text(encoding="utf-8").splitlines(), 1)
        return
    with path.open("rb") as file:
        for token in tokenize.tokenize(file.readline):
            if token.type in (tokenize.COMMENT, tokenize.STRING) or tokenize.tok_name[token.type] == "FSTRING_MIDDLE":
                yield from enumerate(token.string.splitlines(), token.start[0])


def hits_of(path: Path) -> Iterator[tuple[int, str, str]]:
    """Line number, name of the pattern, and line of each hit."""
    for number, line in prose_of(path):
        for name, pattern in _COMPILED.items():
            for _ in pattern.finditer(line):
                yield number, name, line.strip()


def main() -> int:
    """Print the result; the exit status."""
    parser = argparse.ArgumentParser(description="Count indirect English in prose.")
    parser.add_argument("--baseline", type=Path, default=Path(".ci/prose.toml"))
    parser.add_argument("--write", action="store_true", help="lower the baseline to today's counts")
    parser.add_argument("--show", nargs="+", metavar="PATH", help="print the hits of these files or folders")
    options = parser.parse_args()
    root = Path(__file__).resolve().parents[1]
    files = covered_files(root)
    if options.show:
        chosen = [
            name
            for name in files
            if any(name == each or name.startswith(each.rstrip("/") + "/") for each in options.show)
        ]
        hits = [(name, *hit) for name in chosen for hit in hits_of(root / name)]
        for name, number, pattern, line in hits:
            print(f"{name}:{number}: [{pattern}] {line[:160]}")
        print(f"{len(hits)} hits in {len(chosen)} files")
        return 0
    counts = Counter({name: found for name in files if (found := sum(1 for _ in hits_of(root / name)))})
    baseline = tomllib.loads(options.baseline.read_text())["hits"] if options.baseline.exists() else None
    above = {name: found for name, found in counts.items() if baseline is not None and found > baseline.get(name, 0)}
    for name, found in above.items():
        print(
            f"{name}: {found} hits, baseline {baseline.get(name, 0)}; run `.ci/prose.py --show {name}`", file=sys.stderr
        )
    if options.write and not above:
        rows = "".join(f'"{name}" = {found}\n' for name, found in sorted(counts.items()))
        options.baseline.write_text(f"# Made by `.ci/prose.py --write`. Counts may only fall.\n[hits]\n{rows}")
    print(f"{sum(counts.values())} hits in {len(files)} files")
    return 1 if above else 0


if __name__ == "__main__":
    sys.exit(main())
