# SPDX-License-Identifier: BSD-3-Clause
"""The OCI image in a container: interfaces that come after its start become ports, and it forwards between them."""
import json
import re
from collections.abc import Iterator

import pytest

from container import Container, Image, cable, eventually, run

NAMESPACES = ("kpkg", "kpkg-left", "kpkg-right")
CONTAINER, LEFT, RIGHT = NAMESPACES


@pytest.fixture(scope="module")
def container(image: Image) -> Iterator[Container]:
    for name in (LEFT, RIGHT):
        run("ip", "netns", "add", name)
        run("ip", "-n", name, "link", "set", "lo", "up")
    made = Container(image, CONTAINER)
    try:
        took = eventually("kamueed answers", made.answers)
        print(f"kamueed answers after {took:.1f} s")
        yield made
    finally:
        made.remove()
        for name in (LEFT, RIGHT):
            run("ip", "netns", "del", name)


def test_interfaces_that_come_later_become_ports(container: Container):
    assert container.ports() == {}
    for host, interface in ((LEFT, "eth1"), (RIGHT, "eth2")):
        cable(host, "eth0", CONTAINER, interface)
    eventually("both ports are up", lambda: container.ports() == {"eth1": "up", "eth2": "up"})
    config = container.exec("kamuee", "show", "configuration").stdout
    assert "set port eth1 kernel-interface wire1" in config


def test_it_forwards(container: Container):
    for host, interface, net in ((LEFT, "eth1", "10.9.1"), (RIGHT, "eth2", "10.9.2")):
        container.exec("ip", "address", "add", f"{net}.1/24", "dev", interface)
        run("ip", "-n", host, "address", "add", f"{net}.2/24", "dev", "eth0")
        run("ip", "-n", host, "route", "add", "default", "via", f"{net}.1")
    eventually("a ping crosses", lambda: run("ip", "netns", "exec", LEFT, "ping", "-c1", "-W1", "10.9.2.2", check=False).returncode == 0, 30)
    sent = run("ip", "netns", "exec", LEFT, "ping", "-c20", "-i0.02", "10.9.2.2").stdout
    assert "20 received" in sent


def test_it_says_what_it_is(container: Container):
    found = json.loads(container.exec("kamuee", "--json", "show", "version").stdout)
    assert re.fullmatch(r"[0-9a-f]{40}(-dirty)?", found["commit"]) and found["build"].startswith("release") and found["libyang-version"]
    assert found["version"] == found["cli-version"]


def test_frr_runs(container: Container):
    eventually("bgpd runs", lambda: "bgpd" in container.exec("vtysh", "-c", "show daemons", check=False).stdout)


def test_sigterm_ends_it_in_order(container: Container):
    container.kill("TERM")
    assert container.process.wait(30) == 0
    left = run("ip", "-n", CONTAINER, "-br", "link").stdout
    assert "eth1@" in left and "eth2@" in left and "wire" not in left      # as they were given


@pytest.mark.parametrize("lacks", ["NET_ADMIN", "NET_RAW"])
def test_a_missing_capability_is_named(image: Image, lacks: str):
    """Each is needed: without it kamueed does not start, or takes no port, and the container's log says which one it is."""
    made = Container(image, f"kpkg-{lacks.lower().replace('_', '-')}", lacks=lacks)
    try:
        run("ip", "netns", "add", f"{made.name}-x")
        cable(f"{made.name}-x", "eth0", made.name, "eth1")
        eventually(f"CAP_{lacks} is named", lambda: f"CAP_{lacks}" in made.log.read_text())
        assert made.ports().get("eth1") != "up"
    finally:
        made.remove()
        run("ip", "netns", "del", f"{made.name}-x")
