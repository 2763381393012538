"""Documentation is held to the code: options, exit codes, links, and the commands that README tells people to type."""

from __future__ import annotations

import re
import subprocess
import sys
from datetime import UTC, date, datetime
from pathlib import Path

import pytest
from documented_commands import COMMAND_PAGES as PAGES
from documented_commands import FIRST_WEEK, typed

from sovctl import __released__
from sovctl.cli import documentation as reference
from sovctl.cli.main import COMMANDS
from sovctl.support.errors import ExitCode, InputError

ROOT = Path(__file__).parents[1]
COMMANDS_BY_WORDS = reference.commands()

_LINK = re.compile(r"(?<!!)\[[^\]]*\]\(([^)\s]+)\)")
_CODE = re.compile(r"```.*?```|`[^`\n]*`", re.DOTALL)
_HEADING = re.compile(r"^#+ (.+)$", re.MULTILINE)


def texts() -> list[Path]:
    """Every Markdown file of the project."""
    listed = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard", "*.md"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    ).stdout.split()
    found = [ROOT / name for name in listed] or [  # outside a clone, as in an unpacked release
        path for path in ROOT.rglob("*.md") if "build" not in path.relative_to(ROOT).parts
    ]
    return sorted(path for path in found if path.exists())


def anchors(page: Path) -> set[str]:
    """What a `#...` may name on a page, as code hosts derive it from headings."""
    headings = (re.sub(r"[^\w\- ]", "", text.lower()) for text in _HEADING.findall(page.read_text()))
    return {text.strip().replace(" ", "-") for text in headings}


def test_every_command_has_a_page_of_its_own_name() -> None:
    assert {page.stem for page in PAGES} == set(COMMANDS)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_a_page_has_every_option_of_its_commands(page: Path) -> None:
    mine = {words for words in COMMANDS_BY_WORDS if words.split()[1] == page.stem}
    assert set(reference.documented(page.read_text())) == mine
    assert reference.updated(page.read_text()) == page.read_text(), "python -m sovctl.cli.documentation docs/commands"


@pytest.mark.parametrize("words", COMMANDS_BY_WORDS)
def test_every_option_says_what_it_means(words: str) -> None:
    silent = [left for left, right in reference.options(words) if not re.search(r"[a-z]{2}", right.split("[")[0])]
    assert not silent


@pytest.mark.parametrize("words", COMMANDS_BY_WORDS)
def test_help_of_every_command_has_an_example(words: str) -> None:
    command = COMMANDS_BY_WORDS[words]
    told = f"{command.help or ''} {command.epilog or ''}"
    assert words in told, f"the help of {words} shows nobody how it is typed"


def test_a_mark_for_a_command_that_is_not_is_refused() -> None:
    with pytest.raises(InputError, match="unknown command 'sovctl plann'"):
        reference.updated("<!-- options: sovctl plann -->\n<!-- end of options -->\n")


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_a_page_says_how_its_commands_end(page: Path) -> None:
    _, _, ending = page.read_text().partition("\n## Exit codes\n")
    named = {int(code) for code in re.findall(r"(?:^|; )(\d+) ", ending.strip().replace("\n", " "))}
    assert {0, int(ExitCode.BAD_INPUT)} <= named <= {int(code) for code in ExitCode}
    assert "(../exit-codes.md)" in ending


def test_every_exit_code_is_documented_and_no_other() -> None:
    rows = re.findall(r"^\| (\d+) \| (\w+) \|", (ROOT / "docs" / "exit-codes.md").read_text(), re.MULTILINE)
    assert [(int(code), name) for code, name in rows] == [(int(code), code.name) for code in ExitCode]


@pytest.mark.parametrize("page", texts(), ids=lambda page: str(page.relative_to(ROOT)))
def test_every_relative_link_leads_somewhere(page: Path) -> None:
    prose = _CODE.sub("", page.read_text())
    broken = []
    for target in _LINK.findall(prose):
        if re.match(r"[a-z]+:", target):
            continue
        name, _, anchor = target.partition("#")
        file = (page.parent / name).resolve() if name else page
        if not file.exists() or (anchor and file.suffix == ".md" and anchor not in anchors(file)):
            broken.append(target)
    assert not broken


@pytest.mark.parametrize("page", [ROOT / "README.md", FIRST_WEEK, *PAGES], ids=lambda page: page.stem)
def test_commands_in_the_text_exist_with_their_options(page: Path) -> None:
    lines = typed(page)
    assert lines
    for line in lines:
        words = line.split()
        known = [name for name in COMMANDS_BY_WORDS if words[: len(name.split())] == name.split()]
        assert known, f"no such command: {line}"
        name = max(known, key=len)
        rest = words[len(name.split()) :]
        rest = rest[: rest.index("--")] if "--" in rest else rest
        options = {option for each in COMMANDS_BY_WORDS[name].params for option in each.opts}
        unknown = [word for word in rest if word.startswith("-") and word not in options]
        assert not unknown, f"{name} has no {unknown}: {line}"


def test_the_clock_floor_is_not_older_than_the_newest_release() -> None:
    releases = re.findall(r"^## \[[0-9][^\]]*\] - (\S+)$", (ROOT / "CHANGELOG.md").read_text(), re.MULTILINE)
    newest = max(map(date.fromisoformat, releases))
    assert newest <= date.fromisoformat(__released__) <= datetime.now(UTC).date(), "CONTRIBUTING.md, release, step 2"


def test_make_targets_in_readme_exist() -> None:
    named = set(re.findall(r"\bmake ([a-z-]+)", (ROOT / "README.md").read_text()))
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    assert named
    assert named <= targets


def test_the_page_of_validate_shows_what_it_prints() -> None:
    page = (ROOT / "docs" / "commands" / "validate.md").read_text()
    command, *lines = page.partition("$ sovctl ")[2].partition("\n\n")[0].splitlines()
    done = subprocess.run(
        [sys.executable, "-m", "sovctl.cli", *command.split()], cwd=ROOT, capture_output=True, text=True, check=True
    )
    assert done.stdout.startswith(" ".join(line.strip() for line in lines).removesuffix("..."))
