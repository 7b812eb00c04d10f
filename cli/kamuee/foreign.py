# SPDX-License-Identifier: BSD-3-Clause
"""Words of other routers, and words that belong to Linux: what an error says to whoever types them here.

docs/from-other-routers.md has the whole table; here are those that hands type by themselves.
"""
from __future__ import annotations

from collections.abc import Iterable, Sequence

from kamuee.arguments import no_address

LINUX = "addresses, routes and neighbours are Linux's"
BEGIN_EDITING = "it belongs to the candidate: 'configure' first"

HINTS = {
    "commit": BEGIN_EDITING, "discard": BEGIN_EDITING, "update": BEGIN_EDITING, "check": BEGIN_EDITING,
    "configure": "you are editing already", "end": "try: exit", "no": "try: delete …", "undo": "try: delete …",
    "do": "every command works while editing, too: leave the 'do' out", "run": "every command works while editing, too: leave the 'run' out",
    "enable": "not needed: who may do what goes by groups of Linux", "copy": "try: save",
    "hostname": "it is Linux's: hostnamectl set-hostname NAME", "router": "it is the routing daemon's: vtysh, birdc",
    "ip": f"{LINUX}: ip addr, ip route, or vtysh", "interface": "try: set interface …",
    "ping": "it is Linux's: leave by 'exit', then ping", "traceroute": "it is Linux's: leave by 'exit', then traceroute",
    "debug": "try: trace in INTERFACE", "terminal": "not needed: the table fits the terminal; '| no-more' leaves the pager out",
    "clear interfaces": "try: clear counters", "clear drops": "drops only grow; 'show drops' tells how many by the second since it was shown last",
    "show ip route": "try: show ipv4 route", "show ip": "try: show ipv4 …", "show ip interface": "try: show interface",
    "show ip bgp": "it is the routing daemon's: vtysh -c 'show bgp summary'",
    "show bgp": "it is the routing daemon's: vtysh -c 'show bgp summary'", "show ospf": "it is the routing daemon's: vtysh, birdc",
    "show route": "try: show ipv4 route, show ipv6 route", "show arp": "try: show neighbor", "show ndp": "try: show neighbor",
    "show vlan": "try: show interface", "show vrf": "try: show vr", "show log": "try: journalctl -u kamueed",
    "show logging": "try: journalctl -u kamueed", "show users": "try: show configuration sessions",
    "show access-lists": "try: show acl", "show errors": "try: show drops", "show counters": "try: show interface statistics",
    "show hardware-interfaces": "try: show port", "show processes": "try: show thread", "show uptime": "try: show system",
    "show startup-config": "try: compare file", "show archive": "try: show configuration revisions",
    "show | compare": "try: compare", "show history": "the up arrow brings back what was typed",
}
ALWAYS = ("do", "run")  # never the beginning of another word
FILTERS = {"grep": "include", "match": "include", "except": "exclude", "find": "begin", "display": "json", "wc": "count", "last": "begin"}


def hint(words: Sequence[str], wrong: int, expected: Iterable[str]) -> str:
    """What to type instead of words[wrong], at which a line stopped being a command; '' when nothing comes to mind."""
    line = ["show" if wrong and "show".startswith(words[0]) else words[0], *words[1:]]
    for end in (wrong + 2, wrong + 1):
        said = " ".join(line[:end])
        if found := HINTS.get(said) or HINTS.get(said.removesuffix("s")):
            return found
    expected = tuple(expected)
    if {"ADDRESS", "PREFIX", "SOURCE", "DESTINATION"} & set(expected) and (words[wrong][:1].isdigit() or ":" in words[wrong]
                                                                         or all(name.isupper() for name in expected)):
        return no_address(words[wrong])
    import difflib  # takes 5 ms, and only an error needs it
    names = [name for name in expected if not name.isupper()]
    near = difflib.get_close_matches(words[wrong], names, n=1, cutoff=0.75)
    return f"did you mean '{near[0]}'?" if near else ""
