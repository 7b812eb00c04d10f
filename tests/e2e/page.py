# SPDX-License-Identifier: BSD-3-Clause
"""What a page tells a reader to do: its indented blocks, in their order, each as printed.

A comment behind a command is what it prints ('…' stands for anything). `sudo` and `make` are left out, what needs a terminal prints one sample,
and what an `until` waited for must be so afterwards, too: a loop itself never fails.
"""
import re
import subprocess
from pathlib import Path

from support import eventually

ROOT = Path(__file__).resolve().parents[2]
PATIENCE_S = 30
FAILS = ("Net Unreachable", "100% packet loss")  # said by a ping that is meant to fail


def command_of(line: str) -> tuple[str, str]:
    """(command, its comment)."""
    return re.fullmatch(r"(.*?)(?:\s+# (.*))?", line.strip().replace("sudo ", "")).groups(default="")


def shows(output: str, said: str) -> bool:
    """Whether the output has the text of the comment; blanks between words do not count, and "0%" is not in "100%"."""
    pattern = r"\s+".join(re.escape(word) for word in said.replace("…", " ").split())
    return re.search(rf"(?<![\w.]){pattern}", output) is not None


def blocks(page: str, begin: str = "", end: str = "") -> list[tuple[str, list[str]]]:
    """(kind, lines) of each indented block: 'kamuee.conf', 'daemons', 'vtysh', or 'shell'; between the texts `begin` and `end`."""
    found: list[tuple[str, list[str]]] = []
    said, before = "", ""
    text = (ROOT / page).read_text(encoding="utf-8")
    assert begin in text and end in text
    for line in text[text.index(begin):text.index(end) if end else None].split("\n"):
        if not line.startswith("    "):
            said = f"{said} {line}" if before and not before.startswith("    ") else line or said   # the paragraph in front
        elif before.startswith("    "):
            found[-1][1].append(line[4:])
        else:
            kind = re.search(r"(kamuee\.conf|/etc/frr/daemons|tenant\.template|(?:kamuee vr enter \w+ )?vtysh)`", said)
            found.append((kind[1].rpartition("/")[2] if kind else "shell", [line[4:]]))
            said = ""
        before = line
    return found


def commands(page: str) -> list[tuple[str, str]]:
    """All commands of a page, each with its comment."""
    found = [command_of(line) for line in (ROOT / page).read_text(encoding="utf-8").split("\n") if line.startswith("    ")]
    return [(command, said) for command, said in found if not command.startswith("make ")]


def run_once(command: str) -> subprocess.CompletedProcess:
    return subprocess.run(command, shell=True, cwd=ROOT, capture_output=True, text=True, timeout=300)


def run_as_printed(command: str, said: str) -> None:
    """Here, in the checkout."""
    if command.endswith("kamuee monitor"):
        command += " --once"
    done = run_once(command)
    if waited_for := re.match(r"until (.*?); do ", command):
        done = run_once(waited_for[1])
    ended_well = (done.returncode == 0) is not any(sign in said for sign in FAILS)
    assert ended_well and shows(done.stdout, said), f"{command}: {done.returncode}, wanted {said!r}\n{done.stdout}{done.stderr}"


class Reader:
    """Who follows a page on a machine that can `shell` and `write`."""
    patience_s = PATIENCE_S

    def shell(self, command: str, check: bool = True, text: str | None = None) -> subprocess.CompletedProcess:
        raise NotImplementedError

    def write(self, kind: str, lines: list[str]) -> None:
        """A file of the page: 'kamuee.conf', 'daemons', 'tenant.template'."""
        raise NotImplementedError

    def vtysh(self, config: str, command: str = "vtysh") -> None:
        said = self.shell(command, text=f"configure terminal\n{config}\nend\n").stdout
        assert "%" not in said, said

    def follow(self, page: str, begin: str = "", end: str = "") -> None:
        for kind, lines in blocks(page, begin, end):
            if kind.endswith("vtysh"):
                self.vtysh("\n".join(lines), kind)
            elif kind != "shell":
                self.write(kind, lines)
            for line in filter(None, lines) if kind == "shell" else ():
                self.command(line)

    def command(self, line: str) -> None:
        """The expected output may take a moment: BGP."""
        command, said = command_of(line)
        if command.endswith("kamuee monitor"):
            command += " --once"
        if not command.startswith("kamuee show") and not command.startswith("vtysh"):
            done = self.shell(command, check=not command.startswith("kamuee doctor"))
            assert not said.startswith(("=>", "0 ")) or shows(done.stdout, said), f"{command}: wanted {said!r}\n{done.stdout}{done.stderr}"
        else:
            eventually(lambda: shows(self.shell(command).stdout, said), self.patience_s,
                       lambda: f"{command}: wanted {said!r}\n{self.shell(command).stdout}")
