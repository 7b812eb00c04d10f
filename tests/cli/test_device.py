# SPDX-License-Identifier: BSD-3-Clause
"""kamuee device, on trees of the kernel's files; tests/vm/test_newer_kernel.py has real cards."""
import json
from pathlib import Path

import pytest

from kamuee import device
from kamuee.doctor.host import Host
from kamuee.errors import KamueeError, UsageError

CARD = "0000:3b:00.0"


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A card that is the kernel's eth1, and a disk."""
    def plant(address: str, kind: str, driver: str, group: str) -> None:
        folder = tmp_path / "sys/bus/pci/devices" / address
        folder.mkdir(parents=True)
        for name, text in (("class", kind), ("vendor", "0x8086"), ("device", "0x10fb"), ("numa_node", "1"), ("driver_override", "")):
            (folder / name).write_text(text + "\n")
        if driver:
            bound = tmp_path / "sys/bus/pci/drivers" / driver
            bound.mkdir(parents=True, exist_ok=True)
            (folder / "driver").symlink_to(bound)
        if group:
            members = tmp_path / "sys/kernel/iommu_groups" / group / "devices"
            members.mkdir(parents=True, exist_ok=True)
            (members / address).touch()
            (folder / "iommu_group").symlink_to(members.parent)
    plant(CARD, "0x020000", "ixgbe", "12")
    plant("0000:00:1f.2", "0x010601", "ahci", "")
    (tmp_path / "sys/bus/pci/devices" / CARD / "net/eth1").mkdir(parents=True)
    return tmp_path


def names(root: Path) -> list[str]:
    return [card.address for card in device.cards(Host(str(root)))]


def test_ethernet_cards_are_listed(root, capsys):
    assert names(root) == [CARD]
    assert device.main([], str(root)) == 0
    assert capsys.readouterr().out.splitlines()[1].split() == [CARD, "8086:10fb", "ixgbe", "eth1", "12", "1"]
    assert device.main(["show", "-j"], str(root)) == 0
    assert json.loads(capsys.readouterr().out)["card"][0]["interface"] == "eth1"


def test_a_card_is_found_by_each_of_its_names(root):
    host = Host(str(root))
    assert {device.find(host, name).address for name in (CARD, "3b:00.0", "eth1")} == {CARD}
    with pytest.raises(KamueeError, match=f"no Ethernet card 'eth7' on PCI\nthere is: {CARD} \\(eth1\\)"):
        device.find(host, "eth7")


@pytest.mark.parametrize("driver, use, group, message", [
    ("ixgbe", "your SSH session comes in by it", "12", "is eth1, and your SSH session comes in by it: remove that first, or use --force"),
    ("mlx5_core", "", "12", "DPDK uses this card through mlx5_core: leave it bound"),
    ("ixgbe", "", "", "is in no IOMMU group, which vfio-pci needs: boot with intel_iommu=on"),
])
def test_what_is_refused(root, monkeypatch, driver, use, group, message):
    monkeypatch.setattr(device, "used_for", lambda interface: use)
    card = device.card_at(Host(str(root)), CARD)
    card.driver, card.iommu_group = driver, group
    with pytest.raises(KamueeError, match=message):
        device.check_bind(Host(str(root)), card, "vfio-pci", False)
    if use:
        device.check_bind(Host(str(root)), card, "vfio-pci", True)


def test_a_group_shared_with_the_kernel_is_refused(root, monkeypatch):
    monkeypatch.setattr(device, "used_for", lambda interface: "")
    card = device.card_at(Host(str(root)), CARD)
    card.group_mates = ["0000:00:1f.2"]
    with pytest.raises(KamueeError, match="shares IOMMU group 12 with 0000:00:1f.2, which the kernel uses"):
        device.check_bind(Host(str(root)), card, "vfio-pci", False)


def test_a_driver_that_does_not_take_the_card_is_told(root, monkeypatch):
    """The files are written as the kernel wants them; these do not act."""
    monkeypatch.setattr(device, "used_for", lambda interface: "")
    monkeypatch.setattr(device, "run", lambda *command: None)
    monkeypatch.setattr(device.shutil, "which", lambda name: None)
    monkeypatch.setattr(device, "PATIENCE_S", 0)
    with pytest.raises(KamueeError, match=f"{CARD} is bound to ixgbe, not to vfio-pci: see dmesg"):
        device.bind(Host(str(root)), "eth1", "vfio-pci", False)
    pci = root / "sys/bus/pci"
    assert (pci / "devices" / CARD / "driver_override").read_text() == "vfio-pci\n"
    assert (pci / "drivers/ixgbe/unbind").read_text() == CARD and (pci / "drivers_probe").read_text() == CARD


def test_a_card_that_is_bound_stays_so(root):
    assert device.bind(Host(str(root)), "eth1", "ixgbe", False) == f"{CARD} is already bound to ixgbe"


def test_a_driver_is_a_name():
    with pytest.raises(UsageError, match="'../x' is not the name of a kernel driver"):
        device.parse(["bind", CARD, "--driver", "../x"])


def test_a_program_that_is_missing_is_named():
    with pytest.raises(KamueeError, match="no-such-program is not installed"):
        device.run("no-such-program", "vfio-pci")
