# SPDX-License-Identifier: BSD-3-Clause
"""kamueed drives PCI cards by vfio behind an IOMMU, and forwards between them."""
import pytest

from vm import pci

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
