# SPDX-License-Identifier: BSD-3-Clause
"""Rules as columns (CSV): number, action, protocol, from, from-port, to, to-port, options."""
from __future__ import annotations

import csv
import io

from kamuee.acl_text import List, Refused

COLUMNS = ("number", "action", "protocol", "from", "from-port", "to", "to-port", "options")


def read(text: str, name: str) -> list[List]:
    rows = csv.reader(io.StringIO(text), skipinitialspace=True)
    found, head, wrong = List(name), None, []
    for row in rows:
        cells = [cell.strip() for cell in row]
        if not any(cells) or cells[0].startswith("#"):
            continue
        if head is None:
            head = cells
            if unknown := [cell for cell in cells if cell not in COLUMNS] or [c for c in COLUMNS[:3] if c not in cells]:
                raise Refused([f"line {rows.line_num}: column '{unknown[0]}': expected the columns "
                               f"{', '.join(COLUMNS)}, at least the first three"])
            continue
        by = dict(zip(head, cells))
        if len(cells) > len(head) or not by["number"].isdecimal():
            wrong.append(f"line {rows.line_num}: expected a number and at most {len(head)} cells")
            continue
        found.add(words_of(by), int(by["number"]))
    if wrong:
        raise Refused(wrong)
    return [found]


def words_of(by: dict[str, str]) -> str:
    words = [by["action"], by["protocol"]]
    for side in ("from", "to"):
        words += [side, by.get(side) or "any"]
        if by.get(f"{side}-port", "any") not in ("", "any"):
            words += ["port", by[f"{side}-port"]]
    return " ".join([*words, by.get("options", "")]).strip()


def write(lines: list[tuple[int, str]]) -> str:
    """Writes the daemon's rules as columns."""
    out = io.StringIO()
    rows = csv.writer(out, lineterminator="\n")
    rows.writerow(COLUMNS)
    for number, line in lines:
        rows.writerow([number, *cells(line.split(" "))])
    return out.getvalue()


def cells(words: list[str]) -> list[str]:
    found = dict.fromkeys(COLUMNS[1:], "")
    found["action"], found["protocol"] = words[:2]
    at = 2
    for side in ("from", "to"):
        if at < len(words) and words[at] == side:
            size = 2 if words[at + 1] == "set" else 1
            found[side] = " ".join(words[at + 1:at + 1 + size])
            at += 1 + size
            if words[at:at + 1] == ["port"]:
                found[f"{side}-port"] = words[at + 1]
                at += 2
    found["options"] = " ".join(words[at:])
    return list(found.values())
