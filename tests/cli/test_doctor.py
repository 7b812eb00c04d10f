# SPDX-License-Identifier: BSD-3-Clause
"""kamuee doctor, on trees of the kernel's files as machines have them."""
import json
import os
import tarfile

import pytest

from kamuee.doctor import command
from kamuee.doctor.facts import Facts, pci_of
from kamuee.doctor.finding import Finding
from kamuee.doctor.host import Host, cores_of, list_of
from kamuee.doctor.pci import express, gigabits

CARD = "0000:3b:00.0"
CONFIG = [f"set port p0 devargs {CARD}", "set thread 2 forwarder port p0 rx-queue 0"]
FLAGS = "flags\t\t: fpu sse4_2 popcnt bmi2 avx2 avx512f avx512bw avx512dq avx512vl constant_tsc nonstop_tsc"


def registers(control: int, capable: int = 0x20) -> bytes:
    """A configuration space with a power management capability before PCI Express."""
    space = bytearray(256)
    space[6] = 0x10
    space[0x34] = 0x40
    space[0x40:0x42] = bytes([1, 0x70])
    space[0x70:0x72] = bytes([0x10, 0])
    space[0x74:0x78] = capable.to_bytes(4, "little")
    space[0x78:0x7a] = control.to_bytes(2, "little")
    return bytes(space)


# A server with two sockets, cores 0-1 and 2-3, tuned as it should be; the card is on node 1.
GOOD = {
    "sys/devices/system/cpu/online": "0-3", "sys/devices/system/cpu/isolated": "2-3", "sys/devices/system/cpu/nohz_full": "2-3",
    "sys/devices/system/cpu/cpu2/node1/": None,
    "sys/devices/system/cpu/cpu2/cpufreq/scaling_governor": "performance",
    "sys/devices/system/cpu/cpu2/cpuidle/state0/name": "POLL", "sys/devices/system/cpu/cpu2/cpuidle/state0/latency": "0",
    "sys/devices/system/cpu/cpu2/cpuidle/state0/disable": "0", "sys/devices/system/cpu/cpu2/cpuidle/state1/name": "C6",
    "sys/devices/system/cpu/cpu2/cpuidle/state1/latency": "133", "sys/devices/system/cpu/cpu2/cpuidle/state1/disable": "1",
    "sys/devices/system/cpu/cpu2/topology/thread_siblings_list": "2",
    "sys/devices/system/node/node0/hugepages/hugepages-2048kB/nr_hugepages": "0",
    "sys/devices/system/node/node0/hugepages/hugepages-2048kB/free_hugepages": "0",
    "sys/devices/system/node/node1/hugepages/hugepages-1048576kB/nr_hugepages": "8",
    "sys/devices/system/node/node1/hugepages/hugepages-1048576kB/free_hugepages": "8",
    "sys/devices/system/node/node1/cpulist": "2-3",
    "sys/kernel/mm/transparent_hugepage/enabled": "always [madvise] never",
    "sys/kernel/iommu_groups/0/": None,
    "proc/meminfo": "MemTotal: 8000000 kB\nMemAvailable: 7000000 kB\n", "proc/cpuinfo": FLAGS, "proc/cmdline": "ro iommu=pt",
    "proc/stat": "cpu 100 0 100 800 0 0 0 0 0 0", "proc/irq/7/effective_affinity_list": "0", "proc/1/comm": "systemd",
    "proc/sys/net/ipv4/conf/all/rp_filter": "0", "proc/sys/net/ipv4/conf/p0/rp_filter": "2",
    "proc/sys/net/ipv4/conf/p0/forwarding": "1", "proc/sys/net/ipv6/conf/p0/forwarding": "1",
    "proc/sys/net/ipv4/neigh/default/gc_thresh3": "8192", "proc/sys/net/ipv6/neigh/default/gc_thresh3": "8192",
    "dev/net/tun": "",
    "proc/77/comm": "kamueed", "proc/77/limits": "Max locked memory         unlimited            unlimited            bytes",
    "proc/77/status": "Name:\tkamueed\nUid:\t998\t998\t998\t998\nCapEff:\t0000000000003000\nSeccomp:\t2\n",
    f"sys/bus/pci/devices/{CARD}/config": registers(0x5100), f"sys/bus/pci/devices/{CARD}/numa_node": "1",
    f"sys/bus/pci/devices/{CARD}/current_link_width": "16", f"sys/bus/pci/devices/{CARD}/max_link_width": "16",
    f"sys/bus/pci/devices/{CARD}/current_link_speed": "8.0 GT/s PCIe", f"sys/bus/pci/devices/{CARD}/max_link_speed": "8.0 GT/s PCIe",
    f"sys/bus/pci/devices/{CARD}/driver": ("link", "../../../bus/pci/drivers/vfio-pci"),
}
PCI = f"sys/bus/pci/devices/{CARD}"
# Planted errors: (check, files that differ, status, words of the message).
WRONG = [
    ("huge-pages", {"sys/devices/system/node/node1/hugepages/hugepages-1048576kB/free_hugepages": "0",
                    "sys/devices/system/node/node1/hugepages/hugepages-2048kB/nr_hugepages": "10",
                    "sys/devices/system/node/node1/hugepages/hugepages-2048kB/free_hugepages": "10"}, "advice",
     "echo 256 > /sys/devices/system/node/node1/hugepages/hugepages-2048kB/nr_hugepages"),
    ("transparent-huge-pages", {"sys/kernel/mm/transparent_hugepage/enabled": "always madvise [never]"}, "advice", "echo madvise"),
    ("memory", {"proc/meminfo": "MemAvailable: 200000 kB\n"}, "wrong", "195 MiB"),
    ("instructions", {"proc/cpuinfo": "flags : fpu"}, "wrong", "SSE4.2"),
    ("instructions", {"proc/cpuinfo": FLAGS.replace("avx512vl", "").replace("avx2", "")}, "advice", "AVX2 and BMI2, or AVX-512"),
    ("instructions", {"proc/cpuinfo": FLAGS.replace("bmi2", "")}, "advice", "AVX2 without BMI2"),
    ("cores", {"sys/devices/system/cpu/online": "0-1"}, "wrong", "no core 2"),
    ("cores", {"sys/devices/system/cpu/online": "2"}, "advice", "every core"),
    ("isolated-cores", {"sys/devices/system/cpu/isolated": "3"}, "advice", "isolcpus=2"),
    ("isolated-cores", {"sys/devices/system/cpu/nohz_full": "(null)"}, "advice", "nohz_full=2"),
    ("interrupts", {"proc/irq/7/effective_affinity_list": "1-2"}, "advice", "echo 0-1,3 > /proc/irq/7/smp_affinity_list"),
    ("governor", {"sys/devices/system/cpu/cpu2/cpufreq/scaling_governor": "powersave"}, "advice",
     "echo performance > /sys/devices/system/cpu/cpu2/cpufreq/scaling_governor"),
    ("c-states", {"sys/devices/system/cpu/cpu2/cpuidle/state1/disable": "0"}, "advice", "C6 (133 us to leave)"),
    ("smt", {"sys/devices/system/cpu/cpu2/topology/thread_siblings_list": "2-3"}, "advice", "2-3"),
    ("steal", {"proc/stat": "cpu 100 0 100 800 0 0 0 50 0 0", "proc/cpuinfo": FLAGS + " hypervisor"}, "advice", "20.0 %"),
    ("extended-tag", {f"{PCI}/config": registers(0x5000)}, "advice", f"setpci -s {CARD} CAP_EXP+8.w=0100:0100"),
    ("pci-link", {f"{PCI}/current_link_width": "8"}, "advice", "63 Gb/s instead of 126"),
    ("numa", {f"{PCI}/numa_node": "0", "sys/devices/system/node/node0/cpulist": "0-1"}, "advice", "queue 0 on core 2, node 1"),
    ("nic-driver", {f"{PCI}/driver": ("link", "../drivers/ixgbe")}, "wrong", f"dpdk-devbind.py --bind=vfio-pci {CARD}"),
    ("nic-driver", {f"{PCI}/driver": ("link", "../drivers/igb_uio")}, "advice", "vfio-pci"),
    ("iommu", {"proc/cmdline": "ro"}, "advice", "iommu=pt"),
    ("tun", {"dev/net/tun": None}, "wrong", "modprobe tun"),
    ("rp-filter", {"proc/sys/net/ipv4/conf/all/rp_filter": "1"}, "advice", "sysctl -w net.ipv4.conf.all.rp_filter=2"),
    ("rp-filter", {"proc/sys/net/ipv4/conf/p0/rp_filter": "1"}, "wrong", "sysctl -w net.ipv4.conf.p0.rp_filter=2"),
    ("kernel-forwarding", {"proc/sys/net/ipv4/conf/p0/forwarding": "0"}, "wrong", "sysctl -w net.ipv4.conf.p0.forwarding=1"),
    ("kernel-forwarding", {"proc/sys/net/ipv6/conf/p0/forwarding": "0"}, "wrong", "sysctl -w net.ipv6.conf.p0.forwarding=1"),
    ("kernel-forwarding", {"proc/sys/net/ipv4/conf/mgmt/forwarding": "1"}, "advice", "sysctl -w net.ipv4.conf.mgmt.forwarding=0"),
    ("neighbor-table", {"proc/sys/net/ipv6/neigh/default/gc_thresh3": "1024"}, "advice", "net.ipv6.neigh.default.gc_thresh3=4096"),
    ("rights", {"proc/77/status": "Uid:\t998\nCapEff:\t0000000000001000\nSeccomp:\t2"}, "wrong", "CAP_NET_RAW, for packets"),
    ("rights", {"proc/77/limits": "Max locked memory         65536                65536                bytes"}, "wrong",
     "CAP_IPC_LOCK, for the locked memory of port p0"),
    ("rights", {"proc/77/status": "Uid:\t0\t0\nCapEff:\t000001ffffffffff\nSeccomp:\t2"}, "advice", "runs as root"),
    ("rights", {"proc/77/status": "Uid:\t998\nCapEff:\t0000000000003000\nSeccomp:\t0"}, "advice", "not filtered"),
    ("other-daemons", {"proc/55/comm": "vpp_main"}, "advice", "process 55"),
]


def test_a_sub_interface_that_forwards_is_no_stranger(tmp_path):
    conf = "proc/sys/net/ipv4/conf"
    plant(tmp_path, GOOD | {f"{conf}/v7/forwarding": "1"})
    found = [finding for finding in look(tmp_path, lines=[*CONFIG, "set vport v7 port p0 vlan 7"]) if finding.check == "kernel-forwarding"]
    assert [finding.status for finding in found] == ["good"]


def test_a_tunnel_that_linux_made_is_no_stranger_once_it_is_taken_over(tmp_path):
    plant(tmp_path, GOOD | {"proc/sys/net/ipv4/conf/gre1/forwarding": "1"})
    for state, status in ((None, "advice"), ({"interface": [{"name": "gre1", "kind": "tunnel"}]}, "good")):
        assert [finding.status for finding in look(tmp_path, ["kernel-forwarding"], state)] == [status]


@pytest.mark.parametrize("state, module, restart", [(None, None, False), ({"system": {}}, None, True), ({"system": {}}, "sys/module/vfio/", False)])
def test_a_running_kamueed_does_not_see_vfio_that_is_loaded_later(tmp_path, state, module, restart):
    plant(tmp_path, GOOD | {f"{PCI}/driver": ("link", "../drivers/ixgbe")} | ({module: None} if module else {}))
    found, = look(tmp_path, ["nic-driver"], state)
    assert ("systemctl restart kamueed" in found.fix) == restart


@pytest.mark.parametrize("line, capability", [
    ("set vr blue", "CAP_SYS_ADMIN"), ("set vr blue namespace blue", "CAP_SYS_ADMIN"), ("set vr blue table 5", ""),
    ("set port p1 namespace blue", "CAP_SYS_ADMIN"), ("set port p1 devargs net_af_xdp0,iface=eth0", "CAP_SYS_ADMIN")])
def test_what_is_configured_says_which_rights_it_takes(tmp_path, line, capability):
    found = look(plant(tmp_path, GOOD), ["rights"], lines=[*CONFIG, line])
    assert [finding.found for finding in found] == ([f"{capability} is missing"] if capability else ["uid 998 with CAP_NET_ADMIN CAP_NET_RAW"])


def test_the_rights_of_a_stranger_in_another_namespace_are_its_own_business(tmp_path):
    plant(tmp_path, GOOD | {"proc/self/ns/net": ("link", "net:[1]"), "proc/77/ns/net": ("link", "net:[2]"),
                            "proc/77/status": "Uid:\t0\t0\nCapEff:\t000001ffffffffff\nSeccomp:\t2"})
    assert [finding.found for finding in look(tmp_path, ["rights"])] == ["not running"]
    assert [finding.found for finding in look(tmp_path, ["rights"], {"system": {"pid": 77}})] == ["runs as root"]


def plant(root, files):
    for path, content in files.items():
        place = root / path
        if content is None and not path.endswith("/"):
            continue
        place.parent.mkdir(parents=True, exist_ok=True)
        if path.endswith("/"):
            place.mkdir(exist_ok=True)
        elif isinstance(content, tuple):
            os.symlink(content[1], place)
        else:
            place.write_bytes(content if isinstance(content, bytes) else content.encode())
    return root


def look(root, names=(), state=None, lines=CONFIG):
    return command.findings(Facts(Host(str(root)), list(lines), state), list(names))


def test_a_tuned_machine_has_nothing_to_do(tmp_path):
    found = look(plant(tmp_path, GOOD))
    assert {finding.check: finding.status for finding in found if finding.status in ("advice", "wrong")} == {}
    good = {finding.check for finding in found if finding.status == "good"}
    quiet = {"steal", "rss", "route-not-followed", "queue-cores", *AGREE}   # no hypervisor; one queue; kamueed is not running
    assert good >= {check.name for check in command.CHECKS} - quiet


def test_avx2_has_vectors_for_everything(tmp_path):
    found = [f for f in look(plant(tmp_path, GOOD | {"proc/cpuinfo": FLAGS.replace("avx512", "x")})) if f.check == "instructions"]
    assert [f.status for f in found] == ["good"] and "AVX2" in found[0].found


@pytest.mark.parametrize("check, files, status, words", WRONG, ids=[f"{n}-{row[0]}" for n, row in enumerate(WRONG)])
def test_each_condition_is_seen_when_it_does_not_hold(tmp_path, check, files, status, words):
    found = [finding for finding in look(plant(tmp_path, GOOD | files)) if finding.status in ("advice", "wrong")]
    assert [finding.status for finding in found] == [status], found
    assert words in " ".join([found[0].found, found[0].wanted, found[0].effect, *found[0].fix])
    assert found[0].effect


def test_every_check_can_fail():
    assert {row[0] for row in WRONG} | {row[0] for row in DISAGREE} | {"rss", "route-not-followed", "queue-cores"} == {check.name for check in command.CHECKS}


# --- where kernel and kamueed disagree ---

PORTS = ["set port p0 kernel-interface eth1", "set port p1 devargs net_af_packet3,framecnt=64,iface=eth2", "set vr red table 10", "set vr blue namespace blue",
         "set gpu g0 device 0 vr red"]
MAC = "02:00:00:00:00:01"
AGREE = {"gpu", "port-device", "port-addresses", "mac", "routes", "vrf", "offload", "checksums"}


def link(name, index, **more):
    return {"ifname": name, "ifindex": index, "address": MAC, **more}


LINKS = [{}, link("eth1", 2, addr_info=[{"local": "fe80::1", "prefixlen": 64, "scope": "link"}]), link("eth2", 3), link("p0", 4), link("p1", 5),
         link("red", 6, linkinfo={"info_kind": "vrf", "info_data": {"table": 10}})]
ROUTES = [{"dst": "default", "gateway": "192.0.2.9", "dev": "p0", "metric": 20}, {"dst": "10.9.9.0/24", "dev": "mgmt"}]
STATE = {"system": {}, "thread": [], "interface": [{"name": "p0", "vr": "default", "mac": MAC}, {"name": "p1", "vr": "default", "mac": MAC}],
         "port": [{"name": "p0", "kernel-interface": "eth1", "devargs": "net_af_packet-p0,iface=eth1", "statistics": {"checksum-completed": 5}},
                  {"name": "p1", "kernel-interface": "eth2", "devargs": "net_af_packet3,iface=eth2", "statistics": {}}]}
SNMP = "Tcp: InSegs InErrs InCsumErrors\nTcp: 900 {n} {n}\n"


def agreeing(links=(), routes=ROUTES, damaged=0):
    """A record of the output of `ip` and the kernel; `links` replace those of the same name."""
    named = {entry.get("ifname"): entry for entry in [*LINKS, *links]}
    return {".says/ip_-j_-d_addr": json.dumps(list(named.values())), ".says/ip_-j_-4_route": json.dumps(routes), ".says/ip_-j_-6_route": "[]",
            "usr/lib64/libcuda.so.1": "", "proc/driver/nvidia/version": "",
            ".says/ip_netns_exec_blue_cat_%proc%net%snmp": SNMP.format(n=0), "proc/net/snmp": SNMP.format(n=damaged)}


def state(**port):
    return STATE | {"port": [STATE["port"][0] | port, STATE["port"][1]]}


ADDRESS = {"local": "10.1.1.1", "prefixlen": 24, "scope": "global"}
NO_LIBRARY, NO_MODULE = ({path: text for path, text in agreeing().items() if not path.endswith(gone)} for gone in ("libcuda.so.1", "version"))
DISAGREE = [
    ("gpu", NO_LIBRARY, STATE, "wrong", "there is no libcuda.so.1"), ("gpu", NO_MODULE, STATE, "wrong", "modprobe nvidia"),
    ("port-device", agreeing(), state(**{"kernel-interface": "eth2"}), "wrong", "p0 and p1: both on eth2"),
    ("port-device", agreeing([link("eth2", 2)]), STATE, "wrong", "both on"),
    ("port-addresses", agreeing([link("eth1", 2, addr_info=[ADDRESS])]), STATE, "advice", "ip addr add 10.1.1.1/24 dev p0"),
    ("port-addresses", agreeing(routes=[{"dst": "default", "gateway": "10.1.1.2", "dev": "eth1"}]), STATE, "wrong",
     "ip route del default via 10.1.1.2 dev eth1"),
    ("mac", agreeing([link("p1", 5, address="02:11:11:11:11:11")]), STATE, "wrong", f"ip link set p1 address {MAC}"),
    ("routes", agreeing(routes=[*ROUTES, {"dst": "default", "gateway": "10.9.9.2", "dev": "mgmt"}]), STATE, "wrong", "via 10.9.9.2 dev mgmt"),
    ("vrf", agreeing([link("red", 6)]), STATE, "wrong", "ip link add red type vrf table 10"),
    ("offload", agreeing(), state(statistics={"offload-cut": 7}), "wrong", "tso off"),
    ("checksums", agreeing(damaged=62), STATE, "wrong", "62 of 962"),
]


def disagreements(root, names, kamueed):
    return [finding for finding in look(root, names, kamueed, PORTS) if finding.status in ("advice", "wrong")]


def test_a_router_that_agrees_with_its_kernel_is_good(tmp_path):
    found = look(plant(tmp_path, agreeing()), AGREE, STATE, PORTS)
    assert {(finding.check, finding.status) for finding in found} == {(check, "good") for check in AGREE}
    assert any("5 completed here" in finding.found for finding in found)


@pytest.mark.parametrize("check, files, kamueed, status, words", DISAGREE, ids=[f"{n}-{row[0]}" for n, row in enumerate(DISAGREE)])
def test_each_disagreement_with_the_kernel_is_seen(tmp_path, check, files, kamueed, status, words):
    found = disagreements(plant(tmp_path, files), [check], kamueed)
    assert [finding.status for finding in found] == [status], found
    told = f"{found[0].subject}: " + " ".join([found[0].found, found[0].wanted, found[0].effect, *found[0].fix])
    assert words in told and found[0].effect


@pytest.mark.parametrize("packets, status", [((90_000, 5_000, 5_000), "advice"), ((40_000, 30_000, 30_000), "good"), ((10, 0, 0), "absent")])
def test_rss_is_judged_by_the_queues_of_a_running_router(tmp_path, packets, status):
    queues = [{"queue": n, "rx-packets": count} for n, count in enumerate(packets)]
    state = {"system": {}, "thread": [], "port": [{"name": "p0", "devargs": CARD, "rss": ["ipv4"], "statistics": {"queue": queues}}]}
    assert [finding.status for finding in look(plant(tmp_path, GOOD), ["rss"], state)] == [status]


@pytest.mark.parametrize("busy, status", [(600, "good"), (800, "advice")])
def test_a_busy_core_that_sends_for_a_queue_is_named(tmp_path, busy, status):
    state = {"thread": [{"name": "forwarder/1", "core": 2, "statistics": {"busy-cycles": busy, "idle-cycles": 1000 - busy}}],
             "queue": [{"port": "p0", "core": 2}, {"port": "p1", "core": -1}]}
    found = command.findings(Facts(Host(str(tmp_path)), [], state), ["queue-cores"])
    assert [(finding.status, finding.subject) for finding in found] == [(status, "queue of port p0")]
    assert f"core 2 is {busy // 10} % busy" in found[0].found


def test_what_is_not_followed_is_wrong(tmp_path):
    kind = {"kind": "rule", "routes": 2, "example": "IPv4 rule 100: lookup 77", "effect": "policy rules"}
    link = {"kind": "link", "routes": 1, "example": "0.0.0.0/0 by mgmt", "effect": "refused"}
    state = {"audit": [{"vr": "default", "not-followed": 2, "unfollowed": [kind, link]}, {"vr": "red", "not-followed": 0, "unfollowed": [link]}]}
    found = command.findings(Facts(Host(str(tmp_path)), [], state), ["route-not-followed"])
    assert [(finding.status, finding.subject) for finding in found] == [("wrong", "default"), ("good", "red")]
    assert "IPv4 rule 100: lookup 77 and 1 more" in found[0].found


def test_a_machine_that_tells_nothing_is_not_called_good(tmp_path):
    found = look(tmp_path, lines=())
    assert {finding.check for finding in found if finding.status == "good"} <= {"kernel-forwarding", "other-daemons"}


def test_a_record_gives_the_same_findings_elsewhere(tmp_path):
    here = plant(tmp_path / "here", GOOD | {f"{PCI}/config": registers(0x5000)})
    facts = Facts(Host(str(here)), CONFIG)
    found = command.findings(facts, [])
    assert facts.host.record(str(tmp_path / "record.tar.gz")) > 30
    with tarfile.open(tmp_path / "record.tar.gz") as archive:
        archive.extractall(tmp_path / "there")
    assert look(tmp_path / "there") == found


def test_mere_advice_ends_with_0_and_what_is_wrong_with_4(tmp_path, kamuee):
    for files, code in (({"sys/devices/system/cpu/isolated": "3"}, 0), ({"dev/net/tun": None}, 4)):
        root = plant(tmp_path / str(code), GOOD | files)
        (tmp_path / "conf").write_text("\n".join(CONFIG))
        assert kamuee("doctor", "--root", str(root), "--config", str(tmp_path / "conf")).code == code


def test_only_safe_fixes_are_run_and_failures_are_told(tmp_path):
    file = tmp_path / "governor"
    found = [Finding("governor", "advice", "core 0", "powersave", fix=(f"echo performance > {file}",), safe=True),
             Finding("smt", "advice", "core 0", "shared", fix=(f"echo never > {file}",)),
             Finding("tun", "wrong", "kernel", "none", fix=("exit 3",), safe=True)]
    assert command.repair(found) == [(f"echo performance > {file}", ""), ("exit 3", "exit code 3")]
    assert file.read_text() == "performance\n"


def test_the_program_prints_json_and_exit_codes(tmp_path, kamuee, capsys):
    root = plant(tmp_path / "root", GOOD | {"dev/net/tun": None})
    (tmp_path / "conf").write_text("\n".join(CONFIG))
    result = kamuee("doctor", "--root", str(root), "--config", str(tmp_path / "conf"), "--json")
    assert result.code == 4
    assert [finding["check"] for finding in json.loads(result.out)["finding"] if finding["status"] == "wrong"] == ["tun"]
    result = kamuee("doctor", "--root", str(root), "--config", str(tmp_path / "conf"), "governor")
    assert (result.code, result.out.split()[:4]) == (0, ["0", "wrong,", "0", "to"])
    result = kamuee("doctor", "--root", str(root), "--config", str(tmp_path / "conf"), "tun")
    assert result.code == 4 and result.out.startswith("WRONG  tun: kernel: no /dev/net/tun\n       wanted: the tun module")


def test_wrong_usage_names_what_is_expected(kamuee, tmp_path):
    for words, said in ((["nonsense"], "expected: huge-pages"), (["--root", str(tmp_path), "--fix"], "--fix works on this host"),
                        (["--root", str(tmp_path / "none")], "is not a directory")):
        result = kamuee("doctor", *words)
        assert result.code == 2 and said in result.err
    result = kamuee("doctor", "--config", str(tmp_path / "none"))
    assert result.code == 1 and "No such file" in result.err


def test_parts():
    assert cores_of("0-2,5") == [0, 1, 2, 5] and cores_of("(null)") == [] and list_of([5, 0, 1, 2]) == "0-2,5"
    assert pci_of("3B:00.1,representor=0") == "0000:3b:00.1" and pci_of("net_memif0,role=client") is None
    assert express(registers(0x100)) == (0x70, 0x20, 0x100) and express(b"\0" * 64) is None
    loop = bytearray(registers(0))
    loop[0x40:0x42] = bytes([1, 0x40])  # a capability that points to itself
    assert express(bytes(loop)) is None
    assert round(gigabits("2.5 GT/s PCIe", 4)) == 8
