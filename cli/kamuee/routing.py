# SPDX-License-Identifier: BSD-3-Clause
"""The routing daemon of one virtual router: the only place that knows how FRR and BIRD are started for one.

    FRR   /usr/lib/frr/frrinit.sh start NAME   pathspace NAME: /etc/frr/NAME, /var/run/frr/NAME; watchfrr starts again what dies
    BIRD  bird -c /etc/bird/NAME.conf -s /run/bird/NAME.ctl -P /run/bird/NAME.pid

inside the network namespace. systemd's units (deploy/) call this through `kamuee vr daemon start NAME`; without
systemd `kamuee vr start NAME` does it itself. A configuration is made where there is none, and never changed.
"""
from __future__ import annotations

import grp
import os
import pwd
import shutil
import signal
import subprocess
import tempfile
import time
from pathlib import Path

from kamuee.errors import KamueeError

PATIENCE_S = 30
SYSTEMD = Path("/run/systemd/system")
UNITS = tuple(Path(place) for place in ("/etc/systemd/system", "/usr/local/lib/systemd/system", "/usr/lib/systemd/system", "/lib/systemd/system"))
FRR_CONFIG, FRR_RUN, FRR_INIT = Path("/etc/frr"), Path("/var/run/frr"), Path("/usr/lib/frr/frrinit.sh")
BIRD_CONFIG, BIRD_RUN = Path("/etc/bird"), Path("/run/bird")
# A full table that goes with its link makes more announcements at once than 90 MB hold; zebra does not
# recover from lost ones.
NETLINK_BUFFER_BYTES = 500_000_000

FRR_DAEMONS = """# Which of FRR's daemons run for virtual router {name}; zebra and staticd always do.
bgpd=yes
ospfd=no
ospf6d=no
isisd=no
bfdd=no
vtysh_enable=yes
zebra_options="  -A 127.0.0.1 -s 90000000"
bgpd_options="   -A 127.0.0.1"
"""
FRR_CONF = "frr defaults traditional\nhostname {name}\n"
BIRD_CONF = """# BIRD of virtual router {name}
log syslog all;
router id 127.0.0.1; # one of yours
protocol device {{ }}
protocol kernel {{ ipv4 {{ import none; export all; }}; }}
protocol kernel {{ ipv6 {{ import none; export all; }}; }}
"""


def running(pid_file: Path) -> int | None:
    """The process in a pid file, unless it has ended."""
    try:
        pid = int(pid_file.read_text())
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except (OSError, ValueError, IndexError):
        return None
    return None if state in "ZX" else pid


def run(argv: list[str], what: str) -> None:
    with tempfile.TemporaryFile("w+", errors="replace") as said:    # not a pipe: FRR 10's daemons never close it
        try:
            done = subprocess.run(argv, stdout=said, stderr=said, timeout=180, stdin=subprocess.DEVNULL)
        except FileNotFoundError as error:
            raise KamueeError(f"{error.filename} is not installed") from None
        except subprocess.TimeoutExpired:
            raise KamueeError(f"{what}: not within 180 s") from None
        said.seek(0)
        if done.returncode:
            raise KamueeError(f"{what}: {said.read().strip()[-600:] or f'status {done.returncode}'}")


def new_file(path: Path, text: str, user: str, mode: int = 0o640) -> None:
    """Completely or not at all, and never replacing another file."""
    if path.exists():
        return
    new = path.with_name(path.name + ".new")
    new.write_text(text, encoding="utf-8")
    new.chmod(mode)
    give(new, user)
    new.replace(path)


def give(path: Path, user: str) -> None:
    try:
        os.chown(path, pwd.getpwnam(user).pw_uid, grp.getgrnam(user).gr_gid)
    except KeyError:
        pass    # no such user: root's


class Frr:
    kind = "frr"

    def __init__(self, name: str) -> None:
        self.name, self.config, self.run = name, FRR_CONFIG / name, FRR_RUN / name

    def check(self) -> None:
        if not FRR_INIT.exists():
            raise KamueeError("FRR is not installed: apt install frr")

    def prepare(self) -> None:
        self.config.mkdir(parents=True, exist_ok=True)
        give(self.config, "frr")
        for file, text in (("daemons", FRR_DAEMONS), ("frr.conf", FRR_CONF), ("vtysh.conf", "service integrated-vtysh-config\n")):
            new_file(self.config / file, text.format(name=self.name), "frr")

    def start(self, prefix: list[str]) -> None:
        started = self.run / "watchfrr.started"     # watchfrr makes it when all run and have their configuration
        started.unlink(missing_ok=True)
        run([*prefix, str(FRR_INIT), "start", self.name], f"FRR of virtual router {self.name} does not start")
        end = time.monotonic() + PATIENCE_S
        while not started.exists():
            if time.monotonic() > end:
                raise KamueeError(f"FRR of virtual router {self.name} does not start: see its log (journalctl -t watchfrr) and {self.config}")
            time.sleep(0.05)

    def stop(self) -> None:
        if self.pids():
            run([str(FRR_INIT), "stop", self.name], f"FRR of virtual router {self.name} does not stop")
        shutil.rmtree(self.run, ignore_errors=True)

    def pids(self) -> dict[str, int]:
        return {file.stem: pid for file in sorted(self.run.glob("*.pid")) if (pid := running(file))}

    def move(self, name: str) -> None:
        """Moves its configuration to another name; an existing one is kept."""
        if self.config.is_dir() and not (FRR_CONFIG / name).exists():
            self.config.rename(FRR_CONFIG / name)

    def inside(self) -> dict[str, str]:
        return {"pathspace": self.name}


class Bird:
    kind = "bird"

    def __init__(self, name: str) -> None:
        self.name, self.config = name, BIRD_CONFIG / f"{name}.conf"
        self.control, self.pid_file = BIRD_RUN / f"{name}.ctl", BIRD_RUN / f"{name}.pid"

    def check(self) -> None:
        if shutil.which("bird", path=f"{os.environ.get('PATH', '')}:/usr/sbin:/sbin") is None:
            raise KamueeError("BIRD is not installed: apt install bird2")

    def prepare(self) -> None:
        for directory in (BIRD_CONFIG, BIRD_RUN):
            directory.mkdir(parents=True, exist_ok=True)
        give(BIRD_RUN, "bird")
        new_file(self.config, BIRD_CONF.format(name=self.name), "bird")

    def start(self, prefix: list[str]) -> None:
        run([*prefix, "bird", "-c", str(self.config), "-s", str(self.control), "-P", str(self.pid_file)],
            f"BIRD of virtual router {self.name} does not start")

    def stop(self) -> None:
        pid = running(self.pid_file)
        if pid is not None:
            os.kill(pid, signal.SIGTERM)
        end = time.monotonic() + PATIENCE_S
        while running(self.pid_file) is not None:
            if time.monotonic() > end:
                raise KamueeError(f"BIRD of virtual router {self.name} (process {pid}) does not stop")
            time.sleep(0.05)
        for file in (self.control, self.pid_file):
            file.unlink(missing_ok=True)

    def pids(self) -> dict[str, int]:
        pid = running(self.pid_file)
        return {"bird": pid} if pid else {}

    def move(self, name: str) -> None:
        if self.config.exists() and not (BIRD_CONFIG / f"{name}.conf").exists():
            self.config.rename(BIRD_CONFIG / f"{name}.conf")

    def inside(self) -> dict[str, str]:
        return {"bird": str(self.control)}


KINDS = {kind.kind: kind for kind in (Frr, Bird)}


def of(router: dict) -> Frr | Bird | None:
    """The daemon of a virtual router in the state; None: it has none of its own."""
    kind = KINDS.get(router.get("routing-daemon", "none"))
    return kind(router["name"]) if kind else None


def unit(daemon: Frr | Bird) -> str | None:
    """systemd's unit, if systemd runs here and has it."""
    name = f"kamuee-{daemon.kind}@"
    there = SYSTEMD.is_dir() and any((place / f"{name}.service").exists() for place in UNITS)
    return f"{name}{daemon.name}.service" if there else None


def is_elsewhere(daemon: Frr | Bird, prefix: list[str]) -> bool:
    """Whether it runs in the namespace of an earlier virtual router of that name."""
    try:
        wanted = os.stat(prefix[1].partition("=")[2] if prefix else "/proc/self/ns/net").st_ino
        return any(os.stat(f"/proc/{pid}/ns/net").st_ino != wanted for pid in daemon.pids().values())
    except OSError:
        return False


def start_here(daemon: Frr | Bird, prefix: list[str]) -> None:
    """Starts it, unless it runs. `prefix` enters its namespace."""
    daemon.check()
    daemon.prepare()
    if is_elsewhere(daemon, prefix):
        daemon.stop()
    if not daemon.pids():
        daemon.start(prefix)


def start(daemon: Frr | Bird, prefix: list[str]) -> None:
    """By systemd if it runs: it also starts the daemon after a boot."""
    daemon.check()
    if name := unit(daemon):
        if is_elsewhere(daemon, prefix):
            run(["systemctl", "stop", name], f"systemctl stop {name}")
        run(["systemctl", "enable", "--now", name], f"systemctl enable --now {name}")
    else:
        start_here(daemon, prefix)


def stop(daemon: Frr | Bird) -> None:
    if name := unit(daemon):
        run(["systemctl", "disable", "--now", name], f"systemctl disable --now {name}")
    daemon.stop()
