# SPDX-License-Identifier: BSD-3-Clause
"""Reads one long JSON array row by row while it arrives.

A full table is 900,000 objects, 200 MB of text, in one object that nests one long array. `rows` finds the array named
`member` and decodes one element after the other, holding no more than a block and a row.
"""
from __future__ import annotations

import codecs
import json
import re
from collections.abc import Iterable, Iterator
from typing import Any

LONGEST_ROW = 1 << 20
GAP = re.compile(r"[\s,]*")


class Broken(Exception):
    """The text is not JSON, or it ended too early."""


def rows(blocks: Iterable[bytes], member: str, raw: bool = False) -> Iterator[Any]:
    """The elements of the first array named `member`; none when there is no such array.

    With `raw` each is its text as it came, checked to be JSON; else what the text means.
    """
    text = texts(blocks)
    begin = re.compile(rf'"{re.escape(member)}"\s*:\s*\[')
    head = ""
    for piece in text:
        head += piece
        if found := begin.search(head):
            yield from elements(head[found.end():], text, raw)
            for _rest in text:
                pass
            return
        if len(head) > LONGEST_ROW:
            raise Broken(f"expected an array {member}")
    try:
        json.loads(head)
    except ValueError as error:
        raise Broken(str(error)) from None


def elements(held: str, text: Iterator[str], raw: bool) -> Iterator[Any]:
    """The elements up to the array's closing bracket; `held` is the text read after its opening one."""
    decode = json.JSONDecoder().raw_decode
    skip = GAP.match
    at = 0
    while True:
        at = skip(held, at).end()
        if at < len(held):
            if held[at] == "]":
                return
            try:
                row, end = decode(held, at)
            except ValueError as error:
                if len(held) - at > LONGEST_ROW:
                    raise Broken(str(error)) from None
            else:
                yield held[at:end] if raw else row
                at = end
                continue
        more = next(text, None)
        if more is None:
            raise Broken("the answer ended in the middle of a row")
        held, at = held[at:] + more, 0


def texts(blocks: Iterable[bytes]) -> Iterator[str]:
    decoder = codecs.getincrementaldecoder("utf-8")("replace")
    for block in blocks:
        yield decoder.decode(block)
