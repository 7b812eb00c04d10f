# SPDX-License-Identifier: BSD-3-Clause
"""The host as /sys and /proc show it, or a recorded copy of them under another root.

Remembers everything that is read, so that `doctor --record` can save exactly the files behind the findings.
"""
from __future__ import annotations

import io
import os
import subprocess
import tarfile
from pathlib import Path


def cores_of(text: str | None) -> list[int]:
    """The kernel's list of cores: '0-3,8' is [0, 1, 2, 3, 8]."""
    found: list[int] = []
    for part in (text or "").strip().split(","):
        first, dash, last = part.partition("-")
        if first.isdigit() and (not dash or last.isdigit()):
            found += range(int(first), int(last or first) + 1)
    return found


def list_of(cores: list[int]) -> str:
    """The reverse."""
    parts: list[list[int]] = []
    for core in sorted(cores):
        if parts and core == parts[-1][1] + 1:
            parts[-1][1] = core
        else:
            parts.append([core, core])
    return ",".join(f"{a}" if a == b else f"{a}-{b}" for a, b in parts)


class Host:
    def __init__(self, root: str = "/"):
        self.root = Path(root)
        self.live = self.root == Path("/")
        self.seen: dict[str, bytes | str] = {}  # path: content of a file, target of a link

    def at(self, path: str) -> Path:
        return self.root / path.lstrip("/")

    def bytes(self, path: str, size: int = 1 << 16) -> bytes | None:
        """The beginning of a file; None: it is missing or unreadable."""
        try:
            with open(self.at(path), "rb") as file:
                found = file.read(size)
        except OSError:
            return None
        self.seen[path] = found
        return found

    def text(self, path: str) -> str | None:
        found = self.bytes(path)
        return None if found is None else found.decode(errors="replace").strip()

    def number(self, path: str) -> int | None:
        try:
            return int(self.text(path) or "")
        except ValueError:
            return None

    def names(self, path: str) -> list[str]:
        """The contents of a folder, sorted."""
        try:
            return sorted(os.listdir(self.at(path)))
        except OSError:
            return []

    def link(self, path: str) -> str | None:
        """The last part of a symbolic link's target."""
        try:
            found = os.readlink(self.at(path))
        except OSError:
            return None
        self.seen[path] = found
        return os.path.basename(found)

    def exists(self, path: str) -> bool:
        found = self.at(path).exists()
        if found and self.at(path).is_dir():
            self.seen.setdefault(path.rstrip("/") + "/", b"")
        elif found:
            self.seen.setdefault(path, b"")
        return found

    def says(self, *command: str) -> str:
        """The output of a command; "" if it fails. Of a recorded machine: its output there."""
        path = "/.says/" + "_".join(command).replace("/", "%")
        if not self.live:
            return self.text(path) or ""
        try:
            found = subprocess.run(command, capture_output=True, timeout=30).stdout
        except (OSError, subprocess.TimeoutExpired):
            found = b""
        self.seen[path] = found
        return found.decode(errors="replace")

    def record(self, file: str) -> int:
        """Writes all text that was read as a tar archive; returns the number of entries."""
        with tarfile.open(file, "w:gz") as archive:
            for path, content in sorted(self.seen.items()):
                entry = tarfile.TarInfo(path.strip("/"))
                if path.endswith("/"):
                    entry.type, entry.mode = tarfile.DIRTYPE, 0o755
                elif isinstance(content, str):
                    entry.type, entry.linkname = tarfile.SYMTYPE, content
                else:
                    entry.size = len(content)
                archive.addfile(entry, io.BytesIO(content) if isinstance(content, bytes) and entry.size else None)
        return len(self.seen)
