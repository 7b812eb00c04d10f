# SPDX-License-Identifier: BSD-3-Clause
"""Machines in which a reader follows a page by hand.

Each is a namespace, on veth pairs as `ip link add` makes them: with the kernel's default offloads at both ends, and no sysctl set. What
stands for the machine there is a folder of wrappers in front of PATH: `kamuee` and `vtysh` find the daemons of the namespace, `systemctl`
starts them with the files that the page has written, `make` has been done.
"""
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from kamuee.lab.frr import BINARIES, CONFIG_DIR, RUN_DIR, first_daemons
from kamuee.lab.kamueenode import find_kamueed
from kamuee.lab.netns import stop_processes
from page import ROOT, Reader

SYSTEMCTL = """#!/bin/sh
case "$*" in
*kamueed*)
    setsid {kamueed} --config {etc}/kamuee.conf --run-dir {run} --memory 256 --no-huge > {run}/log 2>&1 < /dev/null &
    for i in $(seq 300); do [ -S {run}/kamuee.sock ] && kamuee show version > {run}/version && exit 0; sleep 0.1; done
    cat {run}/log; exit 1 ;;
*frr*)
    . {etc}/daemons
    for daemon in {first} staticd bgpd $([ "$bfdd" != yes ] || echo bfdd); do
        options=; [ $daemon != zebra ] || options=$zebra_options
        {frr}/$daemon -d -N {name} -P 0 $options >{run}/frr 2>&1 </dev/null || {{ cat {run}/frr; exit 1; }}
    done ;;
esac
"""


class Machine(Reader):
    """A namespace with kernel interfaces as they come, in which a page is followed."""

    def __init__(self, name: str, router: bool):
        self.name, self.folder = name, Path(tempfile.mkdtemp(prefix=f"{name}-"))    # short: a socket's path has 107 letters
        self.etc, self.run, self.bin = self.folder / "etc", self.folder / "run", self.folder / "bin"
        for directory in (self.etc, self.run, self.bin, RUN_DIR / name, CONFIG_DIR / name):
            directory.mkdir(parents=True)
        for directory in (RUN_DIR / name, CONFIG_DIR / name):
            shutil.chown(directory, "frr", "frr")
        subprocess.run(["ip", "netns", "add", name], check=True)
        self.shell("ip link set lo up")
        self.wrapper("vtysh", f'#!/bin/sh\nexec /usr/bin/vtysh -N {name} "$@"\n')
        self.wrapper("make", "#!/bin/sh\n")
        self.wrapper("kamuee", f'#!/bin/sh\nexec {ROOT}/kamuee --socket {self.run}/kamuee.sock "$@"\n')
        self.wrapper("systemctl", SYSTEMCTL.format(kamueed=find_kamueed() if router else "", etc=self.etc, run=self.run, frr=BINARIES,
                                                   first=" ".join(first_daemons()), name=name))

    def wrapper(self, word: str, text: str) -> None:
        (self.bin / word).write_text(text)
        (self.bin / word).chmod(0o755)

    def shell(self, command: str, check: bool = True, text: str | None = None, timeout_s: float = 120) -> subprocess.CompletedProcess:
        done = subprocess.run(["nsenter", f"--net=/run/netns/{self.name}", "sh", "-c", command], input=text, text=True, capture_output=True,
                              timeout=timeout_s, cwd=self.etc, env={**os.environ, "PATH": f"{self.bin}:{os.environ['PATH']}"})
        assert not check or done.returncode == 0, f"{command}: {done.returncode}\n{done.stdout}{done.stderr}"
        return done

    def write(self, kind: str, lines: list[str]) -> None:
        (self.etc / kind).write_text("\n".join(lines) + "\n")

    def speaks_bgp(self, config: str, daemons: str = "") -> None:
        """A far end: FRR with this configuration."""
        (self.etc / "daemons").write_text(daemons)
        self.shell("systemctl start frr")
        self.vtysh(config)

    def end(self) -> None:
        stop_processes([int(pid) for pid in subprocess.run(["ip", "netns", "pids", self.name], capture_output=True, text=True).stdout.split()])
        subprocess.run(["ip", "netns", "del", self.name])
        for directory in (RUN_DIR / self.name, CONFIG_DIR / self.name, self.folder):
            shutil.rmtree(directory, ignore_errors=True)


def cable(router: Machine, interface: str, far: Machine, *addresses: str) -> None:
    """As `ip link add` makes it."""
    subprocess.run(["ip", "link", "add", interface, "netns", router.name, "type", "veth", "peer", "name", "eth0", "netns", far.name], check=True)
    router.shell(f"ip link set {interface} up")
    far.shell("ip link set eth0 up")
    for address in addresses:
        far.shell(f"ip addr add {address} dev eth0")


def carries_tcp(here: Machine, far: Machine, address: str, size: int = 1_000_000, patience_s: float = 60) -> None:
    """A transfer with segments as large as the kernels like."""
    sink = subprocess.Popen(["nsenter", f"--net=/run/netns/{far.name}", sys.executable, "-c",
                             "import socket\ns = socket.create_server(('', 7007))\nprint(flush=True)\nc = s.accept()[0]\nn = 0\n"
                             "while (b := c.recv(1 << 16)): n += len(b)\nprint(n, flush=True)"], stdout=subprocess.PIPE, text=True)
    sink.stdout.readline()
    try:
        source = f"import socket; s = socket.create_connection(('{address}', 7007), {patience_s}); s.sendall(bytes({size}))"
        here.shell(f'{sys.executable} -c "{source}"', timeout_s=patience_s)
        assert int(sink.communicate(timeout=patience_s)[0]) == size
    finally:
        sink.kill()
