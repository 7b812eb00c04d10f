# SPDX-License-Identifier: BSD-3-Clause
"""Every command that README and docs/ print is one that the program takes: lines in blocks whole, words between backquotes as far as they go."""
import re
import shlex

import pytest
from conftest import ROOT

from kamuee import arguments, commands, options
from kamuee.errors import UsageError
from kamuee.grammar import Grammar

PAGES = sorted([ROOT / "README.md", *(ROOT / "docs").rglob("*.md")])
START = re.compile(r"(?:^|sudo |\blab exec \S+ \S+ )(?:\./)?kamuee (?!lab exec \S+ \S+ kamuee)(?=[a-z-])(.*)")
END = re.compile(r"\s{2,}|\s#|\s\\?[|>&;]\s|\s…|…$")     # what is said of it, the rest of the shell's line
GRAMMAR = Grammar(commands.COMMANDS, lambda name, word: word.isupper() or arguments.accepts(name, word))


def printed(text):
    """(line number, the words behind 'kamuee', a line of a block?) of a page."""
    block = False
    for number, line in enumerate(text.splitlines(), 1):
        block ^= line.startswith("```")
        whole = block or line.startswith("    ")
        for piece in [line.strip()] if whole else re.findall(r"`([^`]+)`", line):
            if found := START.search(piece):
                yield number, END.split(found[1])[0].strip(), whole


def refusal(line, whole):
    """Why the program does not take the line; '' when it does. Brackets of a synopsis are left out, '|' takes the first way."""
    line = re.sub(r"\s?\|\s?[^\s\])|]+", "", line) if re.search(r"[\[(]", line) else line
    try:
        found = options.parse(shlex.split(re.sub(r"[\[\]()]", "", line)))
        for words in [found.words, *(shlex.split(text) for short, text in found.scripts if short == "-c")]:
            if not words or words[-1] == "?":
                continue
            if whole:
                GRAMMAR.match(words)
            elif not GRAMMAR.walk(words):
                return f"'{' '.join(words)}' leads nowhere"
    except UsageError as error:
        return str(error).splitlines()[0]
    return ""


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_commands_of_the_page_are_commands_of_the_program(page):
    wrong = [f"{number}: kamuee {line}: {why}" for number, line, whole in printed(page.read_text(encoding="utf-8")) if (why := refusal(line, whole))]
    assert not wrong, "\n".join(wrong)


def test_commands_are_found_and_wrong_ones_refused():
    page = ("text\n```\nsudo ./kamuee show drops   what went\n```\n    kamuee lab exec x r kamuee show ipv4 rout P\n"
            "say `kamuee show nonsense` and `kamuee audit [vr VR]`\n")
    found = list(printed(page))
    assert [line for _, line, _ in found] == ["show drops", "show ipv4 rout P", "show nonsense", "audit [vr VR]"]
    assert [bool(refusal(line, whole)) for _, line, whole in found] == [False, False, True, False]
    assert refusal("show drops 7", True) and refusal("set", True) and not refusal("set", False)
    assert sum(len(list(printed(page.read_text(encoding="utf-8")))) for page in PAGES) > 100
