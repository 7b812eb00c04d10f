# SPDX-License-Identifier: BSD-3-Clause
"""`kamuee bench qualify` of the installed packages, by a short run for each kind of card that QEMU makes, in pairs joined by a cable.

BUILD/vm/log keeps the reports: docs/features/cards.md has rows of them.
"""
import json

import pytest

from packaged import Packaged, make_packages
from vm import BUILD, pci

CARDS = ["e1000e", "e1000e", "virtio", "virtio", "vmxnet3", "vmxnet3"]
# Its two cards, and what drives them; the last, because they leave DPDK.
CASES = {"e1000e": (0, "net_e1000_em"), "virtio": (2, "net_virtio"), "vmxnet3": (4, "net_vmxnet3"), "kernel": (0, "net_af_packet")}
HUGE_PAGES = 300            # of 2 MiB: for two kamueeds
LIMIT_S = 900
# The others need a machine with cores of its own: on shared ones most rates are disturbed.
MUST_PASS = ("audit after route changes", "ledger", "upgrade")


@pytest.fixture(scope="module")
def up(vm):
    up = Packaged(vm)
    up.install(make_packages("--built", BUILD), "kamuee", "kamuee-tools", "kamuee-bench")
    vm.run(f"systemctl disable --now kamueed; echo {HUGE_PAGES} >/proc/sys/vm/nr_hugepages", timeout_s=180)
    for card in range(0, len(CARDS), 2):
        vm.cross(card, card + 1)
    yield up
    up.close()


@pytest.mark.parametrize("case", CASES)
def test_a_pair_of_cards_is_qualified(up, case):
    vm, (first, driver) = up.vm, CASES[case]
    cards, file = [pci(first), pci(first + 1)], f"/root/{case}.json"
    for card in cards:
        vm.run(f"kamuee device {'unbind' if case == 'kernel' else 'bind'} {card}")
    if case == "kernel":
        cards = [vm.out(f"ls /sys/bus/pci/devices/{card}/net").strip() for card in cards]
    done = vm.run(f"kamuee bench qualify {' '.join(cards)} --quick --force --report {file}", check=False, timeout_s=LIMIT_S)
    assert vm.run(f"test -e {file}", check=False).rc == 0, done.out
    report = vm.get(file)
    (BUILD / "vm/log" / f"qualify-{case}.json").write_bytes(report)
    print(f"\n{done.out}")
    found = json.loads(report)
    passed = {each["check"]: each["passed"] for each in found["checks"]}
    assert all(passed[name] for name in MUST_PASS), done.out
    assert {port["name"]: (port["driver"], port["status"]) for port in found["ports"]} == {name: (driver, "up") for name in ("c0", "c1")}
    flooded = [row["flood_mpps"] for row in found["rows"] if row["test"] == "throughput"]
    assert len(flooded) == 4 and flooded[0], flooded        # frames pass the cards, at whatever rate
    assert found["cores"].startswith("tester on core 0, device on core 1"), found["cores"]
    assert vm.run(f"kamuee bench qualify --check {file}", check=False).rc == 0
    assert vm.run(f"sed -i s/true/false/ {file}; kamuee bench qualify --check {file}", check=False).rc == 1
