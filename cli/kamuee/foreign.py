# SPDX-License-Identifier: BSD-3-Clause
"""Words of other routers and of Linux: commands that only look are done, others get the hint that an error gives.

tests/cli/habits.txt lists lines that people type by habit, with the answer to each; docs/from-other-routers.md is the
table for reading.
"""
from __future__ import annotations

import re
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

# Show commands of other routers -> ours; the rest of the line is kept. The longest match is run.
LOOKS = {
    "show interfaces": "show interface", "show ip interface": "show interface", "show ipv4 interface": "show interface",
    "show ipv6 interface": "show interface", "show vlan": "show interface", "show interfaces extensive": "show interface statistics",
    "show interfaces counters": "show interface statistics", "show counters": "show interface statistics",
    "show ip route": "show ipv4 route", "show route table": "show route vr", "show ip cef": "lookup",
    "show route forwarding-table destination": "lookup",
    "show arp": "show neighbor", "show ip arp": "show neighbor", "show ndp": "show neighbor", "show ipv6 neighbors": "show neighbor",
    "show vrf": "show vr", "show ip vrf": "show vr",
    "show access-lists": "show acl", "show ip access-lists": "show acl", "show firewall": "show acl",
    "show logging": "show log", "show log messages": "show log",
    "who": "show users", "where": "show users", "show who": "show users", "show system users": "show users",
    "show policy-map": "show queue", "show policy-map interface": "show queue", "show class-of-service": "show queue", "show qos": "show queue",
    "show monitor": "show mirror", "show processes": "show thread", "show processes cpu": "show thread", "show system processes": "show thread",
    "show uptime": "show system", "show system uptime": "show system", "show system alarms": "show alarm", "show chassis alarms": "show alarm",
    "show system commit": "show configuration revisions", "show archive": "show configuration revisions",
    "show errors": "show drops", "show ip traffic": "show drops", "show hardware-interfaces": "show port",
    "write terminal": "show running-config", "show configuration commands": "show configuration", "show session-config": "show configuration",
    "show session-config diffs": "compare",
}
LEAVES = ("end", "exit configuration-mode")     # configure mode
BRIEF = ("brief", "terse", "status", "description", "descriptions")     # of interfaces: as 'show interface' is
VIRTUAL_ROUTER = ("vrf", "routing-instance")
SAME_FILTER = {"match": "include", "grep": "include", "except": "exclude", "find": "begin"}

# Words that may be abbreviated -> the hint; '*' is any word. The longest match is printed.
HINTS = {
    # candidate and commit
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
    "configuration": "try: configure", "end": BEGIN_EDITING,
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
    # saving and loading
    "write": KEPT, "write *": KEPT, "copy": KEPT, "copy tftp:": "try: load merge FILE",
    "write erase": "try: delete …, line by line",
    "erase": "try: delete …, line by line", "archive": "try: show configuration revisions",
    "format": "manage files from the Linux shell", "dir": "manage files from the Linux shell",
    "more": "manage files from the Linux shell", "file": "manage files from the Linux shell",
    "boot": "manage the host from the Linux shell", "config-register": "manage the host from the Linux shell",
    # stopping the router
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
    # tasks of Linux
    "enable": "not needed: permissions follow Linux groups",
    "disable": "not needed: permissions follow Linux groups", "logout": "try: exit",
    "login": "not needed: permissions follow Linux groups",
    "hostname": "set it in Linux: hostnamectl set-hostname NAME", "banner": USERS,
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
    # tasks of the routing daemon
    "router": DAEMON, "route-map": DAEMON, "bgp": DAEMON, "neighbor": DAEMON, "network": DAEMON,
    "bfd": "BFD runs in the routing daemon: FRR's bfdd", "lldp": "for LLDP, run lldpd on the TAPs",
    "cdp": "for LLDP, run lldpd on the TAPs", "standby": "VRRP runs in keepalived or FRR",
    "vrrp": "VRRP runs in keepalived or FRR",
    # interface settings
    "interface": "there are no configuration levels: set interface INTERFACE …, set port PORT …",
    "encapsulation": "try: set vport NAME port PORT vlan N",
    "description": "try: set interface INTERFACE description \"…\"", "mtu": "try: set port PORT mtu N",
    "speed": "set it on the NIC: ethtool", "duplex": "set it on the NIC: ethtool", "switchport": NOT_THERE,
    "spanning-tree": NOT_THERE, "channel-group": NOT_THERE, "vlan": "try: set vport NAME port PORT vlan N",
    "vrf": "try: set vr NAME table N; set interface INTERFACE vr NAME", "access-list": ACL, "policy-map": QUEUE,
    "class-map": QUEUE, "service-policy": QUEUE, "monitor session": "try: set port PORT mirror both to port PORT",
    "monitor capture": "try: capture port PORT write FILE", "monitor traffic": "try: capture interface INTERFACE",
    "monitor interface": "try: monitor", "monitor log": "the log is in the journal: journalctl -fu kamueed",
    "monitor start": "the log is in the journal: journalctl -fu kamueed",
    "snmp-server": "set it in Linux: /etc/snmp/snmpd.conf, and start kamuee-snmp",
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
    # show commands
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
    "show ip": "try: show ipv4 …",
    "show ip bgp": "use the routing daemon: vtysh -c 'show bgp summary'", "show ip ospf": DAEMON,
    "show ip eigrp": DAEMON,
    "show ipv6 bgp": DAEMON, "show bgp": "use the routing daemon: vtysh -c 'show bgp summary'",
    "show ospf": DAEMON, "show ospf3": DAEMON, "show isis": DAEMON, "show rip": DAEMON, "show protocols": DAEMON,
    "show bfd": "BFD runs in the routing daemon: vtysh -c 'show bfd peers'",
    "show lldp": "LLDP runs in lldpd: lldpcli show neighbors", "show cdp": "LLDP runs in lldpd: lldpcli show neighbors",
    "show vrrp": "VRRP runs in keepalived or FRR: vtysh -c 'show vrrp'",
    "show standby": "VRRP runs in keepalived or FRR: vtysh -c 'show vrrp'",
    "show route forwarding-table": "try: lookup ADDRESS",
    "set class-of-service": QUEUE, "set traffic-policy": QUEUE, "set qos": QUEUE, "show mac": NOT_THERE, "show spanning-tree": NOT_THERE,
    "show environment": "try: show alarm; Linux's sensors",
    "show inventory": "try: show port; Linux's lspci", "show chassis": "try: show port; Linux's lspci",
    "show clock": "time comes from Linux: timedatectl", "show ntp": "time comes from Linux: chronyc tracking",
    "show flash": "manage files from the Linux shell", "show boot": "manage the host from the Linux shell",
    "show system rollback": "try: show configuration revisions BACK, compare BACK",
    "show startup-config": "try: compare file",
    "show running-config *": "try: show running-config | include WORD",
    "show configuration *": "try: show configuration | include WORD",
    "show history": "use the up arrow for earlier commands", "show interface * brief": "try: show interface",
    "show snmp *": "in Linux: systemctl status snmpd kamuee-snmp", "show hosts": "set it in Linux: /etc/hosts",
}
ALWAYS = ("do", "run", "up")  # never the beginning of another word
FILTERS = {
    "grep": "try: include EXPRESSION, exclude EXPRESSION", "section": "did you mean 'include'?", "last": "did you mean 'begin'?",
    "wc": "did you mean 'count'?", "compare": "try: compare",
    "display": "the configuration is already in 'set' lines; '| json' prints JSON",
    "redirect": "try from a shell: kamuee … > FILE", "save": "try from a shell: kamuee … > FILE",
    "tee": "try from a shell: kamuee … | tee FILE",
}
PATTERNS = [(pattern.split(), said) for pattern, said in [*HINTS.items(), *((word, f"try: {same}") for word, same in LOOKS.items())]]


def looked(line: Sequence[str], editing: bool) -> list[str]:
    """Our words for a line of another router that changes nothing; otherwise empty."""
    if line and line[0] in ("do", "run") and len(line) > 1 and editing:      # configure mode has every command
        rest = list(line[1:])
        return looked(rest, editing) or (rest if len(rest[0]) > 1 and "show".startswith(rest[0]) else [])
    if editing and " ".join(line) in LEAVES:
        return ["exit"]
    found = [pattern.split() for pattern in LOOKS if len(pattern.split()) <= len(line) and all(map(fits, pattern.split(), line))]
    if not found:
        return []
    longest = max(found, key=len)
    rest = [re.sub(r"\.?inet6?\.0$", "", word) or "default" for word in line[len(longest):]]
    rest = ["vr" if word in VIRTUAL_ROUTER else word for word in rest if not is_brief(word)]
    return [*LOOKS[" ".join(longest)].split(), *rest]


def is_brief(word: str) -> bool:
    return word in BRIEF or (len(word) > 1 and "brief".startswith(word))


def compared(words: Sequence[str]) -> list[str]:
    """Junos's 'show | compare [rollback N]' in our words; other lines as they are."""
    found = re.fullmatch(r"show(?: configuration)? \| compare(?: rollback (\d+))?", " ".join(words))
    return ["compare", *filter(None, found.groups())] if found else list(words)


def known(line: Sequence[str], least: int = 1) -> str:
    """The hint for the longest known beginning of the line, of at least that many words, which may be abbreviated."""
    found = [(len(pattern), sum(map(same, pattern, line)), said) for pattern, said in PATTERNS
             if least <= len(pattern) <= len(line) and all(map(fits, pattern, line))]
    return max(found, key=lambda entry: entry[:2])[2] if found else ""


def same(word: str, typed: str) -> bool:
    return word in (typed, typed.removesuffix("s"))


def fits(word: str, typed: str) -> bool:
    return word == "*" or same(word, typed) or (len(typed) > 1 and word.startswith(typed))


def hint(words: Sequence[str], wrong: int, expected: Iterable[str]) -> str:
    """A hint in place of words[wrong], the first word that matches no command; '' if there is none."""
    expected = tuple(expected)
    import difflib  # takes 5 ms, and only an error needs it
    near = difflib.get_close_matches(words[wrong], [name for name in expected if not name.isupper()], n=1, cutoff=0.75)
    mistyped = near and not any(len(pattern) > wrong and same(pattern[wrong], words[wrong]) for pattern, _ in PATTERNS)
    found = known(words, wrong + 1) or known(" ".join(words[:wrong + 1]).split(), wrong + 1)   # a line in quotes
    if found and not mistyped:
        return found
    wants_address = {"ADDRESS", "PREFIX", "SOURCE", "DESTINATION"} & set(expected)
    if wants_address and (words[wrong][:1].isdigit() or ":" in words[wrong]
                          or all(name.isupper() for name in expected)):
        return no_address(words[wrong])
    return f"did you mean '{near[0]}'?" if near else ""
