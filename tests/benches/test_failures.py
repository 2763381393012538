"""The benches of failures and kills report every broken promise."""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import replace

from bench.failing.site import MARK, processes
from bench.failing.trials import TRIALS, begun_on, by_name
from bench.failures import judge
from sovctl.support.errors import ExitCode

TRIAL = replace(TRIALS[0], codes=frozenset({1}), says=("n2", "--resume"))


def test_trials_have_unique_names_and_documented_exit_codes() -> None:
    assert len(by_name()) == len(TRIALS)
    documented = set(ExitCode)
    for trial in TRIALS:
        assert all(code in documented or code < 0 for code in trial.codes), trial.name


def test_another_exit_code_a_missing_text_and_a_traceback_are_problems() -> None:
    good = "sovctl: n2: the node does not answer\nhint: sovctl apply --resume"
    assert judge(TRIAL, 1, good) == []
    for code, output in ((0, good), (1, "sovctl: n2 failed"), (1, good + "\nTraceback (most recent call last):")):
        assert len(judge(TRIAL, code, output)) == 1


def test_a_cause_begins_when_a_role_begins_on_its_node() -> None:
    reached = begun_on("n2")
    assert not reached([{"event": "role-started", "node": "n1"}, {"event": "wave-started", "nodes": ["n2"]}])
    assert reached([{"event": "role-started", "node": "n2"}])


def test_a_process_of_a_command_is_found_by_its_mark_until_it_ends() -> None:
    with subprocess.Popen(
        [sys.executable, "-c", "input()"], stdin=subprocess.PIPE, env=os.environ | {MARK: "m-1"}
    ) as one:
        while not processes("m-1"):
            assert one.poll() is None
        assert str(one.pid) in processes("m-1")[0]
        assert processes("m-2") == []
    assert processes("m-1") == []
