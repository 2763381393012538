"""Every bad input, as a person meets it: `transcripts/*.txt`. How to read them: `transcript.py`."""

from __future__ import annotations

from pathlib import Path

import pytest
from transcript import run_transcript

TRANSCRIPTS = sorted((Path(__file__).parent / "transcripts").glob("*.txt"))

# Errors that every command must answer clearly, and the transcript that tests each of them.
PROMISED = (
    "broken_yaml",
    "unknown_key",
    "wrong_type",
    "overlapping_pools",
    "tensor_parallel_does_not_divide",
    "missing_site",
    "unreachable_node",
    "wrong_ssh_key",
    "stale_plan",
    "tampered_plan",
    "second_apply",
)


@pytest.mark.parametrize("path", TRANSCRIPTS, ids=lambda path: path.stem)
def test_it_goes_as_written(path: Path, tmp_path: Path) -> None:
    run_transcript(path, tmp_path)


def test_every_promised_answer_has_a_transcript() -> None:
    assert set(PROMISED) <= {path.stem for path in TRANSCRIPTS}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("$ sovctl --version\n", "how it ends"),
        ("$ sovctl --version\nexit 1\n", "it ended with 0"),
        ("$ sovctl --version\nexit 0\nstderr sovctl\n", "not printed there"),
        ("$ sovctl --version\nexit 0\n! stdout sovctl\n", "printed there"),
        ("$ sovctl --version\nexit 0\nsilent stdout\n", "stdout is not empty"),
        ("$ sovctl init\nexit 0\nunchanged\n", r"made, altered or removed: \['site.schema.json', 'site.yaml'\]"),
        ("$ sovctl --version\nexitt 0\n", "no such word"),
        ("given a wonder\n", "expected one of"),
    ],
)
def test_a_wrong_transcript_is_found(text: str, message: str, tmp_path: Path) -> None:
    wrong = tmp_path / "wrong.txt"
    wrong.write_text(text)
    (tmp_path / "world").mkdir()
    with pytest.raises(AssertionError, match=message):
        run_transcript(wrong, tmp_path / "world")
