# SPDX-License-Identifier: BSD-3-Clause
"""A pytest plugin for FRR's topotests (topotests.py starts pytest with it): writes down each result, and may give the routers a kamueed.

    EVIDENCE_RESULTS    file of the results, one JSON object per line
    EVIDENCE_KAMUEED    kamueed to run in each router's namespace; unset: the routers forward with Linux
    EVIDENCE_KAMUEE     the CLI that belongs to it
    EVIDENCE_TAGGER     source of the classifiers that put VLAN tags on and off

A topology is built by the suite's own code. Then each interface of a router is moved, with its name, to a namespace `wire` that
only the router's kamueed sees, and kamueed opens it there as a port of the same name: FRR and the test find a TAP in its place,
with its MAC address. A test that moves an interface to a network namespace of the router moves it to a virtual router.

Debian's DPDK has 32 ports. The interfaces beyond them share a port, the trunk, as vports: a bridge joins them to its other end, and
puts on and takes off their tags.
"""
import json
import os
import socket
import subprocess
import time
from functools import wraps
from pathlib import Path

import pytest

READY_TIMEOUT_S = 120
PORTS_MAX = 32
SOCKET = "/run/kamuee/kamuee.sock"      # each router has its own /run/kamuee
START = """
mkdir -p /run/kamuee
mount -t tmpfs tmpfs /run/kamuee
ip netns add wire
for port in $PORTS $SHARED; do ip link set "$port" netns wire; ip -n wire link set "$port" up; done
printf '%s\\n' "$CONFIGURATION" >/run/kamuee/kamuee.conf
if [ "$SHARED" ]; then
    ip netns exec wire sysctl -qw net.ipv6.conf.all.disable_ipv6=1
    ip -n wire link add trunk type veth peer name far
    ip -n wire link add switch type bridge mcast_snooping 0
    ip -n wire link set trunk up
    ip -n wire link set switch up
    vlan=0
    for port in far $SHARED; do
        ip -n wire link set "$port" master switch up
        ip -n wire link set "$port" type bridge_slave learning off      # several VLANs may lead to the same MAC address
        [ "$port" != far ] || continue
        vlan=$((vlan + 1))
        clang -O2 --target=bpf -DVLAN=$vlan -I/usr/include/$(uname -m)-linux-gnu -c "$EVIDENCE_TAGGER" -o /run/kamuee/tagger.o
        tc -n wire qdisc add dev "$port" clsact
        tc -n wire filter add dev "$port" ingress bpf da obj /run/kamuee/tagger.o sec tc/tag
        tc -n wire filter add dev "$port" egress bpf da obj /run/kamuee/tagger.o sec tc/untag
    done
fi
exec "$EVIDENCE_KAMUEED" --config /run/kamuee/kamuee.conf --run-dir /run/kamuee --state-dir /run/kamuee/state
"""


# --- results ---

def record(**values: object) -> None:
    with open(os.environ["EVIDENCE_RESULTS"], "a", encoding="utf-8") as results:
        results.write(json.dumps(values) + "\n")


def reason_of(report) -> str:
    if isinstance(report.longrepr, tuple):
        return report.longrepr[2].removeprefix("Skipped: ")
    crash = getattr(report.longrepr, "reprcrash", None)
    return crash.message if crash else str(report.longrepr)


def pytest_runtest_logreport(report) -> None:
    if report.when == "call" or not report.passed:
        record(test=report.nodeid, outcome=report.outcome, why="" if report.passed else reason_of(report))


def pytest_collectreport(report) -> None:
    if not report.passed:
        record(test=report.nodeid or "all", outcome=report.outcome, why=reason_of(report))


# --- kamueed in the routers ---

class Kamueed:
    """kamueed in the namespace of a router, a port for each of its interfaces."""

    def __init__(self, router):
        self.router = router
        self.ports = [link["ifname"] for link in json.loads(router.cmd_raises("ip -j link show type veth") or "[]")]
        self.log = Path(router.logdir) / f"{router.name}.kamueed.log"
        self.vrs: set[str] = set()
        own = self.ports if len(self.ports) <= PORTS_MAX else self.ports[:PORTS_MAX - 1]
        shared = self.ports[len(own):]
        lines = [f"set memory {max(128, 64 + 20 * len(self.ports))}", "set huge-pages never", "set forwarding idle powersave"]
        for port in own + ["trunk"] * bool(shared):
            lines += [f"set port {port} kernel-interface {port}", f"set port {port} namespace wire"]
        for vlan, port in enumerate(shared, 1):
            lines += [f"set vport {port} port trunk", f"set vport {port} vlan {vlan}"]
        router.cmd_raises("mount --make-shared /run/netns")     # kamueed sees the router's namespaces; zebra does not see `wire`
        notify = Path(router.logdir) / f"{router.name}.notify"
        notify.unlink(missing_ok=True)
        self.said = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self.said.bind(str(notify))
        self.said.settimeout(0.2)
        with open(self.log, "ab") as log:
            self.process = subprocess.Popen(
                self.argv("unshare", "--mount", "--propagation", "slave", "sh", "-euc", START),
                stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True,
                env={**os.environ, "NOTIFY_SOCKET": str(notify), "PORTS": " ".join(own), "SHARED": " ".join(shared), "CONFIGURATION": "\n".join(lines)})

    def argv(self, *command: str) -> list[str]:
        return ["nsenter", "--all", "--no-fork", f"--target={self.router.pid}", "--wd=/", "--", *command]

    def wait_ready(self) -> None:
        end = time.monotonic() + READY_TIMEOUT_S
        while True:
            try:
                if b"READY=1" in self.said.recv(4096):
                    return
            except TimeoutError:
                pass
            if self.process.poll() is not None or time.monotonic() > end:
                raise RuntimeError(f"kamueed of {self.router.name} did not start: {self.log.read_text(errors='replace')[-2000:]}")

    def kamuee(self, *words: str) -> subprocess.CompletedProcess:
        # In kamueed's mounts, where its socket is.
        return subprocess.run(["nsenter", "--mount", "--net", f"--target={self.process.pid}", "--wd=/", "--",
                               os.environ["EVIDENCE_KAMUEE"], "--socket", SOCKET, *words], capture_output=True, text=True, timeout=60)

    def move(self, port: str, namespace: str | None) -> None:
        """The port to the virtual router of a network namespace, which is made; None: back."""
        if namespace and namespace not in self.vrs:
            self.change("set", "vr", namespace, "namespace", namespace)
            self.vrs.add(namespace)
        self.change(*(("set", "interface", port, "vr", namespace) if namespace else ("delete", "interface", port, "vr")))

    def change(self, *words: str) -> None:
        done = self.kamuee(*words)
        if done.returncode:
            raise RuntimeError(f"kamueed of {self.router.name} refused '{' '.join(words)}': {done.stdout}{done.stderr}")

    def judge(self) -> str:
        """Whether kamueed still runs, and forwards by the kernel's tables."""
        if self.process.poll() is not None:
            return f"ended with status {self.process.returncode}"
        audit = self.kamuee("audit")
        return "" if not audit.returncode else f"audit: {audit.stdout.strip()} {audit.stderr.strip()}".strip()

    def stop(self) -> None:
        self.process.kill()
        self.process.wait()
        self.said.close()


running: dict[object, Kamueed] = {}    # by the suite's router


def around(owner: type, name: str):
    """Replaces a method by a function that gets the method first."""
    def replace(function):
        method = getattr(owner, name)

        @wraps(method)
        def replaced(*arguments, **named):
            return function(method, *arguments, **named)
        setattr(owner, name, replaced)
        return function
    return replace


@pytest.hookimpl(tryfirst=True)
def pytest_configure() -> None:
    """The suite's conftest.py has made its modules importable."""
    from lib import topotest
    if not Path("/proc/modules").exists():      # a kernel without modules, which the suite does not expect
        topotest.module_present_linux = lambda module, load: False
    if "EVIDENCE_KAMUEED" not in os.environ:
        return
    from lib.micronet_compat import Mininet
    from lib.topogen import Topogen
    from lib.topotest import Router

    @around(Mininet, "configure_hosts")
    def start(method, net):
        method(net)
        started = [router for router in net.hosts.values() if isinstance(router, Router) and router not in running]
        for router in started:
            running[router] = Kamueed(router)
        for router in started:
            running[router].wait_ready()

    @around(Topogen, "stop_topology")
    def judge(method, topology, *arguments):
        for kamueed in running.values():
            record(router=f"{topology.modname} {kamueed.router.name}", found=kamueed.judge())
        return method(topology, *arguments)

    @around(Mininet, "stop")
    def stop(method, net):
        for router in net.hosts.values():
            if router in running:
                running.pop(router).stop()
        return method(net)

    @around(Router, "set_intf_netns")
    def move(method, router, interface, namespace, up=False):
        kamueed = running.get(router)
        if not kamueed or interface not in kamueed.ports:
            return method(router, interface, namespace, up)
        back = str(namespace) in ("1", str(router.pid))
        kamueed.move(interface, None if back else namespace)
        router.ifnetns.pop(interface, None)
        if not back:
            router.ifnetns[interface] = namespace
        if up:
            router.intf_ip_cmd(interface, "ip link set {} up")
        return None
