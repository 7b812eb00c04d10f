# SPDX-License-Identifier: BSD-3-Clause
"""Every command that README and docs/ print is one that the program takes: lines in blocks whole, words between backquotes as far as they go.

A block can be pasted as it stands: `set` is a builtin of the shell, which says nothing, so it is printed as `kamuee set`, unless the block is a file;
and what is said of a command is a comment.
"""
import re
import shlex

import pytest
from conftest import ROOT

from kamuee import arguments, commands, options
from kamuee.errors import UsageError
from kamuee.grammar import Grammar

FILE = re.compile(r"`[^`]*(\.conf|\.template|vtysh)`")    # in the prose before a block: its lines are of that file or program
PROMPT = re.compile(r"\$ |\w+> ")                        # a transcript follows
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


def printed_changes(text):
    """(line number, line of configuration) in blocks: commands, and files."""
    for number, line, whole in printed(text):
        if whole and line.startswith(("set ", "delete ")):
            yield number, re.split(r" --", line)[0]
    for number, line in enumerate(text.splitlines(), 1):
        if re.match(r"(    )?(set|delete) ", line) and "$" not in line:
            yield number, re.split(r"\s+#", line.strip())[0]


def unpastable(text):
    """(line number, error) of lines in blocks that a shell would misread."""
    fence, here, prose, transcript = False, "", "", False
    for number, line in enumerate(text.splitlines(), 1):
        if line.startswith("```"):
            fence, here, transcript = not fence, "", False
            continue
        if not fence and not line.startswith("    "):
            prose, here, transcript = line.strip() or prose, "", False
            continue
        words = re.split(r"\s#", line.strip())[0]
        transcript = transcript or PROMPT.match(words) is not None
        if here:
            here = "" if words == here else here
        elif found := re.search(r"<<-?\s*'?(\w+)", words):
            here = found[1]
        elif transcript:
            continue
        elif words.startswith(("set ", "delete ")) and not FILE.search(prose):
            yield number, f"'{words}' is the shell's own 'set': print 'kamuee {words}'"
        elif (found := START.search(words)) and re.search(r"\s{2,}[^\s#|>&;\\…]", found[1]):
            yield number, f"'{words}': what is said of the command begins with '#'"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_blocks_of_the_page_can_be_pasted(page):
    wrong = [f"{number}: {why}" for number, why in unpastable(page.read_text(encoding="utf-8"))]
    assert not wrong, "\n".join(wrong)


def test_what_cannot_be_pasted_is_found():
    assert [number for number, _ in unpastable("```\nset sflow\nkamuee show sflow\n```")] == [2]
    assert [number for number, _ in unpastable("In `/etc/kamuee/kamuee.conf`:\n\n    set a b\n\nThen:\n\n    set a b\n")] == [7]
    assert not list(unpastable("```\ncat >x <<'END'\nset a b\nEND\nkamuee show port   # all\nr1[edit]# set a b\n```"))
    assert [number for number, _ in unpastable("    kamuee show port   all of them\n")] == [1]


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
