# SPDX-License-Identifier: BSD-3-Clause
"""Each kind of PCI card that QEMU makes, under vfio behind an IOMMU: what docs/features/cards.md says of it.

One kamueed has all cards; core 0 polls those that have no interrupts, core 1 sleeps until one of the others wakes it.
"""
import json
import platform
import re
import socket
import threading
import time

import pytest
from kamuee.errors import DaemonError
from scapy.layers.inet import IP
from scapy.layers.l2 import Ether

from router import PATIENCE_S, Router, eventually, forwarded
from vm import far_mac, mac, pci
from wire import in_namespace

CARDS = ["virtio", "virtio", "e1000e", "e1000e", "vmxnet3", "vmxnet3", "e1000"]
ALL = range(len(CARDS))
PAIR = {"virtio": (0, 1), "e1000e": (2, 3), "vmxnet3": (4, 5), "e1000": (6, 0)}    # the last of a kind is alone: beside virtio
POLLED = ("e1000", "e1000e")        # their driver's interrupts do not come
kinds = pytest.mark.parametrize("kind", PAIR)
# Huge pages, because QEMU drops a frame that leaves if its buffer lies in two pages that are not neighbors in memory too.
MEMORY_MIB = 512
ONE_TAG, TWO_TAGS = bytes.fromhex("81000064"), bytes.fromhex("88a800c881000007")
QUEUES = [("p0", 0, 0), ("p0", 1, 1), ("p1", 0, 0), ("p1", 1, 1), ("p2", 0, 0), ("p3", 0, 0), ("p4", 0, 1), ("p5", 0, 1), ("p6", 0, 0)]  # port, queue, core
START = [f"set memory {MEMORY_MIB}", "set port p0 rx-queues 2", "set port p1 rx-queues 2", *(f"set port p{n} tx-queues 2" for n in ALL),
         *(f"set port p{n} {way}-descriptors 256" for n in ALL for way in ("rx", "tx")),
         *(f"set thread {core} forwarder port {port} rx-queue {queue}" for port, queue, core in QUEUES)]


def doctor(vm, *checks: str) -> dict[str, list[dict]]:
    found = json.loads(vm.run("kamuee doctor --json", check=False).out)["finding"]
    return {check: [finding for finding in found if finding["check"] == check] for check in checks}


def each(vm, command: str) -> list[str]:
    """A line for each $card."""
    return vm.out(f"for card in {' '.join(map(pci, ALL))}; do {command}; done").split("\n")[:-1]


@pytest.fixture(scope="module")
def bound(router: Router):
    """Each card in one of the documented ways; doctor's output before and after."""
    vm = router.vm
    vm.run(f"echo {MEMORY_MIB // 2 + 16} >/proc/sys/vm/nr_hugepages")
    router.configuration([*ALL], *START)
    before = doctor(vm, "nic-driver", "iommu")
    by_hand, by_name = [n for n in ALL if n % 2 == 0], [n for n in ALL if n % 2]
    vm.run("; ".join(before["nic-driver"][0]["fix"]))
    router.bind(*by_hand[1:])
    vm.run("; ".join(f"driverctl set-override {pci(n)} vfio-pci" for n in by_name))
    return before


@pytest.fixture(scope="module")
def up(router, bound):
    router.start([*ALL], *START)
    return router


# --- binding ---

def test_the_machine_is_this_debian_with_an_iommu(vm):
    """What the tests in this folder rest on."""
    assert f"VERSION_CODENAME={platform.freedesktop_os_release()['VERSION_CODENAME']}\n" in vm.out("cat /etc/os-release")
    assert vm.out("cat /proc/1/comm").strip() == "systemd"
    assert each(vm, "ls /sys/bus/pci/devices/$card/iommu_group/devices") == [pci(card) for card in ALL]


def test_doctor_tells_how_to_bind_a_card_and_that_is_how(vm, bound):
    assert [finding["status"] for finding in bound["nic-driver"]] == ["wrong"] * len(CARDS)
    assert [finding["found"] for finding in bound["nic-driver"]] == [f"{pci(n)}: {({'virtio': 'virtio-pci'}).get(kind, kind)}" for n, kind in enumerate(CARDS)]
    assert each(vm, "basename $(readlink /sys/bus/pci/devices/$card/driver)") == ["vfio-pci"] * len(CARDS)
    assert {kind[:3] for kind in each(vm, "cat /sys/bus/pci/devices/$card/iommu_group/type")} == {"DMA"}


def test_doctor_sees_what_lspci_sees(up):
    found = doctor(up.vm, "nic-driver", "iommu", "extended-tag", "max-read-request-size", "pci-link", "huge-pages")
    assert [finding["status"] for finding in found["nic-driver"]] == ["good"] * len(CARDS)
    assert [finding["found"] for finding in found["iommu"]] == ["addresses of every device are translated"]
    assert found["huge-pages"][0]["status"] == "good" and "memory: pages=huge" in up.vm.out("journalctl -u kamueed --no-pager")
    cards = dict(part.split(" ", 1) for part in up.vm.out("lspci -Dvv").split("\n\n") if part)
    for check, pattern, words in (("max-read-request-size", r"MaxReadReq (\d+) bytes", "{} bytes"), ("pci-link", r"LnkSta:\s+Speed ([\d.]+GT/s)", "{}"),
                                  ("extended-tag", r"DevCtl:.*?ExtTag([+-])", "{}")):
        for finding in found[check]:
            card = int(finding["subject"][1:])
            seen = re.search(pattern, cards[pci(card)], re.S)
            if not seen:                # no PCI Express: e1000
                assert finding["status"] == "absent" and CARDS[card] == "e1000", finding
            elif check == "extended-tag":
                assert seen[1] == ("+" if finding["status"] == "good" else "-"), finding
            else:
                assert words.format(seen[1]) in finding["found"].replace(" GT/s", "GT/s"), (finding, seen[0])


# --- frames ---

@pytest.mark.parametrize("here, there", [*PAIR.values(), (1, 0), (3, 2), (5, 4), (0, 2), (4, 1), (5, 3), (2, 6), (5, 6)])
def test_frames_that_leave_are_right(up, here, there):
    """From either core: each has its own transmit queue, except on e1000 and e1000e, which have one, whatever their driver claims."""
    up.assert_forwards(here, there)


def received(up, card: int) -> tuple[int, int]:
    """Frames that the card delivered, and packets that its interface counts: segments."""
    return up.port(card)["statistics"]["rx-packets"], up.state(f"interface=p{card}")[0]["statistics"]["rx-packets"]


@kinds
def test_a_tcp_connection_through_two_cards_is_complete(up, kind):
    """Checksums and segments that a sender leaves to others come out right, or nothing would arrive. Virtio passes super-packets from card to card."""
    here, there = PAIR[kind]
    before = received(up, here)
    sent = bytes(range(256)) * 1200
    code = ("import socket,sys; s=socket.create_server(('10.0.%d.2',5001)); s.settimeout(60); c,_=s.accept(); n=0\n"
            "while True:\n b=c.recv(65536)\n if not b: break\n assert b==bytes((n+i)%%256 for i in range(len(b))); n+=len(b)\n"
            "c.sendall(str(n).encode())" % there)
    far = up.vm.far
    server = far[there].popen(["/usr/bin/python3", "-c", code])
    client = in_namespace(far[here].name, lambda: eventually(lambda: connect(f"10.0.{there}.2"), 20))
    client.sendall(sent)
    client.shutdown(1)
    assert client.recv(20) == str(len(sent)).encode()
    client.close()
    assert server.wait(20) == 0
    frames, segments = (now - then for now, then in zip(received(up, here), before))
    assert segments >= len(sent) // 1448
    assert segments > 3 * frames if kind == "virtio" else segments == frames, (segments, frames)


def connect(address: str) -> socket.socket:
    return socket.create_connection((address, 5001), 10)


# --- offloads of a card ---

@kinds
def test_a_wrong_ipv4_checksum_is_dropped_by_reason(up, kind):
    """Whether the card looks at it or the forwarder does; e1000 and e1000e do."""
    here, there = PAIR[kind]
    assert ("rx-IPV4_CKSUM" in up.port(here)["offload"]) == (kind in POLLED)
    before = drops(up, "ip4_checksum")
    wrong = up.packet(here, there, False, 100)
    wrong[IP].chksum = 0x1234
    up.send(here, bytes(wrong))
    eventually(lambda: drops(up, "ip4_checksum") == before + 1, 20, up.told)
    up.assert_forwards(here, there, sizes=(100,), v6=(False,))


def drops(up: Router, reason: str) -> int:
    return next(int(drop["packets"]) for drop in up.state("drop") if drop["name"] == reason)


@kinds
def test_vlan_tags_are_taken_off_and_put_on(up, kind):
    """By the card, where it can: a tagged frame in, an untagged or differently tagged one out, and back."""
    here, there = PAIR[kind]
    assert "rx-VLAN_STRIP" in up.port(here)["offload"]
    far = up.vm.far[here]
    up.call("configure", line=[f"set vport tagged port p{here} vlan 100", f"set vport double port p{here} vlan 7 outer-vlan 200"])
    up.vm.run("ip addr add 10.9.100.1/24 dev tagged; ip addr add 10.9.200.1/24 dev double; "
              f"ip neigh replace 10.9.100.2 lladdr {far.mac} dev tagged; ip neigh replace 10.9.200.2 lladdr {far.mac} dev double")
    plain = Ether(bytes(up.packet(here, there, False, 200)))
    try:
        up.assert_forwards(here, there, sizes=(60,), v6=(False,))          # the far end is resolved
        for tags, source in ((ONE_TAG, "10.9.100.2"), (TWO_TAGS, "10.9.200.2")):
            inside = plain[IP].copy()
            inside.src = source
            del inside.chksum
            expect(up, here, there, Ether(bytes(Ether(src=far.mac, dst=mac(here)) / inside)), tags, b"")
        for tags, target in ((ONE_TAG, "10.9.100.2"), (TWO_TAGS, "10.9.200.2")):
            inside = up.packet(there, here, False, 200)[IP]
            inside.dst = target
            del inside.chksum
            expect(up, there, here, Ether(bytes(Ether(src=far_mac(there), dst=mac(there)) / inside)), b"", tags)
    finally:
        up.call("configure", line=["delete vport tagged", "delete vport double"])


def expect(up: Router, here: int, there: int, packet: Ether, tags_in: bytes, tags_out: bytes) -> None:
    up.wire(there)
    mark = bytes(packet)[-16:]
    sent, wanted = bytes(packet), forwarded(packet, there)
    up.send(here, sent[:12] + tags_in + sent[12:])
    wanted = wanted[:12] + tags_out + wanted[12:]
    got = up.taken(there, lambda frame: mark in frame)
    assert got is not None, f"nothing came; {up.told()}"
    assert got[:len(wanted)] == wanted and not any(got[len(wanted):]), f"{got.hex()}\nwanted {wanted.hex()}"


@kinds
def test_a_card_that_is_not_promiscuous_keeps_strangers_frames_to_itself(up, kind):
    here, there = PAIR[kind]
    stranger = up.packet(here, there, False, 100)
    stranger.dst = "02:00:00:00:77:77"

    def is_seen() -> bool:
        before = drops(up, "ether_not_ours")
        up.send(here, bytes(stranger))
        up.assert_forwards(here, there, sizes=(100,), v6=(False,))         # what was sent before has been looked at
        return drops(up, "ether_not_ours") > before
    assert is_seen()
    up.call("configure", line=[f"set port p{here} promiscuous false"])
    try:
        assert not is_seen()
        up.vm.far[here].sh(f"ip -6 neigh flush dev c{here}")               # multicast still comes in: neighbor discovery
        assert up.pings(here, f"fd00:{here}::1", "-c 3 -W 2")
    finally:
        up.call("configure", line=[f"delete port p{here} promiscuous"])
    assert is_seen()


def of_device(up: Router, card: int, way: str) -> dict[str, int]:
    """What the device at a card's far end sent (tx) or received (rx): packets, bytes."""
    return json.loads(up.vm.far[card].sh(f"ip -j -s link show dev c{card}"))[0]["stats64"][way]


@kinds
def test_statistics_count_frames_and_bytes(up, kind):
    """A counter has at most what came in before it, and at least what came out behind it: QEMU's vmxnet3 loses a frame now and then
    before the router. e1000 and e1000e count the FCS, as their data sheets have it."""
    here, there = PAIR[kind]
    frames, size, fcs, others = 50, 300, 4 if kind in POLLED else 0, 10    # others: neighbor discovery and such
    up.assert_forwards(here, there, sizes=(60,), v6=(False,))
    before = [up.port(n)["statistics"] for n in (here, there)]
    sent_before, received_before = of_device(up, here, "tx"), of_device(up, there, "rx")
    packets = [bytes(up.packet(here, there, False, size, sport=9000 + n)) for n in range(frames)]
    for packet in packets:
        up.send(here, packet)
    marks, arrived = {packet[-16:] for packet in packets}, 0
    while arrived < frames and up.taken(there, lambda frame: frame[-16:] in marks, 5):
        arrived += 1
    assert arrived >= frames - 3, f"{arrived} of {frames} arrived; {up.told()}"
    received = of_device(up, there, "rx")["packets"] - received_before["packets"]

    def grown(side: int, name: str) -> int:
        return int(up.port((here, there)[side])["statistics"][name]) - int(before[side][name])
    eventually(lambda: all(grown(side, f"{way}-packets") >= least and grown(side, f"{way}-bytes") >= arrived * size
                           for side, way, least in ((0, "rx", arrived), (1, "tx", received))), 20, up.told)
    rx, rx_bytes, tx, tx_bytes = grown(0, "rx-packets"), grown(0, "rx-bytes"), grown(1, "tx-packets"), grown(1, "tx-bytes")
    sent = {name: n - sent_before[name] for name, n in of_device(up, here, "tx").items() if name in ("packets", "bytes")}
    assert arrived <= rx <= sent["packets"] <= frames + others
    assert arrived * (size + fcs) <= rx_bytes <= sent["bytes"] + fcs * sent["packets"] + 64 * others     # short ones are padded
    assert arrived <= received <= tx <= rx + others and tx_bytes <= tx * (size + 4) + 200 * others
    assert grown(0, "rx-missed") == grown(0, "rx-errors") == grown(1, "tx-errors") == 0


def test_a_full_ring_loses_nothing_that_it_has(up):
    """While nobody takes frames a ring fills; then QEMU's cards stop reading, so that none is missed: all frames read come out."""
    here, there, sent = 2, 3, 600      # more than its ring has places
    up.assert_forwards(here, there, sizes=(60,), v6=(False,))
    frames = [bytes(up.packet(here, there, False, 100, sport=9000 + n)) for n in range(sent)]
    before = int(up.port(here)["statistics"]["rx-packets"])
    up.vm.run(f"kill -STOP {up.pid()}")
    try:
        for frame in frames:
            up.send(here, frame)
    finally:
        up.vm.run(f"kill -CONT {up.pid()}")
    for frame in frames:
        assert up.taken(there, lambda got: frame[-16:] in got), up.told()
    statistics = up.port(here)["statistics"]
    assert int(statistics["rx-packets"]) - before >= sent and int(statistics["rx-missed"]) == 0


# --- cables ---

@kinds
def test_a_pulled_cable_is_seen_within_a_second_or_two(up, kind):
    here, there = PAIR[kind]
    begun = time.monotonic()
    up.vm.cable(here, False)
    try:
        eventually(lambda: up.port(here)["status"] == "down", 5, up.told)
        assert up.port(there)["status"] == "up"
        eventually(lambda: "NO-CARRIER" in up.vm.out(f"ip link show p{here}"), 5)
    finally:
        up.vm.cable(here, True)
    eventually(lambda: up.port(here)["status"] == "up", 10, up.told)
    assert time.monotonic() - begun < 15
    up.assert_forwards(here, there, sizes=(128,))
    up.assert_forwards(there, here, sizes=(128,))


# --- queues and cores ---

def thread_queues(up: Router) -> dict[tuple[str, int], tuple[str, dict]]:
    return {(queue["port"], queue["queue"]): (thread["name"], queue) for thread in up.state("thread") for queue in thread["queue"]}


def test_rss_and_the_plan_spread_flows_over_two_forwarders(up):
    """virtio; the other cards have one queue each, in QEMU or in DPDK's driver."""
    assert up.port(0)["rss"] and thread_queues(up)["p0", 0][0] != thread_queues(up)["p0", 1][0]
    up.assert_forwards(0, 1, sizes=(60,))

    def counts() -> list[int]:
        return [int(thread_queues(up)["p0", queue][1]["packets"]) for queue in (0, 1)]

    def run(packets: list[Ether]) -> list[int]:
        before = counts()
        for packet in packets:
            up.send(0, bytes(packet))
            wanted = forwarded(packet, 1)
            assert up.taken(1, lambda got: got[:len(wanted)] == wanted), up.told()
        return [after - one for after, one in zip(counts(), before)]
    for v6 in (False, True):
        some = run([up.packet(0, 1, v6, 100, sport=10000 + flow) for flow in range(64)])
        assert min(some) > 10, some
        flow = run([up.packet(0, 1, v6, 100, sport=10007) for _ in range(30)])
        assert min(flow) < 10 <= 30 <= max(flow), flow                     # one flow keeps to its queue; others than these may come in between
    assert {rx["rx-mode"] for _, rx in thread_queues(up).values() if rx["port"] in ("p0", "p1", "p4", "p5")} == {"interrupt"}


def test_a_queue_moves_to_another_core_without_loss(up):
    up.assert_forwards(0, 1, sizes=(60,))
    frames = [bytes(up.packet(0, 1, False, 100, sport=10000 + n)) for n in range(400)]
    sender = threading.Thread(target=lambda: [(up.send(0, frame), time.sleep(0.01)) for frame in frames])
    sender.start()
    for _ in range(2):
        up.call("configure", line=["delete thread 1 forwarder port p0", "set thread 0 forwarder port p0 rx-queue 1"])
        up.call("configure", line=["delete thread 0 forwarder port p0 rx-queue 1", "set thread 1 forwarder port p0 rx-queue 1"])
    sender.join()
    marks = {frame[-16:] for frame in frames}
    while marks and (got := up.taken(1, lambda frame: frame[-16:] in marks, 5)):
        marks.discard(got[-16:])
    assert not marks, f"{len(marks)} are missing; {up.told()}"


@pytest.mark.parametrize("card", [1, 4])
def test_an_idle_forwarder_sleeps_until_a_card_wakes_it(up, card):
    """virtio and vmxnet3, balanced mode: an interrupt for each frame after a silence, and hardly any CPU time meanwhile."""
    vector = f"vfio-msix.*{pci(card)}"

    def interrupts() -> int:
        return sum(sum(map(int, re.findall(r"(?<=\s)\d+(?=\s)", line.split("IR-PCI-MSI")[0]))) for line in up.vm.out("cat /proc/interrupts").splitlines()
                   if re.search(vector, line))

    def cpu_ns() -> int:
        return int(next(thread["cpu-time"] for thread in up.state("thread") if thread["role"] == "forwarder" and thread["core"] == 1))
    assert up.pings(card, f"10.0.{card}.1")
    time.sleep(1)
    begun, spent, before = time.monotonic(), cpu_ns(), interrupts()
    assert up.pings(card, f"10.0.{card}.1", "-c 8 -i 0.4 -W 2")
    assert interrupts() >= before + 8
    time.sleep(1)
    assert cpu_ns() - spent < 0.3e9 * (time.monotonic() - begun), "a forwarder that spins takes all of a core"


def test_cards_without_interrupts_are_polled(up):
    modes = {port: queue["rx-mode"] for (port, _), (_, queue) in thread_queues(up).items()}
    assert {port for port, mode in modes.items() if mode == "poll"} == {f"p{n}" for n, kind in enumerate(CARDS) if kind in POLLED}


# --- cards that leave ---

@kinds
def test_a_card_that_is_pulled_out_under_traffic_and_plugged_in_again(up, kind):
    """The card itself goes, by QEMU's monitor; udev and driverctl bind the new one. The other cards go on, and nothing is left of it."""
    there, here = (6, 0) if kind == "e1000" else PAIR[kind][::-1]
    other = (2, 4) if kind in ("virtio", "e1000") else (1, 6)
    vm = up.vm
    if kind == "e1000":
        vm.run(f"driverctl set-override {pci(6)} vfio-pci")
        eventually(lambda: up.port(6)["status"] == "up", 20, up.told)
    up.assert_forwards(here, there, sizes=(60,), v6=(False,))
    stop = threading.Event()
    frames = [bytes(up.packet(here, there, n % 2 == 0, 200, sport=9000 + n)) for n in range(50)]

    def traffic() -> None:
        while not stop.is_set():
            for frame in frames:
                up.send(here, frame)
                time.sleep(0.002)
    sender = threading.Thread(target=traffic)
    sender.start()
    try:
        vm.pull(there)
        eventually(lambda: vm.run(f"test -e /sys/bus/pci/devices/{pci(there)}", check=False).rc, 20, up.told)
        assert up.port(there)["status"] == "down" and f"10.0.{there}.1" in vm.out(f"ip addr show p{there}")
        up.assert_forwards(*other, sizes=(128,))
        vm.plug(there)
        eventually(lambda: up.port(there)["status"] == "up", 30, up.told)
    finally:
        stop.set()
        sender.join()
    up.assert_forwards(here, there, sizes=(128, 1514))
    up.assert_forwards(there, here, sizes=(128, 1514))


def test_a_card_that_is_unbound_leaves_at_once_and_comes_back_when_it_is_bound(up):
    """In the past a write to `unbind` blocked until kamueed ended. Requests for the port meanwhile are answered with the command to give."""
    begun = time.monotonic()
    up.vm.run(f"echo {pci(2)} >/sys/bus/pci/drivers/vfio-pci/unbind", timeout_s=60)
    assert time.monotonic() - begun < 30 and up.port(2)["status"] == "down"
    bind = f"bind it to vfio-pci .dpdk-devbind.py -b vfio-pci {pci(2)}."
    with pytest.raises(DaemonError, match=f"has no kernel driver: {bind}"):
        up.call("configure", line=["set port p2 mtu 1400"])
    up.vm.run(f"echo >/sys/bus/pci/devices/{pci(2)}/driver_override; echo {pci(2)} >/sys/bus/pci/drivers/e1000e/bind")
    with pytest.raises(DaemonError, match=f"bound to the kernel driver e1000e: {bind}"):
        up.call("configure", line=["set port p2 mtu 1400"])
    up.vm.run(f"dpdk-devbind.py -b vfio-pci {pci(2)}")
    eventually(lambda: up.port(2)["status"] == "up", 20, up.told)
    up.assert_forwards(2, 3, sizes=(128,))


def test_a_killed_router_takes_its_cards_again(up):
    before = up.pid()
    up.vm.run(f"kill -KILL {before}")
    eventually(lambda: up.pid() not in (0, before) and up.vm.run("systemctl is-active kamueed", check=False).rc == 0, 90, up.told)
    for here, there in PAIR.values():
        eventually(lambda: up.port(here)["status"] == up.port(there)["status"] == "up", PATIENCE_S, up.told)
        up.assert_forwards(here, there, sizes=(128, 1514))


# --- last, because the buffers stay large ---

@kinds
def test_jumbo_frames(up, kind):
    """Whole, and too big ones for the next link are told so."""
    here, there = PAIR[kind]
    for n in (here, there):
        up.vm.far[n].sh(f"ip link set c{n} mtu 9000")
    up.call("configure", line=[f"set port p{n} mtu 9000" for n in (here, there)])
    for n in (here, there):
        eventually(lambda: up.port(n)["status"] == "up" and up.port(n)["mtu"] == 9000, 20, up.told)
    up.assert_forwards(here, there, sizes=(60, 1514, 1515, 4000, 9014))
    up.assert_forwards(there, here, sizes=(60, 9014))
    up.call("configure", line=[f"set port p{there} mtu 1500"])
    assert not up.pings(here, f"10.0.{there}.2", "-c 1 -W 2 -M do -s 1473") and up.pings(here, f"10.0.{there}.2", "-c 1 -W 2 -M do -s 1472")
    up.call("configure", line=[f"set port p{here} mtu 1500"])


def test_a_new_interface_has_the_mac_that_it_was_given(up, vm):
    """systemd-udevd gives devices that appear a MAC of its own, unless they have theirs by then."""
    up.call("configure", line=[f"set vport v{n} port p0 vlan {n}" for n in range(100, 108)])
    vm.run("udevadm settle", timeout_s=60)
    macs = {link["ifname"]: link["address"] for link in vm.json("ip -j link")}
    up.call("configure", line=[f"delete vport v{n}" for n in range(100, 108)])
    assert {macs[f"v{n}"] for n in range(100, 108)} == {mac(0)} and [macs[f"p{n}"] for n in ALL] == [mac(n) for n in ALL]
