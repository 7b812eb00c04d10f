# SPDX-License-Identifier: BSD-3-Clause
"""Words of other routers and of Linux: the hint that an error gives when somebody types them here.

tests/cli/habits.txt lists lines that people type by habit, with the answer to each; docs/from-other-routers.md is the
table for reading.
"""
from __future__ import annotations

from collections.abc import Iterable, Sequence

from kamuee.arguments import no_address

LINUX = "addresses, routes and neighbors are configured in Linux"
BEGIN_EDITING = "only in configure mode: type 'configure' first"
ONE_LINE = "try: set …, delete …; without 'configure' a line takes effect at once; many lines: load merge FILE ('-': standard input)"
DAEMON = "use the routing daemon: vtysh, birdc"
KEPT = "not needed: a commit survives a restart; 'save' writes kamuee.conf"
NO_LEVELS = "there are no configuration levels: type the whole line, as in 'set interface p0 …'"
STATIC = "add routes in Linux: ip route add PREFIX via ADDRESS, or vtysh"
ADDRESS = "add addresses in Linux: ip addr add ADDRESS/LENGTH dev INTERFACE, or vtysh"
REBOOT = "reboot from Linux: systemctl reboot; to restart only kamueed: systemctl restart kamueed"
IN_TIME = "to avoid locking yourself out: commit confirmed MINUTES, or set … --confirmed MINUTES"
USERS = "manage users, logins and the clock in Linux"
NOT_THERE = "Kamuee does not support this"
QUEUE = "try: set port PORT queue rate 100M; set queue-profile NAME class N …; set class-map NAME dscp DSCP class N"
PERMIT = "did you mean 'permit'?"
DENY = "did you mean 'deny'? 'reject' answers with an ICMP error"
ACL = "try: set acl NAME rule N permit …; for IOS lists: acl import ios FILE"

# Words that may be abbreviated -> what to say; '*' is any word. The longest that fits is said.
HINTS = {
    # what belongs to the candidate
    "commit": BEGIN_EDITING, "discard": BEGIN_EDITING, "update": BEGIN_EDITING, "check": BEGIN_EDITING,
    "commit and-quit": "try: commit, then exit", "commit at": "not supported: use cron and kamuee -f FILE",
    "commit synchronize": "try: commit", "commit timer": IN_TIME, "commit-confirm": "try: commit confirmed MINUTES",
    "commit-comment": "try: commit comment TEXT",
    "rollback":
        "'rollback 1' is the previous configuration; 'discard' drops uncommitted changes ('show configuration "
        "revisions')",
    "rollback *": "'rollback 1' is the previous configuration ('show configuration revisions')",
    "abort": "try: discard, exit",
    "configure": "already in configure mode",
    "configure set": ONE_LINE, "configure delete": ONE_LINE,
    "configure exclusive": "try: configure; each session has its own candidate",
    "configure private": "try: configure; each session has its own candidate",
    "configure session": "try: configure", "configure replace": "try: load replace FILE",
    "configure memory": "try: load replace FILE", "configure network": "try: load replace FILE",
    "configuration": "try: configure", "end": "try: exit", "exit configuration-mode": "try: exit",
    "no": "try: delete …", "undo": "try: delete …", "edit": NO_LEVELS, "top": NO_LEVELS, "up": NO_LEVELS,
    "deactivate": "try: delete …", "activate": "try: set …", "rename": "try: delete … and set …",
    "insert": "rules are ordered by number", "annotate": "try: commit comment TEXT",
    "comment": "try: commit comment TEXT", "wildcard": "try: delete …, line by line", "status": "try: show users",
    "merge": "try: load merge FILE", "load override": "try: load replace FILE",
    "load set": "try: load merge FILE; '-' is the terminal", "load factory-default": "try: delete …, line by line",
    "load merge terminal": "try: load merge -", "load": "try: load replace FILE, load merge FILE",
    "load *": "try: load replace FILE, load merge FILE", "replace": "try: delete … and set …",
    "do": "every command also works in configure mode: leave out 'do'",
    "run": "every command also works in configure mode: leave out 'run'",
    # what is kept
    "write": KEPT, "write *": KEPT, "copy": KEPT, "copy tftp:": "try: load merge FILE",
    "write erase": "try: delete …, line by line", "write terminal": "try: show running-config",
    "erase": "try: delete …, line by line", "archive": "try: show configuration revisions",
    "format": "manage files from the Linux shell", "dir": "manage files from the Linux shell",
    "more": "manage files from the Linux shell", "file": "manage files from the Linux shell",
    "boot": "manage the host from the Linux shell", "config-register": "manage the host from the Linux shell",
    # what stops a router
    "shutdown":
        "to stop kamueed: 'shutdown kamueed' outside configure mode; to stop a port: 'set port PORT enabled false'",
    "no shutdown": "try: set port PORT enabled true; or ip link set INTERFACE up", "reload": REBOOT,
    "reload in": IN_TIME, "reload at": REBOOT, "reload now": REBOOT, "reload cancel": "try: confirm",
    "reboot": REBOOT, "poweroff": REBOOT, "halt": REBOOT, "reset": REBOOT,
    "request": "manage the host in Linux: systemctl, apt", "request system reboot": REBOOT,
    "request system halt": REBOOT, "request system power-off": REBOOT,
    "request system zeroize": "try: delete …, line by line", "request support": "try: show tech-support",
    "restart": f"{DAEMON}; to restart kamueed: systemctl restart kamueed", "reset ip": DAEMON, "reset bgp": DAEMON,
    "default interface": "try: delete interface INTERFACE",
    # what is Linux's
    "enable": "not needed: permissions follow Linux groups",
    "disable": "not needed: permissions follow Linux groups", "logout": "try: exit",
    "login": "not needed: permissions follow Linux groups", "who": "try: show users",
    "where": "try: show users", "hostname": "set it in Linux: hostnamectl set-hostname NAME", "banner": USERS,
    "username": USERS, "line": USERS, "aaa": USERS, "clock": USERS,
    "ntp": "time comes from Linux: chrony or systemd-timesyncd",
    "logging": "the log is in the journal: journalctl -u kamueed; use rsyslog to forward it",
    "service": "manage services in Linux: systemctl", "crypto": NOT_THERE,
    "ssh": "run it in the Linux shell: 'exit', then ssh", "telnet": "run it in the Linux shell: 'exit', then telnet",
    "start shell": "try: exit", "bash": "try: exit", "sudo": "try: exit", "vtysh": "try: exit, then vtysh",
    "mtr": "run it in the Linux shell: 'exit', then mtr", "ip": f"{LINUX}: ip addr, ip route, or vtysh",
    "ip address": ADDRESS, "ipv6 address": ADDRESS, "ipv6": f"{LINUX}: ip addr, ip route, or vtysh",
    "ip route": STATIC, "ipv6 route": STATIC, "no ip route": "delete routes in Linux: ip route del PREFIX, or vtysh",
    "no ip address": "delete addresses in Linux: ip addr del ADDRESS/LENGTH dev INTERFACE", "ip access-list": ACL,
    "ip access-group": "try: set interface INTERFACE acl in NAME", "ip nat": NOT_THERE, "ip prefix-list": DAEMON,
    "ip name-server": "set it in Linux: /etc/resolv.conf", "ip vrf": "try: set vr NAME table N",
    "ip verify": "try: set interface INTERFACE urpf ipv4 strict", "ip flow-export": "try: set ipfix …",
    "ip link": "run it in the Linux shell: 'exit', then ip link",
    "ip addr": "run it in the Linux shell: 'exit', then ip addr",
    # what is the routing daemon's
    "router": DAEMON, "route-map": DAEMON, "bgp": DAEMON, "neighbor": DAEMON, "network": DAEMON,
    "bfd": "BFD runs in the routing daemon: FRR's bfdd", "lldp": "for LLDP, run lldpd on the TAPs",
    "cdp": "for LLDP, run lldpd on the TAPs", "standby": "VRRP runs in keepalived or FRR",
    "vrrp": "VRRP runs in keepalived or FRR",
    # what an interface is given
    "interface": "there are no configuration levels: set interface INTERFACE …, set port PORT …",
    "encapsulation": "try: set vport NAME port PORT vlan N",
    "description": "try: set interface INTERFACE description \"…\"", "mtu": "try: set port PORT mtu N",
    "speed": "set it on the NIC: ethtool", "duplex": "set it on the NIC: ethtool", "switchport": NOT_THERE,
    "spanning-tree": NOT_THERE, "channel-group": NOT_THERE, "vlan": "try: set vport NAME port PORT vlan N",
    "vrf": "try: set vr NAME table N; set interface INTERFACE vr NAME", "access-list": ACL, "policy-map": QUEUE,
    "class-map": QUEUE, "service-policy": QUEUE, "show policy-map": "try: show queue", "monitor session": "try: set port PORT mirror both to port PORT",
    "monitor capture": "try: capture port PORT write FILE", "monitor traffic": "try: capture interface INTERFACE",
    "monitor interface": "try: monitor", "monitor log": "the log is in the journal: journalctl -fu kamueed",
    "monitor start": "the log is in the journal: journalctl -fu kamueed",
    "snmp-server": "try: set snmp …; needs Linux's snmpd",
    # set and delete of others
    "set interfaces": f"try: set port …, set interface …, set vport …; {LINUX}: ip addr",
    "set interface * address": ADDRESS, "set interface * ip": ADDRESS, "set interface * unit * family": ADDRESS,
    "set interface * disable": "try: set port PORT enabled false", "set interface * mtu": "try: set port PORT mtu N",
    "set interface * unit": "try: set vport NAME port PORT vlan N",
    "set interface * vlan": "try: set vport NAME port PORT vlan N", "set port * address": ADDRESS,
    "set port * description": "try: set interface INTERFACE description \"…\"",
    "set port * disable": "try: set port PORT enabled false",
    "set port * shutdown": "try: set port PORT enabled false",
    "set interface * shutdown": "try: set port PORT enabled false",
    "set acl * rule * allow": PERMIT, "set acl * rule * accept": PERMIT, "set acl * rule * pass": PERMIT,
    "set acl * rule * drop": DENY, "set acl * rule * discard": DENY, "set acl * rule * block": DENY,
    "delete interfaces": "try: delete port …, delete interface …, delete vport …", "set protocols": DAEMON,
    "delete protocols": DAEMON, "set policy": DAEMON, "set policy-options": DAEMON, "set routing-options": STATIC,
    "set routing-instances": "try: set vr NAME table N", "set vrf": "try: set vr NAME table N",
    "set vlans": "try: set vport NAME port PORT vlan N", "set firewall": ACL, "set nat": NOT_THERE,
    "set hostname": "set it in Linux: hostnamectl set-hostname NAME",
    "set system": "manage the host in Linux: hostnamectl, timedatectl, systemctl",
    "set system host-name": "set it in Linux: hostnamectl set-hostname NAME",
    "set service": "manage services in Linux: systemctl",
    "set cli": "not needed: output fits the terminal; '| no-more' turns the pager off",
    "set ip": f"{LINUX}: ip addr, ip route, or vtysh", "set address": ADDRESS, "set route": STATIC,
    "set static": STATIC,
    # looking
    "debug": "try: trace in INTERFACE", "undebug": "not needed: a trace ends by itself",
    "no debug": "not needed: a trace ends by itself",
    "terminal": "not needed: output fits the terminal; '| no-more' turns the pager off",
    "terminal monitor": "try: monitor events", "test policy": DAEMON, "clear interfaces": "try: clear counters",
    "clear drops": "drop counters cannot be cleared; 'show drops' shows the rate since it was last shown",
    "clear arp": "try: clear neighbor",
    "clear arp-cache": "try: clear neighbor", "clear ndp": "try: clear neighbor",
    "clear ip arp": "try: clear neighbor", "clear ipv6 neighbors": "try: clear neighbor",
    "clear counters *": "try: clear counters interface INTERFACE", "clear ip": DAEMON, "clear ip route": DAEMON,
    "clear bgp": DAEMON, "clear ospf": DAEMON, "clear firewall": "try: clear acl counters",
    "clear access-list": "try: clear acl counters", "clear log": "the log is in the journal: journalctl",
    "clear logging": "the log is in the journal: journalctl", "clear line": USERS, "clear mac": NOT_THERE,
    "show ip": "try: show ipv4 …", "show ip route": "try: show ipv4 route",
    "show ip interface": "try: show interface", "show ip arp": "try: show neighbor",
    "show ip bgp": "use the routing daemon: vtysh -c 'show bgp summary'", "show ip ospf": DAEMON,
    "show ip cef": "try: lookup ADDRESS", "show ip access-lists": "try: show acl", "show ip eigrp": DAEMON,
    "show ip vrf": "try: show vr", "show ip traffic": "try: show drops", "show ipv6 neighbors": "try: show neighbor",
    "show ipv6 interface": "try: show interface", "show ipv4 interface": "try: show interface",
    "show ipv6 bgp": DAEMON, "show bgp": "use the routing daemon: vtysh -c 'show bgp summary'",
    "show ospf": DAEMON, "show ospf3": DAEMON, "show isis": DAEMON, "show rip": DAEMON, "show protocols": DAEMON,
    "show bfd": "BFD runs in the routing daemon: vtysh -c 'show bfd peers'",
    "show lldp": "LLDP runs in lldpd: lldpcli show neighbors", "show cdp": "LLDP runs in lldpd: lldpcli show neighbors",
    "show vrrp": "VRRP runs in keepalived or FRR: vtysh -c 'show vrrp'",
    "show standby": "VRRP runs in keepalived or FRR: vtysh -c 'show vrrp'",
    "show route": "try: show ipv4 route, show ipv6 route", "show route *": "try: show ipv4 route, show ipv6 route",
    "show route table": "try: show ipv4 route vr VR", "show route forwarding-table": "try: lookup ADDRESS",
    "show arp": "try: show neighbor", "show ndp": "try: show neighbor", "show vlan": "try: show interface",
    "show vrf": "try: show vr", "show class-of-service": "try: show queue", "show qos": "try: show queue",
    "set class-of-service": QUEUE, "set traffic-policy": QUEUE, "set qos": QUEUE, "show mac": NOT_THERE, "show spanning-tree": NOT_THERE,
    "show log": "try: journalctl -u kamueed", "show logging": "try: journalctl -u kamueed",
    "show who": "try: show users", "show access-lists": "try: show acl", "show firewall": "try: show acl",
    "show errors": "try: show drops", "show counters": "try: show interface statistics",
    "show hardware-interfaces": "try: show port", "show processes": "try: show thread",
    "show uptime": "try: show system", "show environment": "try: show alarm; Linux's sensors",
    "show inventory": "try: show port; Linux's lspci", "show chassis": "try: show port; Linux's lspci",
    "show clock": "time comes from Linux: timedatectl", "show ntp": "time comes from Linux: chronyc tracking",
    "show flash": "manage files from the Linux shell", "show boot": "manage the host from the Linux shell",
    "show system uptime": "try: show system", "show system processes": "try: show thread",
    "show system commit": "try: show configuration revisions",
    "show system rollback": "try: show configuration revisions BACK, compare BACK",
    "show system users": "try: show users", "show system alarms": "try: show alarm",
    "show startup-config": "try: compare file", "show archive": "try: show configuration revisions",
    "show session-config": "try: show, compare", "show running-config *": "try: show running-config | include WORD",
    "show configuration *": "try: show configuration | include WORD",
    "show configuration commands": "try: show configuration; it prints 'set' lines", "show | compare": "try: compare",
    "show history": "use the up arrow for earlier commands", "show interface * brief": "try: show interface",
    "show monitor": "try: show mirror", "show snmp *": "try: show snmp", "show hosts": "set it in Linux: /etc/hosts",
}
ALWAYS = ("do", "run", "up")  # never the beginning of another word
FILTERS = {
    "grep": "did you mean 'include'?", "match": "did you mean 'include'?", "section": "did you mean 'include'?",
    "except": "did you mean 'exclude'?", "find": "did you mean 'begin'?", "last": "did you mean 'begin'?",
    "wc": "did you mean 'count'?", "compare": "try: compare",
    "display": "the configuration is already in 'set' lines; '| json' prints JSON",
    "redirect": "try from a shell: kamuee … > FILE", "save": "try from a shell: kamuee … > FILE",
    "tee": "try from a shell: kamuee … | tee FILE",
}
PATTERNS = [(pattern.split(), said) for pattern, said in HINTS.items()]


def known(line: Sequence[str], least: int = 1) -> str:
    """What is said of the longest beginning of the line that is known, of at least so many words, which may be
    abbreviated."""
    found = [(len(pattern), sum(map(same, pattern, line)), said) for pattern, said in PATTERNS
             if least <= len(pattern) <= len(line) and all(map(fits, pattern, line))]
    return max(found, key=lambda entry: entry[:2])[2] if found else ""


def same(word: str, typed: str) -> bool:
    return word in (typed, typed.removesuffix("s"))


def fits(word: str, typed: str) -> bool:
    return word == "*" or same(word, typed) or (len(typed) > 1 and word.startswith(typed))


def hint(words: Sequence[str], wrong: int, expected: Iterable[str]) -> str:
    """What to type instead of words[wrong], at which a line stopped being a command; '' when nothing comes to mind."""
    if found := known(words, wrong + 1) or known(" ".join(words[:wrong + 1]).split(), wrong + 1):   # a line in quotes
        return found
    expected = tuple(expected)
    wants_address = {"ADDRESS", "PREFIX", "SOURCE", "DESTINATION"} & set(expected)
    if wants_address and (words[wrong][:1].isdigit() or ":" in words[wrong]
                          or all(name.isupper() for name in expected)):
        return no_address(words[wrong])
    import difflib  # takes 5 ms, and only an error needs it
    names = [name for name in expected if not name.isupper()]
    near = difflib.get_close_matches(words[wrong], names, n=1, cutoff=0.75)
    return f"did you mean '{near[0]}'?" if near else ""
