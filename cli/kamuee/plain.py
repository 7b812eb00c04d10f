# SPDX-License-Identifier: BSD-3-Clause
r"""Text of others on its way to a person: names, descriptions, messages.

A terminal obeys control characters, and a program that reads lines may end one where another did not. So they are
shown as \u001b, which in JSON means the same. The characters are those of src/base/plain.h. A line ends at "\n" only.
"""
from __future__ import annotations

import re
from typing import Any

ODD = re.compile("[\x00-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")


def is_plain(text: str) -> bool:
    return not ODD.search(text)


def shown(text: str) -> str:
    """The text on one line, without anything that a terminal would execute."""
    return text if text.isascii() and text.isprintable() else ODD.sub(lambda found: f"\\u{ord(found[0]):04x}", text)


def line(text: str) -> str:
    """A printable line; tabs are kept."""
    return "\t".join(map(shown, text.split("\t"))) if "\t" in text else shown(text)


def text(text: str) -> str:
    """Our own text of several lines."""
    return "\n".join(map(line, text.split("\n")))


def data(value: Any) -> Any:
    """The value with all its texts made printable."""
    if isinstance(value, str):
        return shown(value)
    if isinstance(value, dict):
        return {shown(name): data(inner) for name, inner in value.items()}
    return [data(inner) for inner in value] if isinstance(value, list) else value


def lines(text: str) -> list[str]:
    """The lines of a text. Python has str.splitlines, which ends them at eight other characters, too."""
    found = text.split("\n")
    return found[:-1] if found[-1] == "" else found
