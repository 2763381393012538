"""Does a check pass without its measurement? Damages each input of each check, and judges the rest.

    make bench-failopen
    python -m bench.failopen --seed 7 --rounds 1000

Every round takes one check, its good answer of `tests/engine/checks/check_cases`, and one input: removes, empties,
cuts, garbles or replaces it, or lets it hang or fail. The verdict must be FAIL or UNKNOWN. A cut or garbled input
counts only if an essential word is absent, because other text can be cut without a loss. An empty JSON list that
replaces a list counts as another answer. Prints passes by check, and writes build/bench/failopen.json.
"""

from __future__ import annotations

import argparse
import json
import random
import sys
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT / "tests"), str(ROOT / "tests/engine"), str(ROOT / "tests/engine/checks")]

from check_samples import SAMPLES  # type: ignore[import-not-found]  # noqa: E402

from sovctl.compliance.verdict import Verdict  # noqa: E402
from sovctl.engine.checks.model.check import judge  # noqa: E402
from sovctl.engine.checks.model.probe import TIMED_OUT, CommandOutput, joined  # noqa: E402
from sovctl.engine.checks.registry import BY_ID  # noqa: E402
from sovctl.support.atomic_files import write_atomic  # noqa: E402

RESULT = Path("build/bench/failopen.json")
REPLACEMENTS = (
    "sh: 1: not found\n",
    "Killed\n",
    "Segmentation fault (core dumped)\n",
    "{}\n",
    "[]\n",
    "0\n",
    "<html><body>401</body></html>\n",
)
DAMAGES = ("removed", "empty", "cut", "garbled", "replaced", "hangs", "fails", "of another check")

_Inputs = Mapping[str, CommandOutput]


@dataclass(frozen=True)
class Damage:
    """A damaged answer.

    Args:
        is_certain: whether the measurement is lost, so that PASS is wrong.
    """

    inputs: _Inputs
    is_certain: bool


def good_inputs(check_id: str) -> dict[str, CommandOutput]:
    """Return the good answer of a check by name of the input."""
    found = {}
    for name, part in SAMPLES[check_id].good.items():
        code, text = part if isinstance(part, tuple) else (0, part)
        found[name] = CommandOutput(code, text, "")
    return found


def damaged(check_id: str, name: str, how: str, source: random.Random) -> Damage:
    """Return the answer with one damaged input."""
    inputs = good_inputs(check_id)
    text = inputs[name].stdout
    words = [word for word in SAMPLES[check_id].essential if word in text]

    def with_text(changed: str, *, certain: bool) -> Damage:
        return Damage({**inputs, name: CommandOutput(0, changed, "")}, certain)

    if how == "removed":
        return Damage({key: each for key, each in inputs.items() if key != name}, True)
    if how == "hangs":
        return Damage({**inputs, name: CommandOutput(TIMED_OUT, "", "")}, True)
    if how == "fails":
        return Damage({**inputs, name: CommandOutput(source.choice((1, 2, 126, 127, 137)), "", "error")}, True)
    if how == "empty":
        return with_text(source.choice(("", "\n", " \n\t\n")), certain=True)
    if how == "replaced":
        changed = source.choice(REPLACEMENTS)
        is_list = changed.strip() == "[]" and text.startswith("[")
        return with_text(changed, certain=not is_list and changed.strip() != text.strip())
    if how == "of another check":
        other = source.choice([each for each in SAMPLES if each != check_id])
        changed = source.choice([each.stdout for each in good_inputs(other).values()])
        # Answers of one topic can be equally good, such as the same inventory of another node.
        is_foreign = other.partition(".")[0] != check_id.partition(".")[0]
        return with_text(changed, certain=is_foreign and bool(words) and all(word not in changed for word in words))
    if how == "cut":
        changed = text[: source.randrange(len(text) + 1)]
    else:
        changed = "".join(source.choice("#\x00~?") if source.random() < 0.2 else each for each in text)
    return with_text(changed, certain=any(word not in changed for word in words))


def main() -> int:
    """Run rounds, print the table, and write the result."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--rounds", type=int, default=20_000)
    parser.add_argument("--check", action="store_true", help="exit with 1 if a check passed, or raised an exception")
    options = parser.parse_args()
    source = random.Random(options.seed)
    ids = sorted(SAMPLES)
    verdicts: Counter[str] = Counter()
    passed: Counter[tuple[str, str, str]] = Counter()
    raised: Counter[tuple[str, str, str]] = Counter()
    certain = 0
    for _ in range(options.rounds):
        check_id = source.choice(ids)
        name, how = source.choice(list(SAMPLES[check_id].good)), source.choice(DAMAGES)
        damage = damaged(check_id, name, how, source)
        try:
            verdict = judge(BY_ID[check_id], joined(damage.inputs), SAMPLES[check_id].expectation).verdict
        except Exception as error:  # noqa: BLE001 - a crash is a result of this bench
            raised[check_id, name, f"{how}: {type(error).__name__}"] += 1
            continue
        certain += damage.is_certain
        verdicts[verdict.value] += damage.is_certain
        if damage.is_certain and verdict not in (Verdict.FAIL, Verdict.UNKNOWN):
            passed[check_id, name, f"{how}: {verdict.value}"] += 1
    found: dict[str, Any] = {
        "seed": options.seed,
        "rounds": options.rounds,
        "checks": len(ids),
        "lost_measurements": certain,
        "verdicts": dict(sorted(verdicts.items())),
        "passed": [[*key, count] for key, count in sorted(passed.items())],
        "raised": [[*key, count] for key, count in sorted(raised.items())],
    }
    RESULT.parent.mkdir(parents=True, exist_ok=True)
    write_atomic(RESULT, json.dumps(found, indent=1) + "\n")
    print(f"{len(ids)} checks, {options.rounds} rounds, {certain} lost measurements: {dict(sorted(verdicts.items()))}")
    for label, counts in (("passed", passed), ("raised", raised)):
        for (check_id, name, how), count in sorted(counts.items()):
            print(f"  {label}: {check_id}, input {name}, {how} ({count} times)")
    print(f"passes without a measurement: {sum(passed.values())}; exceptions: {sum(raised.values())}")
    return 1 if options.check and (passed or raised) else 0


if __name__ == "__main__":
    sys.exit(main())
