# SPDX-License-Identifier: BSD-3-Clause
"""The unit as `make install` puts it, under a real systemd: start, watchdog, restart, upgrade, reload, groups, journal, sandbox, boot order, shutdown."""
import json
import re
import time

import pytest

from router import Router, eventually
from vm import pci

CARDS = ["e1000e", "virtio"]
CONFIG = "/etc/kamuee/kamuee.conf"
EXPOSURE_MOST = 2.3         # systemd-analyze security: 10 is without any protection


@pytest.fixture(scope="module")
def up(router):
    router.bind(0, 1)
    router.start([0, 1])
    return router


def show(up: Router, *names: str) -> dict[str, str]:
    lines = up.vm.out(f"systemctl show kamueed {' '.join('-p ' + name for name in names)}").splitlines()
    return dict(line.split("=", 1) for line in lines)


def is_back(up: Router, pid_before: int, timeout_s: float = 90) -> None:
    eventually(lambda: show(up, "ActiveState")["ActiveState"] == "active" and up.pid() not in (0, pid_before), timeout_s, up.told)


def test_the_unit_has_nothing_that_systemd_does_not_know(up):
    assert up.vm.out("systemctl show -P FragmentPath kamueed").strip() == "/usr/local/lib/systemd/system/kamueed.service"
    said = up.vm.run("systemd-analyze verify --man=no kamueed.service", check=False)
    assert said.rc == 0 and not said.out.strip(), said.out


def test_systemctl_start_returns_when_the_router_serves(up):
    up.vm.run("systemctl stop kamueed")
    code = up.vm.run("systemctl start kamueed && kamuee show port", check=False)
    assert code.rc == 0 and "p0" in code.out, code.out
    assert show(up, "Type", "SubState", "StatusText")["SubState"] == "running"


def test_a_process_that_stands_still_is_killed_by_the_watchdog_and_comes_back(up):
    up.assert_forwards(0, 1, sizes=(128,))
    before = up.pid()
    up.vm.run(f"kill -STOP {before}")
    is_back(up, before)
    assert "Watchdog timeout" in up.vm.out("journalctl -b --no-pager _PID=1 UNIT=kamueed.service")
    up.assert_forwards(0, 1, sizes=(128,))           # addresses and routes are those of the TAPs, which stay


def test_a_killed_process_comes_back(up):
    for _ in range(2):
        before = up.pid()
        up.vm.run(f"kill -KILL {before}")
        is_back(up, before)
        up.assert_forwards(1, 0, sizes=(128,))


def test_a_restart_and_a_crash_leave_carrier_and_routes_alone(up):
    """systemd's descriptor store holds the TAPs."""
    def link() -> dict:
        return {key: json.loads(up.vm.out("ip -j link show dev p1"))[0][key] for key in ("ifindex", "flags")}
    up.vm.run("ip nexthop add id 77 via 10.0.1.2 dev p1 && ip route add 203.0.113.0/24 nhid 77")
    up.vm.run("setsid ip -oneline monitor route nexthop </dev/null >/root/monitor.log 2>&1 & sleep 1")
    try:
        for command in ("systemctl restart kamueed", "kill -KILL $(systemctl show -P MainPID kamueed)"):
            before, pid = link(), up.pid()
            up.vm.run(command, timeout_s=90)
            is_back(up, pid)
            assert link() == before, (command, up.told())
            up.assert_forwards(0, 1, sizes=(128,))
        assert int(show(up, "NFileDescriptorStore")["NFileDescriptorStore"]) == 2
        assert "Deleted" not in up.vm.out("cat /root/monitor.log"), up.vm.out("cat /root/monitor.log")
        assert "nhid 77" in up.vm.out("ip route show 203.0.113.0/24")
        up.vm.run("systemctl stop kamueed")
        assert "LOWER_UP" not in link()["flags"]
    finally:
        up.vm.run("pkill -f 'ip -oneline monitor'; ip route del 203.0.113.0/24; ip nexthop del id 77", check=False)
        up.start([0, 1])


def test_an_upgrade_leaves_the_unit_running_with_the_new_process_as_its_main_one(up):
    """Cards under vfio are closed by the old process and opened by the new one; watchdog, store and stop are the new one's."""
    up.assert_forwards(0, 1, sizes=(128,))
    up.vm.run("ip nexthop add id 77 via 10.0.1.2 dev p1 && ip route add 203.0.113.0/24 nhid 77")
    ifindex, before, restarts = up.vm.out("cat /sys/class/net/p1/ifindex"), up.pid(), show(up, "NRestarts")
    try:
        said = up.vm.run("kamuee upgrade", timeout_s=240, check=False)
        assert said.rc == 0 and "lookups compared" in said.out, said.out + up.told()
        new = up.pid()
        assert new != before and not up.vm.out(f"ls -d /proc/{before}", check=False).startswith("/proc")
        assert show(up, "ActiveState", "SubState", "Result", "NRestarts") == {"ActiveState": "active", "SubState": "running", "Result": "success", **restarts}
        assert "/kamueed.service" in up.vm.out(f"cat /proc/{new}/cgroup")
        assert int(show(up, "NFileDescriptorStore")["NFileDescriptorStore"]) == 2
        assert up.vm.out("cat /sys/class/net/p1/ifindex") == ifindex
        up.assert_forwards(0, 1, sizes=(128,))
        up.assert_ledger()
        up.vm.run(f"kill -STOP {new}")
        is_back(up, new)                             # the watchdog watches it
        assert up.vm.out("cat /sys/class/net/p1/ifindex") == ifindex, "the store has the TAPs"
        assert "nhid 77" in up.vm.out("ip route show 203.0.113.0/24")
        up.assert_forwards(1, 0, sizes=(128,))
    finally:
        up.vm.run("ip route del 203.0.113.0/24; ip nexthop del id 77", check=False)


def test_a_wrong_file_ends_the_start_once_and_says_where(up):
    right = up.vm.out(f"cat {CONFIG}")
    up.vm.put(CONFIG, right + "set port p0 mtu banana\n")
    try:
        up.vm.run("systemctl stop kamueed")
        assert up.vm.run("systemctl start kamueed", check=False).rc != 0
        time.sleep(3)                                # longer than RestartSec
        state = show(up, "ActiveState", "ExecMainStatus", "NRestarts")
        assert state["ActiveState"] == "failed" and state["ExecMainStatus"] == "3", state
        assert "banana" in up.vm.out("journalctl -u kamueed --no-pager -n 20")
    finally:
        up.vm.put(CONFIG, right)
        up.vm.run("systemctl reset-failed kamueed; systemctl start kamueed")
    up.address([0, 1])


def test_reload_takes_the_file_and_a_wrong_one_changes_nothing(up):
    right = up.vm.out(f"cat {CONFIG}")
    pid = up.pid()
    try:
        up.vm.put(CONFIG, right + "set interface p0 description uplink\n")
        up.vm.run("systemctl reload kamueed")
        eventually(lambda: up.state("interface=p0")[0].get("description") == "uplink", 20, up.told)
        up.vm.put(CONFIG, right + "set interface p0 banana\n")
        up.vm.run("systemctl reload kamueed")
        eventually(lambda: "not reloaded" in up.vm.out("journalctl -u kamueed --no-pager -n 20"), 20)
        assert up.state("interface=p0")[0].get("description") == "uplink" and up.pid() == pid
    finally:
        up.vm.put(CONFIG, right)
        up.vm.run("systemctl reload kamueed")
    eventually(lambda: "description" not in up.state("interface=p0")[0], 20)


def test_groups_of_the_socket(up):
    for user, groups in (("reads", "-G kamuee-read"), ("operates", "-G kamuee-oper"), ("rules", "-G kamuee"), ("nobody2", "")):
        up.vm.run(f"id {user} 2>/dev/null || useradd -m {groups} {user}")
    show_port, change = "kamuee show port", "kamuee set interface p0 description x"

    def may(user: str, command: str) -> bool:
        return up.vm.run(f"runuser -u {user} -- {command}", check=False).rc == 0
    assert not may("nobody2", show_port)
    assert may("reads", show_port) and not may("reads", change) and not may("reads", "kamuee clear counters")
    assert may("operates", "kamuee clear counters") and not may("operates", change)
    assert may("rules", change) and may("rules", "kamuee delete interface p0 description")


def test_journal_entries_have_fields(up):
    def entries(*filters: str) -> list[dict]:
        return [json.loads(line) for line in up.vm.out(f"journalctl -b -o json --no-pager {' '.join(filters)}").splitlines()]
    ready = entries("MESSAGE_ID=9acc80925a5540c6ac445087cbf94a54")
    assert ready and ready[-1]["_SYSTEMD_UNIT"] == "kamueed.service" and ready[-1]["SYSLOG_IDENTIFIER"] == "kamueed", ready
    links = entries("-u kamueed", "KAMUEE_MODULE=port_manager", "KAMUEE_PORT=p0", "MESSAGE_ID=1270b563d3af45d198dabfd5a533ef95")
    assert links and links[-1]["KAMUEE_STATE"] == "up" and links[-1]["PRIORITY"] in "56", links


def test_the_sandbox_is_in_force(up):
    status = up.vm.out(f"cat /proc/{up.pid()}/status")
    assert re.search(r"^Seccomp:\s+2$", status, re.M) and re.search(r"^NoNewPrivs:\s+1$", status, re.M), status
    uid = up.vm.out("id -u kamuee").strip()
    held = 1 << 12 | 1 << 13 | 1 << 21               # NET_ADMIN, NET_RAW and, for namespaces, SYS_ADMIN
    assert re.search(rf"^Uid:\s+{uid}\s", status, re.M) and re.search(rf"^CapEff:\s+{held:016x}$", status, re.M), status
    assert "tap_sysctl: not set" not in up.vm.out("journalctl -u kamueed --no-pager"), "the settings of its TAPs are within reach"
    said = up.vm.out("systemd-analyze security --no-pager kamueed | tail -1")
    assert float(re.search(r"([\d.]+) \w", said)[1]) <= EXPOSURE_MOST, up.vm.out("systemd-analyze security --no-pager kamueed")


def test_nothing_that_the_router_does_is_forbidden_by_its_filter(up):
    """With the filter's answer changed from an error to death, a call that the filter lacks cannot pass unnoticed.

    iopl is allowed here: DPDK's virtio driver tries it when it is loaded, for cards without vfio, and goes on without. So is bpf: what it
    is good for on a veth is told to be missing.
    """
    up.vm.put("/etc/systemd/system/kamueed.service.d/deadly.conf", "[Service]\nSystemCallErrorNumber=kill\nSystemCallFilter=iopl bpf\nRestart=no\n")
    try:
        up.vm.run("systemctl daemon-reload; systemctl restart kamueed", timeout_s=90)
        pid = up.pid()
        up.address([0, 1])
        up.assert_forwards(0, 1, sizes=(128, 1514))
        up.vm.run("ip netns add blue; ip link add v0 type veth peer name v1; ip link set v0 up; ip link set v1 up")
        added = ("vr blue namespace blue", "vport v port p0 vlan 5", "interface v vr blue", "port p9 kernel-interface v0", "acl-limit memory 64")
        up.call("configure", line=[f"set {line}" for line in added])
        for command in ("show vr", "show memory", "audit", "explain in p0 src 10.0.0.2 dst 10.0.1.2", "save", "show tech-support"):
            up.vm.run(f"kamuee {command}", timeout_s=180)
        up.vm.run("timeout 5 kamuee capture p0", check=False)          # ends by the signal
        up.vm.run("systemctl reload kamueed; sleep 2")
        up.call("configure", line=["delete port p9", "delete vport v", "delete interface v", "delete vr blue", "delete acl-limit"])
        assert up.pid() == pid, up.told() + up.vm.out("journalctl -k --no-pager | grep -i seccomp", check=False)
        up.vm.run("systemctl stop kamueed")
        assert show(up, "Result")["Result"] == "success", up.told()
    finally:
        up.vm.run("rm -r /etc/systemd/system/kamueed.service.d; ip netns del blue; ip link del v0; systemctl daemon-reload", check=False)
        up.start([0, 1])


def test_a_virtual_router_has_a_namespace_and_frr_of_its_own(up):
    """kamueed may neither mount nor start a program: a unit names the namespace, another one is FRR's."""
    vm, unit = up.vm, "kamuee-frr@green"
    vm.run("kamuee vr create green daemon frr", timeout_s=180)
    assert vm.out(f"systemctl is-active {unit}; systemctl is-enabled {unit}").split() == ["active", "enabled"]
    assert "FRRouting" in vm.out("ip netns exec green vtysh -N green -c 'show version'")
    watchfrr = vm.out("cat /run/frr/green/watchfrr.pid").strip()
    vm.run(f"kill -KILL {watchfrr}")
    eventually(lambda: vm.run(f"systemctl is-active {unit}", check=False).out.strip() == "active" and
               vm.out("cat /run/frr/green/watchfrr.pid").strip() != watchfrr, 90, lambda: vm.out(f"journalctl -b --no-pager -u {unit}"))
    vm.run("kamuee vr delete green", timeout_s=180)
    assert vm.run(f"systemctl is-active {unit}; systemctl is-enabled {unit}", check=False).out.split() == ["inactive", "disabled"]
    assert "green" not in vm.out("ls /run/netns; kamuee show vr")


def daemons_run(up: Router, *units: str) -> None:
    eventually(lambda: up.vm.run(f"systemctl is-active {' '.join(units)}", check=False).out.split() == ["active"] * len(units), 90,
               lambda: up.vm.run(f"systemctl status --no-pager {' '.join(units)}; journalctl -b --no-pager | tail -40", check=False).out)


def bird(up: Router, name: str, command: str) -> str:
    return up.vm.run(f"kamuee vr enter {name} birdc {command}", check=False).out


def test_a_virtual_router_with_bird_outlives_the_helper_and_the_router(up):
    vm, unit = up.vm, "kamuee-bird@amber"
    vm.run("kamuee vr create amber daemon bird", timeout_s=180)
    daemons_run(up, unit)
    assert "Daemon is up and running" in bird(up, "amber", "show status")
    pid = vm.out("cat /run/bird/amber.pid")
    vm.run("kill -KILL $(systemctl show -P MainPID kamuee-netns)", check=False)
    vm.run("kamuee vr create ivory && kamuee vr delete ivory", timeout_s=180)       # its socket starts it again
    assert "ivory" not in vm.out("ls /run/netns")
    for command in ("systemctl restart kamueed", "kill -KILL $(systemctl show -P MainPID kamueed)"):
        before = up.pid()
        vm.run("kamuee save && " + command, timeout_s=90)
        is_back(up, before)
        assert "amber" in vm.out("ls /run/netns; kamuee show vr"), up.told()
        assert vm.out("cat /run/bird/amber.pid") == pid and "Daemon is up and running" in bird(up, "amber", "show status")
    vm.run("kill -KILL $(cat /run/bird/amber.pid)")
    eventually(lambda: "Daemon is up and running" in bird(up, "amber", "show status") and vm.out("cat /run/bird/amber.pid") != pid, 90,
               lambda: vm.out(f"journalctl -b --no-pager -u {unit}"))
    vm.run("kamuee vr delete amber", timeout_s=180)
    assert vm.run(f"systemctl is-active {unit}; systemctl is-enabled {unit}", check=False).out.split() == ["inactive", "disabled"]
    assert "amber" not in vm.out("ls /run/netns; kamuee show vr")


def test_stopping_takes_no_time_and_gives_everything_back(up):
    begun = time.monotonic()
    up.vm.run("systemctl stop kamueed")
    assert time.monotonic() - begun < 20
    assert show(up, "Result", "ExecMainStatus") == {"Result": "success", "ExecMainStatus": "0"}
    up.vm.run("systemctl start kamueed")
    up.address([0, 1])


def test_the_machine_boots_into_a_router(up):
    """Enabled next to FRR and systemd-networkd, with the cards bound by driverctl as in one-nic.md; a shutdown does not hang.

    Virtual routers come back with their daemons.
    """
    vm = up.vm
    daemons = ["kamuee-frr@green", "kamuee-bird@amber"]
    vm.run("kamuee vr create green daemon frr && kamuee vr create amber daemon bird && kamuee save", timeout_s=300)
    vm.run("systemctl stop kamueed")                 # else the kernel waits until it gives up the cards
    for card in (0, 1):
        vm.run(f"driverctl set-override {pci(card)} vfio-pci")
    for card in (0, 1):
        vm.put(f"/etc/systemd/network/p{card}.network",
               f"[Match]\nName=p{card}\n[Network]\nAddress=10.0.{card}.1/24\nAddress=fd00:{card}::1/64\nLinkLocalAddressing=ipv6\n")
    vm.run("systemctl enable kamueed frr systemd-networkd; sync")
    begun = time.monotonic()
    vm.reboot()
    shutdown_s = vm.down_s
    assert shutdown_s < 60, f"{shutdown_s} s; {time.monotonic() - begun}"
    assert vm.out("systemctl is-active kamueed frr systemd-networkd", check=False).split() == ["active"] * 3, up.told()

    def at(unit: str) -> int:
        return int(vm.out(f"systemctl show -P ActiveEnterTimestampMonotonic {unit}"))
    assert at("kamueed") <= at("frr") and at("kamueed") <= at("network.target")
    assert show(up, "NRestarts")["NRestarts"] == "0", up.told()
    for card in (0, 1):
        eventually(lambda: f"10.0.{card}.1" in vm.out(f"ip -br addr show p{card}"), 30, lambda: vm.out("ip addr; networkctl", check=False))
    up.assert_forwards(0, 1, sizes=(128,))
    assert "p0" in vm.out("vtysh -c 'show interface brief'")
    daemons_run(up, *daemons)
    assert {"green", "amber"} <= set(vm.out("ls /run/netns").split())
    assert "FRRouting" in vm.out("kamuee vr enter green vtysh -c 'show version'")
    assert "Daemon is up and running" in bird(up, "amber", "show status")
