# SPDX-License-Identifier: BSD-3-Clause
"""Reads yang/kamuee.yang: enough of YANG's grammar (RFC 7950, 6.3) to compare with it and to print it."""
import re
from pathlib import Path
from typing import NamedTuple

TOKEN = re.compile(r'''//[^\n]*|/\*.*?\*/|\s+|[{};]|"(?:\\.|[^"\\])*"|'[^']*'|(?:(?!//)[^\s;{}"'])+''', re.S)
NODES = ("container", "list", "leaf", "leaf-list", "rpc", "input", "output")
FILE = Path(__file__).resolve().parents[1] / "yang" / "kamuee.yang"


class Statement(NamedTuple):
    keyword: str
    argument: str
    inner: list

    def all(self, *keywords):
        return [statement for statement in self.inner if statement.keyword in keywords]

    def one(self, keyword, argument=None):
        found = [s for s in self.all(keyword) if argument in (None, s.argument)]
        return found[0] if found else None

    def at(self, path):
        """The node of this path of names."""
        node = self
        for name in path.split("/"):
            node = next(s for s in node.all(*NODES) if s.argument == name)
        return node

    def leaves(self, path=""):
        """(path, leaf) of every leaf below."""
        for node in self.all(*NODES):
            here = f"{path}/{node.argument}" if node.argument else path
            if node.keyword in ("leaf", "leaf-list"):
                yield here.lstrip("/"), node
            else:
                yield from node.leaves(here)


def module():
    text = FILE.read_text(encoding="utf-8")
    tokens = [t for t in TOKEN.findall(text) if not t.isspace() and not t.startswith(("//", "/*"))]
    assert "".join(TOKEN.findall(text)) == text, "the tokens are not the whole text"
    (found,), rest = block(tokens, 0)
    assert rest == len(tokens)
    return expanded(found, {grouping.argument: grouping.all(*NODES, "choice", "uses") for grouping in found.all("grouping")})


def expanded(node, groupings):
    """The node with what its groupings hold in place of each 'uses'."""
    inner = []
    for statement in node.inner:
        inner += groupings[statement.argument] if statement.keyword == "uses" else [statement]
    return Statement(node.keyword, node.argument, [expanded(statement, groupings) for statement in inner])


def block(tokens, at):
    statements = []
    while at < len(tokens) and tokens[at] != "}":
        keyword, at = tokens[at], at + 1
        words = []
        while tokens[at] not in "{;":
            words.append(tokens[at])
            at += 1
        argument = " ".join(unquoted(w) for w in words)
        inner = []
        if tokens[at] == "{":
            inner, at = block(tokens, at + 1)
            assert tokens[at] == "}"
        at += 1
        statements.append(Statement(keyword, argument, inner))
    return statements, at


def unquoted(word):
    return word[1:-1] if word[0] in "\"'" else word
