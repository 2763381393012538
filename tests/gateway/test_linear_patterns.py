"""No pattern of the gateway takes longer than linear time, on whatever text: proven over its automaton, or bounded.

Hyperscan's patterns are linear by construction: it has no backtracking, and refuses what would need it.
"""

from __future__ import annotations

import json
import subprocess
import sys

import hyperscan
import pytest
from linear_patterns import superlinear

from sovctl.gateway.detect.text.scanner import Pattern, Scanner

# Not shown to be linear when searched for in a whole text, and not used like that.
BOUNDED = {
    "sovctl.gateway.inspection.known_names._WORD_BEFORE": "reads 14 characters before a word",
    "sovctl.gateway.detect.context.topics._SENTENCE_END": "reads the few characters before a number",
    "sovctl.gateway.detect.recognizers.document_numbers._WORD": "matched once at the beginning of one number",
    "sovctl.gateway.detect.edm.matching.word_run._LEFT": "reads the few characters before a word",
    "sovctl.gateway.detect.edm.matching.titles._GLUED_BEFORE": "reads 40 characters before a word",
    "sovctl.gateway.detect.edm.matching.titles._TITLE_AND_PARTICLES": "reads the few words before a word",
    "sovctl.gateway.detect.edm.matching.user_names._USERS": "reads the few characters before a word",
    "sovctl.gateway.detect.recognizers.email_address._WORD_BEFORE": "matched once at the beginning of an address",
    "sovctl.gateway.detect.text.base64_hex._LEAD": "matched once from 64 or 128 characters before the end of a run",
    "sovctl.gateway.detect.models.gliner_model._WORD": "matches at every place, so it never goes back",
    "sovctl.gateway.detect.names.cue_words._LINE_END": "matched once behind a name",
    "sovctl.gateway.detect.names.in_fields._VALUE_END": "matched once behind a name",
    "sovctl.gateway.detect.names.shape._LOWER_WORD": "matched once at the beginning of a word",
    "sovctl.gateway.detect.names.shape._PREVIOUS": "reads the few characters before a word",
    "sovctl.gateway.detect.numbers.scheme_numbers._CODE_BEFORE": "reads 24 characters before a number",
    "sovctl.gateway.inspection.inspector._STEPS": "matched once at the beginning of a text, and gives nothing back",
    "sovctl.gateway.release.citations._DATE": "matches one token",
    "sovctl.gateway.release.citations._GROUPED": "matched once at the beginning of one token",
    "sovctl.gateway.release.sentences._BEGUN_FENCE": "matched once at the beginning of a sentence",
    "sovctl.gateway.release.sentences._LAST_WORD": "reads the few characters before a full stop",
    "sovctl.gateway.surfaces.answers.captions._TIMES": "matched once at the beginning of a line",
    "sovctl.gateway.retrieval.ingest.ldif._LINE": "matched once for each line",
    "sovctl.gateway.settings.answers.tool_arguments._WORD": "matches the words of one name, one after the other",
    "sovctl.gateway.tokens.json_path._STRING_END": "matched once at the beginning of a string, and gives nothing back",
    "sovctl.gateway.tokens.links.glued_hosts.FOLLOWING": "reads the 256 characters after a value",
    "sovctl.gateway.tokens.links.glued_hosts._GLUED": "reads the 400 characters after a value",
    "sovctl.gateway.tokens.links.bare_links._HOST": "reads the 2,048 characters of a link",
    "sovctl.gateway.tokens.links.definitions._NO_DEFINITION": "matched once at the beginning of a destination",
    "sovctl.gateway.tokens.links.context._FOLLOWING_DEFINED": "reads the 256 characters after a value",
    "sovctl.gateway.detect.findings.overlaps._WORDS": "searched for once in each gap between findings",
    "sovctl.gateway.detect.names.companies._FIRST": "matched once at the beginning of a name",
    "sovctl.gateway.body.embedded_files._TEXT_TYPE": "matches one media type",
}

# Every pattern that the gateway's modules compile, with the name of the module and, where it has one, of the pattern.
_COLLECT = """
import importlib, json, pathlib, re, sys
compile, found = re.compile, {}
def note(pattern, flags=0):
    made = compile(pattern, flags)
    module = sys._getframe(1).f_globals["__name__"]
    if module.startswith("sovctl.gateway") and isinstance(made.pattern, str):
        found.setdefault((made.pattern, int(made.flags)), module)
    return made
re.compile = note
import sovctl.gateway
names = {}
folder = pathlib.Path(sovctl.gateway.__file__).parent
for path in sorted(folder.rglob("*.py")):
    if path.stem not in ("__main__", "__init__"):
        module = importlib.import_module(".".join(("sovctl.gateway", *path.relative_to(folder).with_suffix("").parts)))
        for name, value in vars(module).items():
            key = (value.pattern, value.flags) if isinstance(value, re.Pattern) else None
            if key in found:
                names.setdefault(key, f"{found[key]}.{name}")
from sovctl.gateway.detect import make_detector
from sovctl.gateway.settings import DetectSettings
make_detector(DetectSettings())
print(json.dumps([[*key, names.get(key, module)] for key, module in found.items()]))
"""


def test_every_pattern_is_linear() -> None:
    collected = subprocess.run([sys.executable, "-c", _COLLECT], capture_output=True, text=True, check=True).stdout
    patterns = json.loads(collected)
    assert len(patterns) > 300
    found = {name: why for pattern, flags, name in patterns if (why := superlinear(pattern, flags)) is not None}
    new = {name: why for name, why in found.items() if name not in BOUNDED}
    assert not new, f"bound what repeats, or look behind it, or say in BOUNDED why its text is short: {new}"
    assert found.keys() == BOUNDED.keys()


@pytest.mark.parametrize(
    ("pattern", "why"),
    [
        (r"(\w+\s?)*$", "two ways around the loop"),
        (r"(a|a)*b", "two ways around the loop"),
        (r"(a*)*b", "two ways around the loop"),
        (r"(?:a{1,3})*b", "two ways around the loop"),
        (r"([a-z]+)+$", "two ways around the loop"),
        (r"\w*\d*x", "reads the same as the loop"),
        (r"[ \t]*[.,]?[ \t]*$", "reads the same as the loop"),
        (r"x\w+y\w+z", "reads the same as the loop"),
        (r"\w+@", "begins anew inside the loop"),
        (r"\s+$", "begins anew inside the loop"),
        (r"a(?:\w+@)?", "begins anew inside the loop"),
        (r"foo|[a-z]+[0-9]", "begins anew inside the loop"),
    ],
)
def test_a_pattern_that_takes_longer_is_seen(pattern: str, why: str) -> None:
    assert why in (superlinear(pattern) or "")


@pytest.mark.parametrize(
    "pattern",
    [
        r"(?<!\w)\w+@",
        r"\b\w+@",
        r"^\w+@",
        r"(?m)^\w+@",
        r"\w{1,64}@",
        r"\w+",
        r"(?:%[0-9A-F]{2})+",
        r"[ \t]{0,3}(?:[.,][ \t]*)?",
        r"[0-9]+(?:[ .][0-9]+)*",
        r"(a)\1",
    ],
)
def test_a_pattern_that_is_linear_passes(pattern: str) -> None:
    assert superlinear(pattern) is None


def test_a_pattern_that_needs_more_than_an_automaton_is_not_let_through() -> None:
    with pytest.raises(NotImplementedError, match="GROUPREF"):
        superlinear(r"(\w+) \1")


@pytest.mark.parametrize("expression", [r"(a+)\1", r"(?=a)b", r"(?<=a)b"])
def test_hyperscan_refuses_what_would_need_backtracking(expression: str) -> None:
    with pytest.raises(hyperscan.HyperscanError):
        Scanner([Pattern(expression)])
