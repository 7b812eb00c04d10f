# SPDX-License-Identifier: BSD-3-Clause
"""The parts of a lab, on disk, so that anyone can take it down at any time.

A lab's directory is made, and lab.json in it written and synced, before the first namespace is created:
it lists every namespace and every FRR pathspace the lab is going to have. So `kamuee lab stop` needs
neither the process that started the lab nor the YAML file, and works after kill -9 in the middle of a
start. Processes need no list: those of a lab are those that live in its namespaces.
"""
import json
import os
import shutil
import time
from dataclasses import asdict, dataclass, field
from pathlib import Path

from kamuee.lab import frr
from kamuee.lab.errors import LabError
from kamuee.lab.netns import Namespace, is_running, stop_processes

STARTING, RUNNING = "starting", "running"


def base_dir() -> Path:
    return Path(os.environ.get("KAMUEE_LAB_DIR", "/run/kamuee-lab"))


def cache_dir() -> Path:
    """Compiled classifiers; a name that no lab can have."""
    return base_dir() / ".cache"


@dataclass
class State:
    name: str
    file: str
    state: str = STARTING
    pid: int = 0
    started: float = 0.0
    namespaces: list[str] = field(default_factory=list)
    pathspaces: list[str] = field(default_factory=list)

    @property
    def dir(self) -> Path:
        return base_dir() / self.name

    def create(self, spec_text: str) -> None:
        """Claim the name and write everything down; LabError if the lab exists."""
        self.pid, self.started = os.getpid(), time.time()
        base_dir().mkdir(parents=True, exist_ok=True)
        try:
            self.dir.mkdir()
        except FileExistsError:
            raise LabError(f"lab {self.name} already exists: stop it (kamuee lab stop {self.name}) or choose "
                           "another name with --name") from None
        self.save()
        (self.dir / "lab.yaml").write_text(spec_text)

    def save(self) -> None:
        part = self.dir / "lab.json.part"
        with open(part, "w", encoding="utf-8") as file:
            json.dump(asdict(self), file)
            file.flush()
            os.fsync(file.fileno())
        part.rename(self.dir / "lab.json")

    def condition(self) -> str:
        """'running', 'starting', or 'interrupted': the start was killed half way."""
        if self.state == STARTING and not is_running(self.pid):
            return "interrupted"
        return self.state

    def remove(self) -> None:
        """Takes down everything of the lab. Having nothing to do is no error, so it can be repeated."""
        if self.condition() == STARTING and self.pid != os.getpid():
            stop_processes([self.pid])
        namespaces = [Namespace(name) for name in self.namespaces]
        for _ in range(5):                        # a process may have been forking meanwhile
            pids = [pid for namespace in namespaces if namespace.exists() for pid in namespace.pids()]
            if not pids:
                break
            stop_processes(pids)
        for namespace in namespaces:
            namespace.delete()
        for pathspace in self.pathspaces:
            frr.remove_directories(pathspace)
        if self.pathspaces:
            frr.remove_shared_files()
        shutil.rmtree(self.dir, ignore_errors=True)


def names() -> list[str]:
    """All labs, running or not."""
    if not base_dir().is_dir():
        return []
    return sorted(path.name for path in base_dir().iterdir() if path.is_dir() and path.name[0] != ".")


def load(name: str) -> State:
    path = base_dir() / name / "lab.json"
    try:
        return State(**json.loads(path.read_text(encoding="utf-8")))
    except FileNotFoundError:
        there = ", ".join(names()) or "none"
        if path.parent.is_dir():
            # Killed between making the directory and writing the file: nothing else exists yet.
            return State(name, file="?")
        raise LabError(f"no lab {name}; there are: {there}") from None
