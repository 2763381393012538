"""Several real processes hammer one store; one is killed. What they were let through together never passes a limit."""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path

from quota_places import Place
from quota_worker import LIMITS

WORKER = Path(__file__).parents[1] / "quota_worker.py"
SPEED = 40.0  # a minute in one and a half seconds
EACH = LIMITS["requests_per_minute"] // 3 + 1  # three processes that nobody kills get more than a minute's worth


def test_processes_that_hammer_never_pass_a_limit_together_also_when_one_is_killed(
    place: Place, tmp_path: Path
) -> None:
    begin = time.time()
    arguments = [place.argument(), str(begin), str(SPEED), "4", str(EACH)]
    outputs = [tmp_path / f"{number}.txt" for number in range(4)]
    processes = []
    for output in outputs:
        with output.open("wb") as file:
            processes.append(
                subprocess.Popen([sys.executable, str(WORKER), *arguments], stdout=file, stderr=subprocess.STDOUT)
            )
    while not any(output.stat().st_size for output in outputs):
        assert time.time() < begin + 90
        time.sleep(0.01)
    processes[0].kill()
    assert [process.wait(120) for process in processes] == [-9, 0, 0, 0], [each.read_text()[-500:] for each in outputs]
    lines = [line.split() for output in outputs for line in output.read_text().splitlines()]
    # The killed one may have been cut off in a line. Each was let through somewhere between its two times.
    let_through = sorted((float(line[1]), float(line[0])) for line in lines if len(line) == 3)
    assert len(let_through) * 100 <= LIMITS["tokens_per_day"]
    for _, start in let_through:
        minute = sum(1 for after, before in let_through if start <= before and after < start + 60)
        assert minute <= LIMITS["requests_per_minute"]
        assert minute * 100 <= LIMITS["tokens_per_minute"]
    assert len(let_through) > LIMITS["requests_per_minute"], "the limit was not reached, so nothing was shown"
