# SPDX-License-Identifier: BSD-3-Clause
"""kamueed's own life: only it carries traffic; it is killed and restarted; it stops in order."""
import os
import re
import signal
import subprocess
from pathlib import Path

import pytest

from kamuee.lab import measure, rights
from kamuee.lab.kamueenode import find_kamueed

from daemon import Daemon
from support import Pinging, assert_no_loss, assert_reaches, eventually, ping, pings, reaches, rx_packets

LAB = """
nodes:
  h1: $HOST(1)
  r:
    kind: kamuee
    daemon: frr
    interfaces:
      p0: [10.1.0.1/24, "fd00:1::1/64"]
      p1: [10.12.0.1/24, "fd00:12::1/64"]
      p2: [10.2.0.1/24]
    asn: 65001
    neighbors: [{address: 10.12.0.2, asn: 65002}, {address: "fd00:12::2", asn: 65002}]
    networks: [10.1.0.0/24, "fd00:1::/64"]
  r2:
    kind: router
    daemon: bird
    interfaces: {p1: [10.12.0.2/24, "fd00:12::2/64"], lo: [198.51.100.1/32, "2001:db8:100::1/128"]}
    asn: 65002
    neighbors: [{address: 10.12.0.1, asn: 65001}, {address: "fd00:12::1", asn: 65001}]
    networks: [198.51.100.0/24, "2001:db8:100::/48"]
  h2: $HOST4(2)                                    # reached without any routing daemon
links:
  - [r:p2, h2:eth0]
  - [h1:eth0, r:p0]
  - [r:p1, r2:p1]
"""
TARGETS = ("198.51.100.1", "2001:db8:100::1")


def assert_all_reached(lab) -> None:
    """Waits for new BGP sessions first: a peer may still hold one from before the stop, and its end would cost packets in the next test."""
    eventually(lambda: len(sessions := lab["r"].frr.sessions()) == 2 and all(sessions.values()), 60, lambda: str(lab["r"].frr.sessions()), 0.2)
    for target in TARGETS:
        # A BGP session may break only now, take its routes along for a moment and come back: that is its right.
        eventually(lambda: pings(lab["h1"], target, 50).lost == 0, 60, f"{target} is reached without loss", 0.5)


@pytest.mark.skipif(rights.ids() is not None, reason="an ordinary user's kamueed has them in its run directory")
def test_what_a_killed_kamueed_left_of_dpdk_is_removed_by_the_next_one(kamueed):
    """Another one, of another run directory: a lab or a test that was killed never comes back to its own."""
    killed, after = Daemon(kamueed, "e2e-life-killed"), Daemon(kamueed, "e2e-life-after")
    try:
        killed.start("")
        links = (os.readlink(fd) for fd in Path(f"/proc/{killed.process.pid}/fd").iterdir())
        directory = Path(next(link for link in links if "/dpdk/kamuee-" in link))
        killed.process.kill()
        killed.process.wait()
        assert directory.is_dir() and not list(directory.iterdir())
        after.start("")
        assert not directory.exists()
    finally:
        killed.end()
        after.end()


def test_what_a_killed_start_has_made_is_set_up_by_the_next_one(kamueed):
    daemon = Daemon(kamueed, "e2e-life-half")
    lines = "\n".join(f"set tunnel t{k} kind gre local 192.0.2.1 remote 198.51.{k >> 8}.{k & 255}" for k in range(1, 1001))
    try:
        daemon.file.write_text(lines)
        # At low priority: on a busy machine it could be done before it is killed.
        with subprocess.Popen(["nice", "-n", "19", *daemon.command()], stderr=subprocess.DEVNULL) as half:
            eventually(lambda: "t10" in daemon.links(), 60, "TAPs are made", 0.001)
            half.kill()
        assert "DOWN" in daemon.run("ip -br link show t1"), "it was killed before they were set up"
        daemon.start(lines)
        assert len(daemon.run("ip -br link show up type tun").splitlines()) == 1000
        eventually(lambda: len(re.findall("^t.* fe80::", daemon.run("ip -br -6 addr show scope link"), re.M)) == 1000, 30,
                   "each has its link-local address")
    finally:
        daemon.end()


def test_what_a_killed_kamueed_had_not_finished_is_finished_by_the_next_one(kamueed):
    """The addr_gen_mode of a new tunnel is reset some time after its commit; the operator's setting is not touched."""
    daemon = Daemon(kamueed, "e2e-life-late")
    lines = "\n".join(f"set tunnel t{k} kind gre local 192.0.2.1 remote 198.51.100.{k}" for k in range(1, 101))

    def modes() -> list[str]:
        return daemon.run("sysctl -n " + " ".join(f"net.ipv6.conf.t{k}.addr_gen_mode" for k in range(1, 101))).split()
    try:
        daemon.start(lines)
        listed = daemon.dir / "taps"
        eventually(lambda: modes() == ["0"] * 100 and len(listed.read_text().splitlines()) == 100, 30, "all are finished, and listed")
        daemon.process.kill()
        daemon.process.wait()
        daemon.run("sysctl -qw net.ipv6.conf.t5.addr_gen_mode=1 net.ipv6.conf.t7.addr_gen_mode=1")
        daemon.run("ip link set t6 down")
        listed.write_text("".join(line for line in listed.read_text().splitlines(True) if line.split()[1] != "t5"))
        daemon.start(lines)
        eventually(lambda: modes() == ["1" if k == 7 else "0" for k in range(1, 101)], 30, lambda: f"{modes()}")
        eventually(lambda: len(listed.read_text().splitlines()) == 100, 10, "it is listed")
        assert len(daemon.run("ip -br link show up type tun").splitlines()) == 99
        assert "fe80::" in daemon.run("ip -6 addr show dev t5 scope link")
    finally:
        daemon.end()


@pytest.mark.parametrize("most", [16, 64, 255])
def test_too_few_descriptors_are_refused_with_the_remedy(kamueed, most):
    daemon = Daemon(kamueed, "e2e-life-few")
    try:
        daemon.file.write_text("")
        done = subprocess.run(["prlimit", f"--nofile={most}:{most}", *daemon.command()], capture_output=True, text=True, timeout=60)
        assert done.returncode == 5 and len(done.stderr.splitlines()) == 1, done.stderr
        assert f"the limit of open files is {most} (RLIMIT_NOFILE)" in done.stderr and "LimitNOFILE=65536" in done.stderr
    finally:
        daemon.end()


def states_of_threads(pid: int) -> list[str]:
    return [stat.read_text().rpartition(")")[2].split()[0] for stat in Path(f"/proc/{pid}/task").glob("*/stat")]


def test_the_kernel_forwards_nothing(lab):
    said = lab["r"].run("sysctl -n net.ipv4.ip_forward net.ipv6.conf.all.forwarding").split()
    assert said == ["0", "0"]


def test_what_crosses_the_router_has_crossed_kamueed(lab):
    before = measure.port_packets(lab["r"])
    assert_no_loss(lab["h1"], TARGETS[0], 200)

    def crossed() -> list[int]:
        after = measure.port_packets(lab["r"])
        return [after[port][way] - before[port][way] for port in ("p0", "p1") for way in (0, 1)]
    eventually(lambda: min(crossed()) >= 200, what=lambda: f"200 packets in and out of p0 and p1: {crossed()}")


def test_while_kamueed_is_stopped_no_traffic_passes(lab):
    pid = lab["r"].kamueed_pid()
    os.kill(pid, signal.SIGSTOP)
    try:
        eventually(lambda: set(states_of_threads(pid)) == {"T"}, what=lambda: f"all threads stand: {states_of_threads(pid)}")
        eventually(lambda: rx_packets(lab["r2"], "p1") == rx_packets(lab["r2"], "p1"), what="nothing is under way")
        passed = rx_packets(lab["r2"], "p1")
        for target in TARGETS:
            assert ping(lab["h1"], target, 3).received == 0
        assert rx_packets(lab["r2"], "p1") == passed
    finally:
        os.kill(pid, signal.SIGCONT)
    assert_all_reached(lab)


def test_it_stops_in_order_within_two_seconds_and_the_traffic_with_it(lab):
    router = lab["r"]
    took_s = [router.stop_kamueed()]
    while took_s[-1] >= 2 and len(took_s) < 5:       # a busy machine may hold it up once, not each time
        router.start_kamueed()
        assert_all_reached(lab)
        took_s.append(router.stop_kamueed())
    assert min(took_s) < 2, took_s
    log = router.log.read_text()
    assert "AddressSanitizer" not in log and "bug_on" not in log
    for target in TARGETS:
        assert not reaches(lab["h1"], target)
    router.start_kamueed()
    assert_all_reached(lab)


def test_a_reload_of_the_configuration_loses_no_packet_and_restarts_nothing(lab):
    router = lab["r"]
    pid, file = router.kamueed_pid(), router.config_file
    text = file.read_text()
    pinging = [Pinging(lab["h1"], target) for target in ("198.51.100.1", "10.2.0.2")]
    try:
        for more in ("set punt icmp rate 3000\n", "set icmp rate 200\n", ""):
            said = router.log.read_text()
            file.write_text(text + more)
            os.kill(pid, signal.SIGHUP)
            eventually(lambda: "main: configuration reloaded" in router.log.read_text()[len(said):], 20, "the file is read again")
    finally:
        file.write_text(text)
        results = [one.stop(200) for one in pinging]
    assert [result.lost for result in results] == [0, 0], [result.said for result in results]
    assert router.kamueed_pid() == pid
    assert all(router.frr.sessions().values())


def test_killed_and_restarted_it_carries_everything_again(lab):
    router = lab["r"]
    router.kill_kamueed()
    assert not reaches(lab["h1"], TARGETS[0])
    router.start_kamueed()
    assert_all_reached(lab)
    eventually(lambda: all(router.frr.sessions().values()), 60, "the BGP sessions are up again", 0.2)


def test_a_routing_daemon_killed_and_restarted_does_not_stop_kamueed(lab):
    router = lab["r"]
    pid = router.kamueed_pid()
    assert_reaches(lab["h1"], "10.2.0.2")
    pinging = Pinging(lab["h1"], "10.2.0.2")
    router.frr.kill()
    router.frr.start()
    eventually(lambda: len(router.frr.sessions()) == 2 and all(router.frr.sessions().values()), 60,
               "the BGP sessions are up again", 0.2)
    result = pinging.stop()
    assert result.lost == 0, result.said
    assert router.kamueed_pid() == pid
    assert_all_reached(lab)


def test_a_second_kamueed_in_the_same_run_directory_is_refused_and_harms_nothing(lab):
    router = lab["r"]
    pid = router.kamueed_pid()
    second = router.popen([str(find_kamueed()), "--config", str(router.config_file), "--run-dir",
                           str(router.run_dir)], stdout=subprocess.PIPE)
    said = second.communicate(timeout=120)[0].decode()
    assert second.returncode != 0, said
    assert str(router.run_dir) in said or "already" in said or "busy" in said, said
    assert router.kamueed_pid() == pid
    assert_all_reached(lab)


@pytest.mark.parametrize("line, says", [
    ("set port p0 mtu 99999", "mtu"), ("set thread 9999 forwarder port p0 rx-queue 0", "9999"),
    ("set port p9 devargs net_af_packet9,iface=nonesuch", "nonesuch"), ("sett port", "sett"),
    ("set port p0 color red", "color")])
def test_a_configuration_that_cannot_be_stops_the_start_and_names_the_line(lab, tmp_path, line, says):
    config = tmp_path / "bad.conf"
    config.write_text(f"set memory 128\nset port p0 devargs net_null0\n{line}\n")
    done = lab["h1"].popen([str(find_kamueed()), "--config", str(config), "--run-dir", str(tmp_path)],
                           stdout=subprocess.PIPE)
    said = done.communicate(timeout=120)[0].decode()
    assert done.returncode != 0, said
    assert says in said, said
