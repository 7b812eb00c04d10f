# SPDX-License-Identifier: BSD-3-Clause
"""kamueed drives PCI cards by vfio behind an IOMMU, and forwards between them."""
import pytest

from vm import mac, pci

CARDS = ["e1000e", "e1000e", "virtio", "virtio"]


@pytest.fixture(scope="module")
def up(router):
    router.bind(0, 1, 2, 3)
    router.start([0, 1, 2, 3])
    return router


def test_the_machine_is_debian_with_an_iommu(vm):
    """What the tests in this folder rest on."""
    assert "VERSION_CODENAME=bookworm" in vm.out("cat /etc/os-release")
    assert vm.out("cat /proc/1/comm").strip() == "systemd"
    for card in range(len(CARDS)):
        alone = vm.out(f"ls /sys/bus/pci/devices/{pci(card)}/iommu_group/devices").split()
        assert alone == [pci(card)]


def test_cards_are_under_vfio_with_translation(up, vm):
    for card in range(len(CARDS)):
        assert vm.out(f"readlink /sys/bus/pci/devices/{pci(card)}/driver").strip().endswith("/vfio-pci")
        assert vm.out(f"cat /sys/bus/pci/devices/{pci(card)}/iommu_group/type").strip().startswith("DMA")
    assert "memory: pages=ordinary" in vm.out("journalctl -u kamueed --no-pager")


@pytest.mark.parametrize("here, there", [(0, 1), (1, 0), (2, 3), (3, 2), (0, 2), (3, 1)])
def test_frames_that_leave_are_right(up, here, there):
    up.assert_forwards(here, there)


def test_a_new_interface_has_the_mac_that_it_was_given(up, vm):
    """systemd-udevd gives devices that appear a MAC of its own, unless they have theirs by then."""
    lines = [f"set vport v{n} port p0 vlan {n}" for n in range(100, 120)]
    up.call("configure", line=lines)
    vm.run("udevadm settle", timeout_s=60)
    macs = {link["ifname"]: link["address"] for link in vm.json("ip -j link")}
    up.call("configure", line=[f"delete vport v{n}" for n in range(100, 120)])
    assert {macs[f"v{n}"] for n in range(100, 120)} == {mac(0)} and [macs[f"p{n}"] for n in range(4)] == [mac(n) for n in range(4)]
