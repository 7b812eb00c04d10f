# SPDX-License-Identifier: BSD-3-Clause
"""The kernel of Debian's backports: cards under vfio forward, and kernel state is followed as with Debian's own."""
import pytest

from router import eventually

CARDS = ["e1000e", "virtio"]
KERNEL = "-newer"
NEWER_THAN = (6, 1)


@pytest.fixture(scope="module")
def up(router):
    router.bind(0, 1)
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
