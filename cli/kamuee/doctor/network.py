# SPDX-License-Identifier: BSD-3-Clause
"""What else on this host affects packets: kernel settings, other daemons, and whether RSS spreads them."""
from __future__ import annotations

from collections.abc import Iterator

from kamuee.doctor.facts import Facts
from kamuee.doctor.finding import Check, Finding, absent, good

CONF = "/proc/sys/net/ipv4/conf"
NEIGHBORS = 4096      # what the kernel's table of neighbors should hold: one large subnet
SPREAD_PACKETS = 10_000
# Program: its effect on kamueed. By the name in /proc/PID/comm.
CONFLICTS = {
    "NetworkManager": "it removes addresses from TAPs and NICs that it manages",
    "vpp_main": "it polls cores and holds NICs and huge pages",
    "grout": "it polls cores and holds NICs and huge pages",
    "dpdk-testpmd": "it polls cores and holds NICs and huge pages",
    "ovs-vswitchd": "with DPDK it polls cores and holds NICs and huge pages",
    "irqbalance": "it moves interrupts back to the forwarders' cores",
}


def tun(facts: Facts) -> Iterator[Finding]:
    if facts.host.exists("/dev/net/tun"):
        yield good("tun", "kernel", "/dev/net/tun")
    else:
        yield Finding("tun", "wrong", "kernel", "no /dev/net/tun", "the tun module",
                      "TAPs cannot be created: no control plane", ("modprobe tun",), safe=True)


def rp_filter(facts: Facts) -> Iterator[Finding]:
    """kamueed keeps it relaxed on its TAPs; the maximum with 'all' is in force."""
    everywhere = facts.host.number(f"{CONF}/all/rp_filter")
    strict = [name for name in facts.devices if facts.host.number(f"{CONF}/{name}/rp_filter") == 1]
    if everywhere is None:
        yield absent("rp-filter", "kernel", "not reported by the kernel")
    elif everywhere == 1:
        yield Finding("rp-filter", "advice", "all", "strict", "0 or 2",
                      "the kernel drops packets to the router whose source is routed via another interface: "
                      "sessions with peers reachable over two paths break",
                      ("sysctl -w net.ipv4.conf.all.rp_filter=2",), safe=True)
    elif strict:
        yield Finding("rp-filter", "wrong", ", ".join(strict), "strict", "0 or 2",
                      "packets to the router whose source is routed via another interface are dropped",
                      tuple(f"sysctl -w net.ipv4.conf.{name}.rp_filter=2" for name in strict), safe=True)
    else:
        yield good("rp-filter", "kernel", "not strict")


def forwarding(facts: Facts) -> Iterator[Finding]:
    """A TAP is a router's interface; the kernel does not forward between it and devices that are no ports."""
    conf = {family: f"/proc/sys/net/{family}/conf" for family in ("ipv4", "ipv6")}
    named = {(words[0], words[1]) for words in facts.config if len(words) > 1}
    by_linux = {row["name"] for row in (facts.state or {}).get("interface", ()) if row.get("kind") == "tunnel"}
    taps = [*facts.devices, *sorted({name for word, name in named if word in ("vport", "tunnel")} | by_linux),
            *sorted(f"{name}-{end}" for word, name in named if word == "metalink" for end in "ab")]
    off = [f"net.{family}.conf.{name}.forwarding" for name in taps for family, base in conf.items()
           if facts.host.number(f"{base}/{name}/forwarding") == 0]
    others = [name for name in facts.host.names(CONF) if name not in ("all", "default", "lo", *taps)
              and facts.host.number(f"{CONF}/{name}/forwarding") == 1]
    if off:
        yield Finding("kernel-forwarding", "wrong", ", ".join(off), "off", "on, as kamueed sets it",
                      "the kernel acts as a host on these interfaces: it accepts router advertisements and redirects, "
                      "and "
                      "neighbors drop their default route", tuple(f"sysctl -w {name}=1" for name in off), safe=True)
    if others:
        yield Finding("kernel-forwarding", "advice", ", ".join(others), "on", "off, unless intended",
                      "the kernel forwards between these devices and the TAPs, bypassing kamueed's access lists and "
                      "counters",
                      tuple(f"sysctl -w net.ipv4.conf.{name}.forwarding=0" for name in others))
    if not off and not others:
        yield good("kernel-forwarding", "TAPs", "as for a router; no other device forwards")


def neighbors(facts: Facts) -> Iterator[Finding]:
    for family in ("ipv4", "ipv6"):
        base = f"/proc/sys/net/{family}/neigh/default"
        limit = facts.host.number(f"{base}/gc_thresh3")
        if limit is None:
            yield absent("neighbor-table", family, "not reported by the kernel")
        elif limit < NEIGHBORS:
            yield Finding("neighbor-table", "advice", family, f"{limit} entries for all namespaces",
                          f"{NEIGHBORS} or more",
                          "when the table is full the kernel cannot resolve new neighbors; OSPF multicast groups need "
                          "entries, too",
                          (f"sysctl -w net.{family}.neigh.default.gc_thresh3={NEIGHBORS} "
                           f"net.{family}.neigh.default.gc_thresh2={NEIGHBORS // 2}",), safe=True)
        else:
            yield good("neighbor-table", family, f"{limit} entries")


def daemons(facts: Facts) -> Iterator[Finding]:
    found: dict[str, str] = {}
    for process in facts.host.names("/proc"):
        if process.isdigit():
            name = facts.host.text(f"/proc/{process}/comm") or ""
            if name in CONFLICTS:
                found.setdefault(name, process)
    for name, process in sorted(found.items()):
        yield Finding("other-daemons", "advice", name, f"running, process {process}",
                      "not on this host, or kept off kamueed's ports and cores",
                      CONFLICTS[name], (f"systemctl disable --now {name}",))
    if not found:
        yield good("other-daemons", "machine", "none known to conflict")


def spread(facts: Facts) -> Iterator[Finding]:
    """Counters of receive queues: whether RSS spreads the flows."""
    ports = [port for port in (facts.state or {}).get("port", [])
             if len(port.get("statistics", {}).get("queue", [])) > 1]
    for port in ports:
        packets = [queue.get("rx-packets", 0) for queue in port["statistics"]["queue"]]
        total = sum(packets)
        if total < SPREAD_PACKETS:
            yield absent("rss", port["name"], f"{total:,} packets so far: too few to judge")
            continue
        most = 100 * max(packets) / total
        fair = 100 / len(packets)
        said = f"{most:.0f} % in one of {len(packets)} queues, fields {' '.join(port.get('rss', [])) or 'unknown'}"
        if most > 2 * fair and most > 50:
            yield Finding("rss", "advice", port["name"], said, f"about {fair:.0f} % each",
                          "one core does all the work: RSS over too few fields was the 2015 paper's first finding; "
                          "a single flow or a tunnel always goes to one queue")
        else:
            yield good("rss", port["name"], said)
    if not ports:
        yield absent("rss", "ports", "no port has several receive queues" if facts.state else "kamueed is not running")


def not_followed(facts: Facts) -> Iterator[Finding]:
    """Whether forwarding follows all of Linux's routing. `audit` explains routes by links that only Linux has."""
    routers = (facts.state or {}).get("audit", [])
    for router in routers:
        kinds = [kind for kind in router.get("unfollowed", [])
                 if kind["kind"] != "link"] if router.get("not-followed") else []
        for kind in kinds:
            more = f" and {kind['routes'] - 1} more" if kind["routes"] > 1 else ""
            yield Finding("route-not-followed", "wrong", router["vr"], f"{kind['kind']}: {kind['example']}{more}",
                          "none", kind["effect"])
        if not kinds:
            yield good("route-not-followed", router["vr"], "forwarding follows every rule and route of Linux")
    if not routers:
        yield absent("route-not-followed", "kernel", "kamueed is not running")


CHECKS = (Check("tun", tun), Check("rp-filter", rp_filter), Check("kernel-forwarding", forwarding),
          Check("neighbor-table", neighbors),
          Check("other-daemons", daemons), Check("rss", spread), Check("route-not-followed", not_followed))
