# SPDX-License-Identifier: BSD-3-Clause
"""Words of other routers, and words that belong to Linux: what an error says to whoever types them here.

tests/cli/habits.txt is the list of what hands type by themselves, with what becomes of each line here;
docs/from-other-routers.md is the table for reading.
"""
from __future__ import annotations

from collections.abc import Iterable, Sequence

from kamuee.arguments import no_address

LINUX = "addresses, routes and neighbours are Linux's"
BEGIN_EDITING = "it belongs to the candidate: 'configure' first"
DAEMON = "it is the routing daemon's: vtysh, birdc"
KEPT = "not needed: a commit is kept over a restart; 'save' writes kamuee.conf"
NO_LEVELS = "there are no levels: a line is whole, as in 'set interface p0 …'"
STATIC = "routes are Linux's: ip route add PREFIX via ADDRESS, or vtysh"
ADDRESS = "addresses are Linux's: ip addr add ADDRESS/LENGTH dev INTERFACE, or vtysh"
REBOOT = "the machine is Linux's: systemctl reboot; kamueed alone: systemctl restart kamueed"
IN_TIME = "against locking oneself out: commit confirmed MINUTES, or set … --confirmed MINUTES"
USERS = "users, logins and the clock are Linux's"
NOT_THERE = "Kamuee does not do this"
ACL = "try: set acl NAME rule N permit …; lists of IOS: acl import ios FILE"

# Words that may be abbreviated -> what to say; '*' is any word. The longest that fits is said.
HINTS = {
    # what belongs to the candidate
    "commit": BEGIN_EDITING, "discard": BEGIN_EDITING, "update": BEGIN_EDITING, "check": BEGIN_EDITING,
    "commit and-quit": "try: commit, then exit", "commit at": "not there: cron, and kamuee -f FILE",
    "commit synchronize": "try: commit", "commit timer": IN_TIME, "commit-confirm": "try: commit confirmed MINUTES",
    "commit-comment": "try: commit comment TEXT",
    "rollback":
        "'rollback 1' is what ran before; 'discard' makes the candidate what runs ('show configuration revisions')",
    "rollback *": "'rollback 1' is what ran before ('show configuration revisions')", "abort": "try: discard, exit",
    "configure": "you are editing already",
    "configure exclusive": "try: configure; each session has a candidate of its own",
    "configure private": "try: configure; each session has a candidate of its own",
    "configure session": "try: configure", "configure replace": "try: load replace FILE",
    "configure memory": "try: load replace FILE", "configure network": "try: load replace FILE",
    "configuration": "try: configure", "end": "try: exit", "exit configuration-mode": "try: exit",
    "no": "try: delete …", "undo": "try: delete …", "edit": NO_LEVELS, "top": NO_LEVELS, "up": NO_LEVELS,
    "deactivate": "try: delete …", "activate": "try: set …", "rename": "try: delete … and set …",
    "insert": "rules are in the order of their numbers", "annotate": "try: commit comment TEXT",
    "comment": "try: commit comment TEXT", "wildcard": "try: delete …, line by line", "status": "try: show users",
    "merge": "try: load merge FILE", "load override": "try: load replace FILE",
    "load set": "try: load merge FILE; '-' is the terminal", "load factory-default": "try: delete …, line by line",
    "load merge terminal": "try: load merge -", "load": "try: load replace FILE, load merge FILE",
    "load *": "try: load replace FILE, load merge FILE", "replace": "try: delete … and set …",
    "do": "every command works while editing, too: leave the 'do' out",
    "run": "every command works while editing, too: leave the 'run' out",
    # what is kept
    "write": KEPT, "write *": KEPT, "copy": KEPT, "copy tftp:": "try: load merge FILE",
    "write erase": "try: delete …, line by line", "write terminal": "try: show running-config",
    "erase": "try: delete …, line by line", "archive": "try: show configuration revisions",
    "format": "files are Linux's", "dir": "files are Linux's", "more": "files are Linux's",
    "file": "files are Linux's", "boot": "the machine is Linux's", "config-register": "the machine is Linux's",
    # what stops a router
    "shutdown":
        "kamueed as a whole stops by 'shutdown kamueed', outside of 'configure'; a port by 'set port PORT enabled false'",
    "no shutdown": "try: set port PORT enabled true; or ip link set INTERFACE up", "reload": REBOOT,
    "reload in": IN_TIME, "reload at": REBOOT, "reload now": REBOOT, "reload cancel": "try: confirm",
    "reboot": REBOOT, "poweroff": REBOOT, "halt": REBOOT, "reset": REBOOT,
    "request": "the machine is Linux's: systemctl, apt", "request system reboot": REBOOT,
    "request system halt": REBOOT, "request system power-off": REBOOT,
    "request system zeroize": "try: delete …, line by line", "request support": "try: show tech-support",
    "restart": f"{DAEMON}; kamueed: systemctl restart kamueed", "reset ip": DAEMON, "reset bgp": DAEMON,
    "default interface": "try: delete interface INTERFACE",
    # what is Linux's
    "enable": "not needed: who may do what goes by groups of Linux",
    "disable": "not needed: who may do what goes by groups of Linux", "logout": "try: exit",
    "login": "not needed: who may do what goes by groups of Linux", "who": "try: show users",
    "where": "try: show users", "hostname": "it is Linux's: hostnamectl set-hostname NAME", "banner": USERS,
    "username": USERS, "line": USERS, "aaa": USERS, "clock": USERS,
    "ntp": "time is Linux's: chrony or systemd-timesyncd",
    "logging": "the log is Linux's: journalctl -u kamueed; rsyslog sends it on",
    "service": "services are Linux's: systemctl", "crypto": NOT_THERE,
    "ssh": "it is Linux's: leave by 'exit', then ssh", "telnet": "it is Linux's: leave by 'exit', then telnet",
    "start shell": "try: exit", "bash": "try: exit", "sudo": "try: exit", "vtysh": "try: exit, then vtysh",
    "mtr": "it is Linux's: leave by 'exit', then mtr", "ip": f"{LINUX}: ip addr, ip route, or vtysh",
    "ip address": ADDRESS, "ipv6 address": ADDRESS, "ipv6": f"{LINUX}: ip addr, ip route, or vtysh",
    "ip route": STATIC, "ipv6 route": STATIC, "no ip route": "routes are Linux's: ip route del PREFIX, or vtysh",
    "no ip address": "addresses are Linux's: ip addr del ADDRESS/LENGTH dev INTERFACE", "ip access-list": ACL,
    "ip access-group": "try: set interface INTERFACE acl in NAME", "ip nat": NOT_THERE, "ip prefix-list": DAEMON,
    "ip name-server": "it is Linux's: /etc/resolv.conf", "ip vrf": "try: set vr NAME table N",
    "ip verify": "try: set interface INTERFACE urpf ipv4 strict", "ip flow-export": "try: set ipfix …",
    "ip link": "it is Linux's: leave by 'exit', then ip link",
    "ip addr": "it is Linux's: leave by 'exit', then ip addr",
    # what is the routing daemon's
    "router": DAEMON, "route-map": DAEMON, "bgp": DAEMON, "neighbor": DAEMON, "network": DAEMON,
    "bfd": "BFD is the routing daemon's: FRR's bfdd", "lldp": "LLDP is lldpd's, on the TAPs",
    "cdp": "LLDP is lldpd's, on the TAPs", "standby": "VRRP is keepalived's, or FRR's",
    "vrrp": "VRRP is keepalived's, or FRR's",
    # what an interface is given
    "interface": "there are no levels: set interface INTERFACE …, set port PORT …",
    "encapsulation": "try: set vport NAME port PORT vlan N",
    "description": "try: set interface INTERFACE description \"…\"", "mtu": "try: set port PORT mtu N",
    "speed": "the link is the card's: ethtool", "duplex": "the link is the card's: ethtool", "switchport": NOT_THERE,
    "spanning-tree": NOT_THERE, "channel-group": NOT_THERE, "vlan": "try: set vport NAME port PORT vlan N",
    "vrf": "try: set vr NAME table N; set interface INTERFACE vr NAME", "access-list": ACL, "policy-map": NOT_THERE,
    "class-map": NOT_THERE, "monitor session": "try: set port PORT mirror both to port PORT",
    "monitor capture": "try: capture port PORT write FILE", "monitor traffic": "try: capture interface INTERFACE",
    "monitor interface": "try: monitor", "monitor log": "the log is Linux's: journalctl -fu kamueed",
    "monitor start": "the log is Linux's: journalctl -fu kamueed",
    "snmp-server": "try: set snmp …; beside Linux's snmpd",
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
    "delete interfaces": "try: delete port …, delete interface …, delete vport …", "set protocols": DAEMON,
    "delete protocols": DAEMON, "set policy": DAEMON, "set policy-options": DAEMON, "set routing-options": STATIC,
    "set routing-instances": "try: set vr NAME table N", "set vrf": "try: set vr NAME table N",
    "set vlans": "try: set vport NAME port PORT vlan N", "set firewall": ACL, "set nat": NOT_THERE,
    "set hostname": "it is Linux's: hostnamectl set-hostname NAME",
    "set system": "the machine is Linux's: hostnamectl, timedatectl, systemctl",
    "set system host-name": "it is Linux's: hostnamectl set-hostname NAME",
    "set service": "services are Linux's: systemctl",
    "set cli": "not needed: the table fits the terminal; '| no-more' leaves the pager out",
    "set ip": f"{LINUX}: ip addr, ip route, or vtysh", "set address": ADDRESS, "set route": STATIC,
    "set static": STATIC,
    # looking
    "debug": "try: trace in INTERFACE", "undebug": "nothing to switch off: a trace ends by itself",
    "no debug": "nothing to switch off: a trace ends by itself",
    "terminal": "not needed: the table fits the terminal; '| no-more' leaves the pager out",
    "terminal monitor": "try: monitor events", "test policy": DAEMON, "clear interfaces": "try: clear counters",
    "clear drops": "drops only grow; 'show drops' tells how many by the second since it was shown last",
    "clear arp": "try: clear neighbor",
    "clear arp-cache": "try: clear neighbor", "clear ndp": "try: clear neighbor",
    "clear ip arp": "try: clear neighbor", "clear ipv6 neighbors": "try: clear neighbor",
    "clear counters *": "try: clear counters interface INTERFACE", "clear ip": DAEMON, "clear ip route": DAEMON,
    "clear bgp": DAEMON, "clear ospf": DAEMON, "clear firewall": "try: clear acl counters",
    "clear access-list": "try: clear acl counters", "clear log": "the log is Linux's: journalctl",
    "clear logging": "the log is Linux's: journalctl", "clear line": USERS, "clear mac": NOT_THERE,
    "show ip": "try: show ipv4 …", "show ip route": "try: show ipv4 route",
    "show ip interface": "try: show interface", "show ip arp": "try: show neighbor",
    "show ip bgp": "it is the routing daemon's: vtysh -c 'show bgp summary'", "show ip ospf": DAEMON,
    "show ip cef": "try: lookup ADDRESS", "show ip access-lists": "try: show acl", "show ip eigrp": DAEMON,
    "show ip vrf": "try: show vr", "show ip traffic": "try: show drops", "show ipv6 neighbors": "try: show neighbor",
    "show ipv6 interface": "try: show interface", "show ipv4 interface": "try: show interface",
    "show ipv6 bgp": DAEMON, "show bgp": "it is the routing daemon's: vtysh -c 'show bgp summary'",
    "show ospf": DAEMON, "show ospf3": DAEMON, "show isis": DAEMON, "show rip": DAEMON, "show protocols": DAEMON,
    "show bfd": "BFD is the routing daemon's: vtysh -c 'show bfd peers'",
    "show lldp": "LLDP is lldpd's: lldpcli show neighbors", "show cdp": "LLDP is lldpd's: lldpcli show neighbors",
    "show vrrp": "VRRP is keepalived's, or FRR's: vtysh -c 'show vrrp'",
    "show standby": "VRRP is keepalived's, or FRR's: vtysh -c 'show vrrp'",
    "show route": "try: show ipv4 route, show ipv6 route", "show route *": "try: show ipv4 route, show ipv6 route",
    "show route table": "try: show ipv4 route vr VR", "show route forwarding-table": "try: lookup ADDRESS",
    "show arp": "try: show neighbor", "show ndp": "try: show neighbor", "show vlan": "try: show interface",
    "show vrf": "try: show vr", "show mac": NOT_THERE, "show spanning-tree": NOT_THERE,
    "show log": "try: journalctl -u kamueed", "show logging": "try: journalctl -u kamueed",
    "show who": "try: show users", "show access-lists": "try: show acl", "show firewall": "try: show acl",
    "show errors": "try: show drops", "show counters": "try: show interface statistics",
    "show hardware-interfaces": "try: show port", "show processes": "try: show thread",
    "show uptime": "try: show system", "show environment": "try: show alarm; sensors of Linux",
    "show inventory": "try: show port; lspci of Linux", "show chassis": "try: show port; lspci of Linux",
    "show clock": "time is Linux's: timedatectl", "show ntp": "time is Linux's: chronyc tracking",
    "show flash": "files are Linux's", "show boot": "the machine is Linux's",
    "show system uptime": "try: show system", "show system processes": "try: show thread",
    "show system commit": "try: show configuration revisions",
    "show system rollback": "try: show configuration revisions BACK, compare BACK",
    "show system users": "try: show users", "show system alarms": "try: show alarm",
    "show startup-config": "try: compare file", "show archive": "try: show configuration revisions",
    "show session-config": "try: show, compare", "show running-config *": "try: show running-config | include WORD",
    "show configuration *": "try: show configuration | include WORD",
    "show configuration commands": "try: show configuration; it is 'set' lines", "show | compare": "try: compare",
    "show history": "the up arrow brings back what was typed", "show interface * brief": "try: show interface",
    "show monitor": "try: show mirror", "show snmp *": "try: show snmp", "show hosts": "it is Linux's: /etc/hosts",
}
ALWAYS = ("do", "run", "up")  # never the beginning of another word
FILTERS = {
    "grep": "did you mean 'include'?", "match": "did you mean 'include'?", "section": "did you mean 'include'?",
    "except": "did you mean 'exclude'?", "find": "did you mean 'begin'?", "last": "did you mean 'begin'?",
    "wc": "did you mean 'count'?", "compare": "try: compare",
    "display": "a configuration is 'set' lines already; '| json' prints JSON",
    "redirect": "try: kamuee … > FILE, outside", "save": "try: kamuee … > FILE, outside",
    "tee": "try: kamuee … | tee FILE, outside",
}
PATTERNS = [(pattern.split(), said) for pattern, said in HINTS.items()]


def known(line: Sequence[str], least: int = 1) -> str:
    """What is said of the longest beginning of the line that is known, of at least so many words, which may be abbreviated."""
    found = [(len(pattern), sum(map(same, pattern, line)), said) for pattern, said in PATTERNS
             if least <= len(pattern) <= len(line) and all(map(fits, pattern, line))]
    return max(found, key=lambda entry: entry[:2])[2] if found else ""


def same(word: str, typed: str) -> bool:
    return word in (typed, typed.removesuffix("s"))


def fits(word: str, typed: str) -> bool:
    return word == "*" or same(word, typed) or (len(typed) > 1 and word.startswith(typed))


def hint(words: Sequence[str], wrong: int, expected: Iterable[str]) -> str:
    """What to type instead of words[wrong], at which a line stopped being a command; '' when nothing comes to mind."""
    if found := known(words, wrong + 1):
        return found
    expected = tuple(expected)
    if {"ADDRESS", "PREFIX", "SOURCE", "DESTINATION"} & set(expected) and (words[wrong][:1].isdigit() or ":" in words[wrong]
                                                                         or all(name.isupper() for name in expected)):
        return no_address(words[wrong])
    import difflib  # takes 5 ms, and only an error needs it
    names = [name for name in expected if not name.isupper()]
    near = difflib.get_close_matches(words[wrong], names, n=1, cutoff=0.75)
    return f"did you mean '{near[0]}'?" if near else ""
