# SPDX-License-Identifier: BSD-3-Clause
"""Runs a command in a machine as if here: terminal, input, output and status are the caller's."""
from __future__ import annotations

import base64
import json
import os
import select
import shutil
import signal
import socket
import sys
import termios
import threading
import tty

from kamuee.lab.vm.machine import Machine, VmError

ANSWER_S = 30


def execute(machine: Machine, argv: list[str], env: dict[str, str]) -> int:
    """The command's exit status."""
    terminal = sys.stdin.isatty() and sys.stdout.isatty()
    port = machine.connect_agent()
    mark = f"exec-{os.getpid()}"
    sending = threading.Lock()

    def tell(line: dict) -> None:
        with sending:
            port.sendall(json.dumps(line).encode() + b"\n")

    def size() -> list[int]:
        columns, rows = shutil.get_terminal_size()
        return [rows, columns]

    tell({"id": mark, "exec": argv, "tty": terminal, "size": size(), "env": env})
    lines = Lines(port, mark)
    if lines.next(ANSWER_S) is None:
        raise VmError(f"{machine.name}: the machine does not answer within {ANSWER_S} s; its console: "
                      f"{machine.console}")
    before = termios.tcgetattr(0) if terminal else None
    try:
        if terminal:
            tty.setraw(0)
            signal.signal(signal.SIGWINCH, lambda _signal, _frame:
                          threading.Thread(target=tell, args=({"size": size()},)).start())
        threading.Thread(target=pump, args=(tell,), daemon=True).start()
        while (line := lines.next()) is not None:
            if "rc" in line:
                return line["rc"]
            for word, stream in (("out", sys.stdout), ("err", sys.stderr)):
                if word in line:
                    stream.buffer.write(base64.b64decode(line[word]))
                    stream.buffer.flush()
        why = "the agent in the machine was restarted" if machine.runs() else "the machine has stopped"
        raise VmError(f"{machine.name}: {why}; its console: {machine.console}")
    finally:
        if before:
            termios.tcsetattr(0, termios.TCSADRAIN, before)


def pump(tell) -> None:
    """Standard input, until it ends."""
    data = b"-"
    while data:
        try:
            data = os.read(0, 1 << 14)
        except OSError:
            data = b""
        try:
            tell({"in": base64.b64encode(data).decode()})
        except OSError:
            return                                  # the machine has stopped


class Lines:
    """The agent's answer to the request `mark`."""

    def __init__(self, port: socket.socket, mark: str):
        self.port, self.mark, self.received, self.answered = port, mark, b"", False

    def next(self, timeout_s: float | None = None) -> dict | None:
        """None: nothing within this time, or the end."""
        while True:
            line, end, rest = self.received.partition(b"\n")
            if not end:
                if not select.select([self.port], [], [], timeout_s)[0]:
                    return None
                try:
                    data = self.port.recv(1 << 16)
                except OSError:
                    data = b""
                if not data:
                    return None
                self.received += data
                continue
            self.received = rest
            try:
                found = json.loads(line)
            except ValueError:                      # the rest of an answer to somebody before
                continue
            if "began" in found and self.answered:  # another agent runs, and the command of the one before has ended
                return None
            if found.get("id") == self.mark:
                self.answered = True
                return found
