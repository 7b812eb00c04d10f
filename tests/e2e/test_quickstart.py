# SPDX-License-Identifier: BSD-3-Clause
"""The quick starts do what they say: each command and each configuration is used as printed, in its order (page.py, by_hand.py)."""
import os
import re
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest

from kamuee.lab import state, vlan
from kamuee.lab.netns import Namespace
from by_hand import Machine, cable, carries_tcp
from page import PATIENCE_S, ROOT, blocks, commands, run_as_printed
from support import eventually

PAGES = "docs/quickstart/"


@pytest.fixture
def lab(tmp_path, monkeypatch):
    monkeypatch.setenv("KAMUEE_LAB_DIR", str(tmp_path / "labs"))
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    yield
    subprocess.run([sys.executable, ROOT / "kamuee", "lab", "stop", "--all"], env=dict(os.environ), timeout=300)


def test_every_command_of_the_quick_start_does_what_it_says(lab):
    run = commands(f"{PAGES}lab.md")
    assert len(run) > 20 and run[0][0].startswith("./kamuee lab start")
    for command, said in run:
        run_as_printed(command, said)


def test_a_packet_program_is_built_tried_and_run_as_printed(lab):
    page = (ROOT / PAGES / "program.md").read_text(encoding="utf-8")
    shown = re.search(r"```c\n(.*?)```", page, re.DOTALL)[1]
    assert shown in (ROOT / PAGES / "discard.c").read_text(encoding="utf-8")
    run = [(command, said) for command, said in commands(f"{PAGES}program.md")
           if command.startswith(("./kamuee ", "! ./kamuee ", "printf ", "sed ", "until ", "for p "))]
    assert len(run) >= 20
    for command, said in run:
        run_as_printed(command, said)


# --- routers by hand ---

def trunk(router: Machine, interface: str, switch: Machine, vlans: dict[int, Machine]) -> None:
    """To a switch; behind it each far end speaks with the tag of its VLAN."""
    switch.shell("ip link add trunk type bridge; ip link set trunk up")
    for vlan_id, (here, name, far) in {0: (router, interface, None), **{number: (far, "eth0", far) for number, far in
                                                                         vlans.items()}}.items():
        subprocess.run(["ip", "link", "add", name, "netns", here.name, "type", "veth", "peer", "name", f"t{vlan_id}", "netns", switch.name], check=True)
        switch.shell(f"ip link set t{vlan_id} master trunk; ip link set t{vlan_id} up")
        if far:
            vlan.put_on_vlan(Namespace(far.name), name, vlan.Tags(vlan_id), state.cache_dir())
        here.shell(f"ip link set {name} up")


def provider(number: int, address: str, peer: str, networks: int = 1) -> str:
    """More prefixes than one segment holds when there are a thousand."""
    lines = [f"router bgp {number}", " no bgp ebgp-requires-policy", " no bgp network import-check", f" neighbor {peer} remote-as 64496",
             f" neighbor {peer} timers connect 1", " address-family ipv4 unicast", "  network 203.0.113.0/24"]
    return "\n".join([*lines, *(f"  network 10.{100 + n // 250}.{n % 250}.0/24" for n in range(networks - 1)), " exit-address-family", "exit"])


def port_counter(router: Machine, port: str, name: str) -> int:
    found = re.search(rf'"{name}": (\d+)', router.shell(f"kamuee -j show port {port}").stdout)
    return int(found[1])


def test_a_router_of_your_own_is_one_in_half_a_minute(machines):
    router, isp, host = machines("q-own", "q-isp", "q-host")
    cable(router, "eth1", isp, "198.51.100.1/30")
    cable(router, "eth2", host, "192.0.2.9/24")
    host.shell("ip route add default via 192.0.2.1")
    isp.shell("ip addr add 203.0.113.1/24 dev lo")
    isp.speaks_bgp(provider(64500, "198.51.100.1", "198.51.100.2", 1000))
    router.follow(PAGES + "own-router.md", end="**5.")
    begun = time.monotonic()
    eventually(lambda: "1000" in router.shell("vtysh -c 'show bgp summary'").stdout.split("198.51.100.1")[-1], PATIENCE_S,
               lambda: router.shell("vtysh -c 'show bgp summary'; kamuee show drops").stdout)
    assert time.monotonic() - begun < PATIENCE_S
    router.follow(PAGES + "own-router.md", begin="**5.")
    carries_tcp(host, isp, "203.0.113.1")
    assert port_counter(router, "p0", "checksum-completed") > 0 and port_counter(router, "p1", "checksum-completed") > 0
    assert port_counter(router, "p0", "offload-cut") == port_counter(router, "p1", "offload-cut") == 0


def test_what_setup_writes_and_prints_is_a_router_with_policy(machines):
    router, isp, host = machines("q-setup", "q-setup-isp", "q-setup-host")
    cable(router, "eth1", isp, "198.51.100.1/30")
    cable(router, "eth2", host, "192.0.2.9/24")
    isp.speaks_bgp(provider(64500, "198.51.100.1", "198.51.100.2"))
    (router.etc / "frr").mkdir()
    (router.etc / "frr/daemons").write_text('bgpd=no\nzebra_options="  -A 127.0.0.1"\n')
    said = router.shell(f"kamuee setup --yes --etc {router.etc}").stdout
    shutil.copy(router.etc / "kamuee/kamuee.conf", router.etc)
    shutil.copy(router.etc / "frr/daemons", router.etc)
    router.shell("systemctl start kamueed && ip addr add 198.51.100.2/30 dev p0 && ip addr add 192.0.2.1/24 dev p1 && systemctl start frr")
    router.vtysh("\n".join([*said.partition("In vtysh")[2].splitlines()[2:], "ip route 10.99.0.0/16 blackhole", "router bgp 64496",
                            " address-family ipv4 unicast", "  redistribute static", "exit"]))
    eventually(lambda: "via 198.51.100.1" in router.shell("kamuee show ipv4 route 203.0.113.0/24", check=False).stdout, PATIENCE_S,
               lambda: router.shell("vtysh -c 'show bgp summary'").stdout)
    seen = eventually(lambda: re.findall(r"192\.0\.2\.0/24|10\.99", isp.shell("vtysh -c 'show bgp ipv4 unicast'").stdout), PATIENCE_S)
    assert seen == ["192.0.2.0/24"], "our prefix, and no other"


def test_an_edge_of_two_providers_uses_both(machines):
    router, isp1, isp2, host = machines("q-edge", "q-edge-isp1", "q-edge-isp2", "q-edge-host")
    for interface, far, address in (("eth1", isp1, "203.0.113.1/30"), ("eth2", isp2, "198.51.100.1/30"), ("eth3", host, "192.0.2.9/24")):
        cable(router, interface, far, address)
    isp1.speaks_bgp(provider(64500, "203.0.113.1", "203.0.113.2").replace("203.0.113.0/24", "100.64.0.0/16"))
    isp2.speaks_bgp(provider(64501, "198.51.100.1", "198.51.100.2").replace("203.0.113.0/24", "100.64.0.0/16"))
    router.follow(PAGES + "frr-edge.md", end="**Watch it arrive.**")
    eventually(lambda: {"via 203.0.113.1", "via 198.51.100.1"} <= set(re.findall(r"via [0-9.]+", router.shell("kamuee show ipv4 route 100.64.0.0/16").stdout)),
               PATIENCE_S, lambda: router.shell("kamuee show ipv4 route; vtysh -c 'show bgp summary'").stdout)
    router.follow(PAGES + "frr-edge.md", begin="**Watch it arrive.**", end="**What happens when")


def test_a_small_provider_is_two_files(machines):
    router, isp1, isp2, switch, bakery, school = machines("q-small", "q-small-isp1", "q-small-isp2", "q-small-sw", "q-bakery", "q-school")
    cable(router, "eth1", isp1, "203.0.113.1/30")
    cable(router, "eth2", isp2, "198.51.100.1/30")
    trunk(router, "eth3", switch, {101: bakery, 102: school})
    for host, address, gateway in ((bakery, "192.0.2.9/26", "192.0.2.1"), (school, "192.0.2.70/26", "192.0.2.65")):
        host.shell(f"ip addr add {address} dev eth0; ip route add default via {gateway}")
    for isp, number, address, peer in ((isp1, 64500, "203.0.113.1", "203.0.113.2"), (isp2, 64501, "198.51.100.1", "198.51.100.2")):
        isp.shell("ip addr add 8.8.8.8/24 dev lo")
        isp.speaks_bgp(provider(number, address, peer).replace("203.0.113.0/24", "8.8.8.0/24"))
    router.follow(PAGES + "small-isp.md", end="`tests/e2e")
    for host in (bakery, school):
        eventually(lambda host=host: host.shell("ping -c 1 -W 1 8.8.8.8", check=False).returncode == 0, PATIENCE_S,
                   lambda: router.shell("kamuee show drops; kamuee show ipv4 route").stdout)
    school.shell("ping -c 1 -W 10 192.0.2.9")
    assert "203.0.113.0/30" not in isp2.shell("vtysh -c 'show bgp ipv4 unicast'").stdout

    def by_isp2() -> bool:
        return "via 198.51.100.1" in router.shell("kamuee show ipv4 route 8.8.8.8").stdout
    assert not by_isp2()
    isp1.shell("ip link set eth0 down")
    eventually(by_isp2, PATIENCE_S, lambda: router.shell("kamuee show ipv4 route").stdout)
    bakery.shell("ping -c 1 -W 10 8.8.8.8")


def test_management_stays_apart_from_the_traffic(machines):
    router, isp, host, admin = machines("q-mgmt", "q-mgmt-isp", "q-mgmt-host", "q-mgmt-admin")
    for interface, far, address in (("eth0", admin, "10.9.0.1/24"), ("eth1", isp, "198.51.100.1/30"), ("eth2", host, "192.0.2.9/24")):
        cable(router, interface, far, address)
    router.shell("ip addr add 10.9.0.2/24 dev eth0; ip route add default via 10.9.0.1")
    host.shell("ip route add default via 192.0.2.1")
    isp.shell("ip addr add 203.0.113.1/24 dev lo")
    isp.speaks_bgp(provider(64500, "198.51.100.1", "198.51.100.2"))
    sshd = subprocess.Popen(["nsenter", f"--net=/run/netns/{router.name}", sys.executable, "-c",
                             "import socket\ns = socket.create_server(('', 22))\nprint(flush=True)\nwhile True: s.accept()"], stdout=subprocess.PIPE)
    sshd.stdout.readline()
    reach = f"{sys.executable} -c \"import socket; socket.create_connection(('%s', 22), 3)\""
    try:
        router.follow(PAGES + "management.md", end="| who |")
        eventually(lambda: host.shell("ping -c 1 -W 1 203.0.113.1", check=False).returncode == 0, PATIENCE_S)
        admin.shell(reach % "10.9.0.2")
        for far, address in ((isp, "198.51.100.2"), (host, "192.0.2.1"), (host, "10.9.0.2")):
            assert far.shell(reach % address, check=False).returncode, f"{address} is reached from {far.name}"
        assert "10.9.0" not in router.shell("kamuee show ipv4 route vr inet").stdout
        assert "203.0.113.0/24" not in router.shell("ip route").stdout
    finally:
        sshd.kill()
        router.shell("kamuee vr delete inet force", check=False)


def test_a_router_on_a_stick_starts_as_written(machines):
    router, switch = machines("q-stick", "q-switch")
    cable(router, "eth1", switch)
    router.follow(PAGES + "one-nic.md", end="**4.")
    assert "203.0.113.1" in router.shell("kamuee show ipv4 route").stdout


def test_two_tenants_have_their_own_routers(machines):
    """The provider has a router for each VLAN, behind a switch."""
    router, isp1, isp2, switch = machines("q-tenants", "q-red-isp", "q-blue-isp", "q-lan")
    cable(router, "eth2", switch)
    trunk(router, "eth1", switch, {100: isp1, 200: isp2})
    for isp, number in ((isp1, 64501), (isp2, 64502)):
        isp.shell("ip addr add 198.51.100.1/30 dev eth0")
        isp.speaks_bgp(provider(64500, "198.51.100.1", "198.51.100.2").replace("remote-as 64496", f"remote-as {number}"))
    router.folder.chmod(0o755)
    groups = router.folder / "group"
    shutil.copy("/etc/group", groups)
    subprocess.run(["mount", "--bind", groups, "/etc/group"], check=True)
    router.wrapper("groupadd", '#!/bin/sh\necho "$1:x:$((7000 + $(wc -l < /etc/group))):" >> /etc/group\n')
    try:
        router.follow(PAGES + "tenants.md", end="**Next")
        for own, other in (("red", "blue"), ("blue", "red")):
            seen = router.shell(f"runuser -u nobody -g {own}-admins -- kamuee show vr; runuser -u nobody -g {own}-admins -- kamuee show running-config").stdout
            assert f"set interface {own}-up vr {own}" in seen and other not in seen, seen
    finally:
        subprocess.run(["umount", "/etc/group"])
        for name in ("red", "blue"):
            router.shell(f"kamuee vr delete {name} force", check=False)
    assert not Path("/run/netns/red").exists() and not Path("/run/netns/blue").exists()


def test_a_router_of_an_anycast_group_announces_and_is_watched_by_bfd(machines):
    router, spine = machines("q-any", "q-spine")
    cable(router, "eth1", spine, "10.11.1.1/24")
    router.shell("ip addr add 10.11.1.2/24 dev eth1; ip route add blackhole 198.51.100.0/24")
    spine.speaks_bgp("\n".join(["router bgp 65000", " no bgp ebgp-requires-policy", " neighbor 10.11.1.2 remote-as 65100", " neighbor 10.11.1.2 bfd",
                                " neighbor 10.11.1.2 timers connect 1", "exit"]), "bfdd=yes\n")
    router.follow(PAGES + "ha.md", begin="**Each router**", end="**The spine**")
    def seen() -> str:
        return spine.shell("vtysh -c 'show bgp ipv4 unicast 198.51.100.0/24' -c 'show bfd peers'").stdout
    eventually(lambda: re.search(r"65100", seen()) and "Status: up" in seen(), PATIENCE_S, seen)


def test_the_configuration_for_sr_iov_is_one(tmp_path, kamueed):
    config = [lines for kind, lines in blocks(PAGES + "sr-iov.md") if kind == "kamuee.conf"]
    (tmp_path / "conf").write_text("\n".join(config[0]) + "\n")
    done = subprocess.run([kamueed, "--config", tmp_path / "conf", "--run-dir", tmp_path, "--check"], capture_output=True, text=True)
    assert len(config) == 1 and done.returncode == 0, done.stdout + done.stderr
