# SPDX-License-Identifier: BSD-3-Clause
"""The kernel of Debian's backports: cards under vfio forward, and kernel state is followed as with Debian's own."""
import pytest

from router import eventually
from vm import pci

CARDS = ["e1000e", "virtio"]
KERNEL = "-newer"
NEWER_THAN = (6, 1)


@pytest.fixture(scope="module")
def up(router):
    """Bound by `kamuee device`: one card through driverctl, which lasts, one without it."""
    vm = router.vm
    said = vm.out(f"kamuee device bind {pci(0)}")
    assert f"{pci(0)} bound to vfio-pci\n" in said and "vfio-pci" in vm.out(f"cat /etc/driverctl.d/pci-{pci(0)}")
    interface = vm.out(f"ls /sys/bus/pci/devices/{pci(1)}/virtio*/net").strip()
    said = vm.out(f"mv /usr/sbin/driverctl /driverctl; kamuee device bind {interface}; mv /driverctl /usr/sbin/driverctl")
    assert f"{pci(1)} bound to vfio-pci until the next reboot" in said
    router.start([0, 1])
    return router


def test_the_kernel_is_a_newer_one(vm):
    assert tuple(map(int, vm.out("uname -r").split(".")[:2])) > NEWER_THAN


@pytest.mark.parametrize("here, there", [(0, 1), (1, 0)])
def test_frames_that_leave_are_right(up, here, there):
    up.assert_forwards(here, there)


def test_routes_and_links_are_followed(up):
    """Of both families, an object, a VRF device, a link that goes and comes; an audit finds nothing."""
    vm = up.vm
    vm.run("ip route add 203.0.113.0/24 via 10.0.1.2 && ip -6 route add 2001:db8:1::/48 via fd00:1::2 && ip nexthop add id 7 via 10.0.0.2 dev p0 && "
           "ip route add 198.51.100.0/24 nhid 7 && ip link add red type vrf table 10 && ip link set red up && ip link set p0 down && ip link set p0 up")
    vm.run("ip route replace 198.51.100.0/24 via 10.0.0.2")
    said = lambda: vm.out("kamuee show ipv4 route; kamuee show ipv6 route")     # noqa: E731
    eventually(lambda: all(route in said() for route in ("203.0.113.0/24", "198.51.100.0/24", "2001:db8:1::/48")), 30, said)
    found = up.call("audit")
    assert found["diverged"] == 0 and found["checked"] > 0, found
    assert not up.alarms("route-not-followed", "kernel-state")


def test_a_card_goes_back_to_the_kernel(up):
    vm = up.vm
    vm.run("systemctl stop kamueed")
    for card in (0, 1):
        said = vm.out(f"kamuee device unbind {pci(card)}")
        assert f"{pci(card)} bound to {('e1000e', 'virtio-pci')[card]}: " in said
    rows = [line.split() for line in vm.out("kamuee device").splitlines()]
    assert [row[2] for row in rows if row[0] in (pci(0), pci(1))] == ["e1000e", "virtio-pci"] and not vm.out("ls /etc/driverctl.d")
    vm.run(f"ip link set {rows[1][3]} up && ip addr add 192.0.2.1/24 dev {rows[1][3]}")
    refused = vm.run(f"kamuee device bind {rows[1][3]}", check=False)
    assert refused.rc == 1 and "it has the address 192.0.2.1: remove that first, or use --force" in refused.out
