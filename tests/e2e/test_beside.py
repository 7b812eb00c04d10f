# SPDX-License-Identifier: BSD-3-Clause
"""docs/quickstart/beside.md: other programs at work on the TAPs, and in a namespace through which kamueed routes.

    client -- eth2 router eth1 -- far      far: DHCP server, LLDP neighbor, VPN gateway of 10.2.0.0/16
                      |
                    vpn0 -- vpn

Without WireGuard in the kernel wireguard-go makes the device. IPsec needs ESP in the kernel: Debian's has it, and tests/vm/test_tunnel_kinds.py
runs these tests there.
"""
import re
import secrets
import signal
import subprocess
from pathlib import Path

import pytest

from kamuee.lab.netns import stop_processes
from by_hand import Machine, cable, carries_tcp
from page import PATIENCE_S
from support import eventually

PAGE = "docs/quickstart/beside.md"
IP = """#!/bin/sh
case "$*" in
"-n vpn link add "*" type wireguard") exec /sbin/ip netns exec vpn wireguard-go "$5" ;;
"link add "*" type wireguard") exec wireguard-go "$3" ;;
esac
exec /sbin/ip "$@"
"""
LEASE = """#!/bin/sh
echo "$1 $ip" >>{log}
[ "$1" != bound ] || {{ ip addr add "$ip/$mask" dev "$interface" && ip route add default via "$router"; }}
"""


@pytest.fixture
def network(machines):
    """(router, far, client), after the page's beginning."""
    router, far, client = machines("q-beside", "q-far", "q-client")
    cable(router, "eth1", far, "198.51.100.1/30")
    cable(router, "eth2", client)
    far.shell("for a in 203.0.113.67/32 203.0.113.77/32 10.2.0.1/16; do ip addr add $a dev lo; done; ip route add 192.0.2.0/24 via 198.51.100.2")
    router.follow(PAGE, end="## DHCP relay")
    yield router, far, client
    stop_processes([int(pid) for pid in subprocess.run(["ip", "netns", "pids", "vpn"], capture_output=True, text=True).stdout.split()])
    subprocess.run(["ip", "netns", "del", "vpn"], capture_output=True)


@pytest.fixture
def gateway(network):
    """With the namespace vpn, and an address for the client."""
    router, far, client = network
    client.shell("ip addr add 192.0.2.9/25 dev eth0; ip route add default via 192.0.2.1")
    router.follow(PAGE, begin="## A VPN gateway", end="**WireGuard**")
    return network


def pings(machine: Machine, target: str, source: str = "") -> None:
    eventually(lambda: machine.shell(f"ping -c 1 -W 1 {'-I ' + source if source else ''} {target}", check=False).returncode == 0, PATIENCE_S,
               f"{machine.name} reaches {target}")


def text_of(file: Path) -> str:
    return file.read_text() if file.exists() else ""


# --- on the TAPs ---

def test_a_relay_gets_leases_and_renewals_are_forwarded(network):
    router, far, client = network
    router.shell("kamuee set interface p1 urpf ipv4 strict")
    for machine in (router, far):
        machine.wrapper("dnsmasq", f'#!/bin/sh\nexec /usr/sbin/dnsmasq --conf-file=/dev/null --user=root --pid-file={machine.folder}/dnsmasq.pid "$@"\n')
    far.shell(f"dnsmasq --port=0 --no-ping --dhcp-range=192.0.2.9,192.0.2.99,255.255.255.128,10m --dhcp-leasefile={far.folder}/leases")
    router.follow(PAGE, begin="## DHCP relay", end="## LLDP")
    log = client.folder / "leases"
    client.wrapper("lease", LEASE.format(log=log))
    asking = subprocess.Popen(["nsenter", f"--net=/run/netns/{client.name}", "udhcpc", "-f", "-i", "eth0", "-s", client.bin / "lease", "-T", "3"],
                              stdout=subprocess.DEVNULL, stderr=subprocess.STDOUT)
    try:
        eventually(lambda: re.search(r"^bound 192\.0\.2\.\d+$", text_of(log), re.M), PATIENCE_S, lambda: router.shell("kamuee show drops").stdout)
        pings(client, "10.2.0.1")
        router.shell(f"kill $(cat {router.folder}/dnsmasq.pid)")
        # udhcpc sends the renewal from one socket and opens another for the answer: the server answers once that one is open.
        far.shell(f"kill -STOP $(cat {far.folder}/dnsmasq.pid)")
        asking.send_signal(signal.SIGUSR1)
        eventually(lambda: client.shell("ss -Hun state unconnected sport = :68").stdout.strip()
                   and not client.shell("ss -Hun state established sport = :68").stdout.strip(), PATIENCE_S)
        far.shell(f"kill -CONT $(cat {far.folder}/dnsmasq.pid)")
        eventually(lambda: re.search(r"^renew 192\.0\.2\.\d+$", text_of(log), re.M), PATIENCE_S, lambda: text_of(log))
    finally:
        asking.kill()
        asking.wait()


def test_lldp_is_heard_on_both_sides(network):
    router, far, _ = network
    for machine in (router, far):
        machine.folder.chmod(0o755)
        of_it = f"-u {machine.folder}/lldpd.socket"
        machine.wrapper("lldpd", f'#!/bin/sh\nsetsid /usr/sbin/lldpd -d {of_it} "$@" >{machine.folder}/lldpd.log 2>&1 </dev/null &\n')
        machine.wrapper("lldpcli", f'#!/bin/sh\nexec /usr/sbin/lldpcli {of_it} "$@"\n')
    far.shell("lldpd -I eth0")
    router.follow(PAGE, begin="## LLDP", end="## A VPN gateway")
    for machine in (router, far):       # by default each sends one frame in 30 s
        log = machine.folder / "lldpd.log"
        # lldpd starts paused, and lldpcli writes back the whole configuration that it has read: any sooner, it would pause lldpd again.
        eventually(lambda log=log: "should resume operations" in text_of(log), PATIENCE_S, lambda log=log: text_of(log))
        machine.shell("lldpcli configure lldp tx-interval 1")
    for machine, pattern in ((router, r"Interface: +p0,.*PortDescr: +eth0"), (far, r"Interface: +eth0,.*PortDescr: +p0")):
        def heard(machine=machine) -> str:
            return (machine.name + machine.shell("lldpcli show neighbors", check=False).stdout + text_of(machine.folder / "lldpd.log")
                    + router.shell("kamuee show drops; kamuee show interface statistics", check=False).stdout)
        eventually(lambda heard=heard, pattern=pattern: re.search(pattern, heard(), re.S), PATIENCE_S, heard)


# --- WireGuard ---

def with_wireguard(*machines: Machine) -> None:
    done = machines[-1].shell("ip link add wgprobe type wireguard && ip link del wgprobe", check=False)
    for machine in machines if done.returncode else ():
        machine.wrapper("ip", IP)


def test_wireguard_in_a_namespace_carries_what_kamueed_routes_to_it(gateway, monkeypatch):
    router, far, client = gateway
    with_wireguard(router, far)
    far.shell("umask 077; wg genkey >far.key; ip link add wgfar type wireguard")
    monkeypatch.setenv("FAR_KEY", far.shell("wg pubkey <far.key").stdout.strip())
    router.follow(PAGE, begin="**WireGuard** to", end="**IPsec** instead")
    key = router.shell("wg pubkey <vpn.key").stdout.strip()
    far.shell(f"wg set wgfar private-key far.key listen-port 51820 peer {key} allowed-ips 192.0.2.0/25; ip link set wgfar mtu 1420 up; "
              "ip route add 192.0.2.0/25 dev wgfar")
    pings(client, "10.2.0.1")
    pings(far, "192.0.2.9", "10.2.0.1")
    assert "=> sent on p2" in router.shell("kamuee explain in p1 src 192.0.2.9 dst 10.2.0.1").stdout
    carries_tcp(client, far, "10.2.0.1")
    received = int(far.shell("wg show wgfar transfer").stdout.split()[1])
    assert received > 1_000_000, "all of it came by the tunnel"


def test_wireguard_beside_kamueed_is_for_the_router_itself(network):
    router, far, _ = network
    with_wireguard(router, far)
    for machine, name, address in ((router, "wgown", "10.9.0.1/30"), (far, "wgfar", "10.9.0.2/30")):
        machine.shell(f"umask 077; wg genkey >key; ip link add {name} type wireguard; ip addr add {address} dev {name}")
    keys = {machine: machine.shell("wg pubkey <key").stdout.strip() for machine in (router, far)}
    router.shell(f"wg set wgown private-key key listen-port 51820 peer {keys[far]} allowed-ips 10.9.0.2/32,10.3.0.0/16; ip link set wgown up; "
                 "ip route add 10.3.0.0/16 dev wgown")
    far.shell(f"wg set wgfar private-key key peer {keys[router]} endpoint 198.51.100.2:51820 allowed-ips 10.9.0.1/32; ip link set wgfar up")
    pings(far, "10.9.0.1")
    def said() -> str:
        return router.shell("kamuee explain in p1 src 192.0.2.9 dst 10.3.0.1").stdout
    eventually(lambda: "unreachable" in said(), PATIENCE_S, said)
    assert "sent on" not in said()


# --- IPsec ---

@pytest.fixture
def keys(network, monkeypatch) -> dict[str, str]:
    """For the page's variables."""
    keys = {name: secrets.token_hex(20) for name in ("KEY_OUT", "KEY_IN")}
    for name, key in keys.items():
        monkeypatch.setenv(name, key)
    if network[1].shell(f"ip xfrm state add {esp('192.0.2.1', '192.0.2.2', 9, 'tunnel', keys['KEY_IN'])} && ip xfrm state flush", check=False).returncode:
        pytest.skip("this kernel has no ESP; tests/vm/test_tunnel_kinds.py has one that does")
    return keys


def esp(src: str, dst: str, spi: int, mode: str, key: str) -> str:
    return f"src {src} dst {dst} proto esp spi {spi} mode {mode} aead 'rfc4106(gcm(aes))' 0x{key} 128"


def packets(machine: Machine, namespace: str = "") -> list[int]:
    """Of each IPsec state."""
    said = machine.shell(f"ip {namespace} -s xfrm state").stdout
    return [int(n) for n in re.findall(r"lifetime current:\s+\d+\(bytes\), (\d+)\(packets\)", said)]


def test_ipsec_in_a_namespace_carries_what_kamueed_routes_to_it(gateway, keys):
    router, far, client = gateway
    router.follow(PAGE, begin="**IPsec** instead", end="## Beside kamueed")
    ours, theirs = "192.0.2.130", "203.0.113.77"
    far.shell(f"ip xfrm state add {esp(ours, theirs, 0x101, 'tunnel', keys['KEY_OUT'])}; "
              f"ip xfrm state add {esp(theirs, ours, 0x102, 'tunnel', keys['KEY_IN'])}; "
              f"ip xfrm policy add dir out src 10.2.0.0/16 dst 192.0.2.0/25 tmpl src {theirs} dst {ours} proto esp mode tunnel; "
              f"ip xfrm policy add dir in src 192.0.2.0/25 dst 10.2.0.0/16 tmpl src {ours} dst {theirs} proto esp mode tunnel")
    pings(client, "10.2.0.1")
    pings(far, "192.0.2.9", "10.2.0.1")
    carries_tcp(client, far, "10.2.0.1")
    assert min(packets(router, "-n vpn")) > 100 and min(packets(far)) > 100


def test_ipsec_beside_kamueed_protects_the_router_itself(network, keys):
    router, far, _ = network
    ends = ("198.51.100.1", "198.51.100.2")
    for machine, own, other in ((far, *ends), (router, *ends[::-1])):
        machine.shell(f"ip xfrm state add {esp(*ends, 1, 'transport', keys['KEY_IN'])}; "
                      f"ip xfrm state add {esp(*ends[::-1], 2, 'transport', keys['KEY_OUT'])}; "
                      f"ip xfrm policy add dir out src {own} dst {other} tmpl proto esp mode transport; "
                      f"ip xfrm policy add dir in src {other} dst {own} tmpl proto esp mode transport")
    pings(far, "198.51.100.2")
    assert min(packets(router)) > 0 and min(packets(far)) > 0
    assert not [alarm for alarm in router.shell("kamuee show alarm").stdout.splitlines() if "kernel-state" in alarm], "nothing is forwarded in the clear"
