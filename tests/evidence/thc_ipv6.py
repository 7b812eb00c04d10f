# SPDX-License-Identifier: BSD-3-Clause
"""The attack tools of THC-IPv6 and SI6's ipv6toolkit, from Debian: what their tests see, and what a router is like after their floods."""
import re
import subprocess
from pathlib import Path

from star import StarSuite, router, wrong_with

TITLE = "THC-IPv6 and ipv6toolkit"
ABOUT = """Attack and test tools that others have written, in a host beside the router. *implementation6* sends 59 kinds of odd packets, to the router
itself and to a host behind it, and tells whether an answer came; a test passes if there is the same answer as with Linux's forwarding. All other tools
attack for some seconds; the test passes if the router forwards afterwards, and kamueed's audit and ledger are right."""
HOST, ROUTER, FAR = "fd90:0::2", "fd90:0::1", "fd90:1::2"
ATTACK_S, TESTS_S = 5, 400
TARGETS = {"implementation6-router": ROUTER, "implementation6-host": FAR}
# Tool and arguments; e0 is the attacker's interface.
ATTACKS = {
    **{f"fuzz_ip6 -{kind}": f"atk6-fuzz_ip6 -{kind} e0 {ROUTER}" for kind in "1234567890"},
    **{f"fuzz_ip6 {flag}": f"atk6-fuzz_ip6 -{flag} e0 {FAR}" for flag in "IFSDHRJ"},
    **{f"flood_{what}": f"atk6-flood_{what} e0" for what in ("advertise6", "dhcpc6", "mld26", "mld6", "mldrouter6", "router26", "router6", "rs6",
                                                           "solicitate6")},
    "flood_redir6": f"atk6-flood_redir6 e0 {ROUTER} {FAR}", "flood_unreach6": f"atk6-flood_unreach6 e0 {ROUTER}",
    **{f"denial6 {number}": f"atk6-denial6 e0 {ROUTER} {number}" for number in range(1, 8)},
    "fragmentation6": f"atk6-fragmentation6 e0 {ROUTER}", "exploit6": f"atk6-exploit6 e0 {ROUTER}",
    "ndpexhaust26": "atk6-ndpexhaust26 e0 fd90:1::/64",
    "ndpexhaust6": "atk6-ndpexhaust6 e0 fd90:1::",
    "smurf6": f"atk6-smurf6 e0 {FAR}", "rsmurf6": f"atk6-rsmurf6 e0 {FAR}", "randicmp6": f"atk6-randicmp6 e0 {FAR}",
    "sendpees6": f"atk6-sendpees6 e0 1024 fd90:0:: {ROUTER}", "kill_router6": f"atk6-kill_router6 e0 {ROUTER}",
    "toobig6": f"atk6-toobig6 e0 {ROUTER} {FAR} 1280",
    "frag6": f"frag6 -i e0 -s {HOST} -d {FAR} --flood-frags 1000 -l -z 1", "jumbo6": f"jumbo6 -i e0 -s {HOST} -d {ROUTER} -q 100000 -l -z 1",
    "na6": f"na6 -i e0 -d {ROUTER} -t {ROUTER} --flood-targets 1000 -l -z 1", "ns6": f"ns6 -i e0 -d {ROUTER} -t {ROUTER} --flood-sources 1000 -l -z 1",
    "ra6": "ra6 -i e0 -d ff02::1 --flood-sources 1000 -l -z 1", "icmp6": f"icmp6 -i e0 -s {HOST} -d {FAR} -t 2 -m 1280 -l -z 1",
    "tcp6": f"tcp6 -i e0 -s fd90:0::/64 -d {FAR} -a 179 -X S --flood-sources 1000 -l -z 1",
}
LINE = re.compile(r"Test\s+(\d+):\s+(.*?)\s*(PASSED|FAILED|-{2,}|\?+|UNKNOWN|SKIPPED)[^\n]*", re.DOTALL)


class Suite(StarSuite):
    PACKAGES = ("thc-ipv6", "ipv6toolkit")

    def __init__(self, work: Path):
        self.answers: dict[str, dict[str, str]] = {}
        super().__init__(work)

    def cases(self) -> dict[str, list[str]]:
        return {case: [case] for case in (*TARGETS, *ATTACKS)}

    def run(self, case: str, kamueed: Path | None, out: Path) -> tuple[dict[str, tuple[str, str]], list[str]]:
        if kamueed and case in TARGETS and case not in self.answers:
            self.run(case, None, out)
        with router(kamueed, out) as lab:
            outcomes = self.implementation6(case, lab, out, kamueed) if case in TARGETS else self.attack(case, lab, out)
            return outcomes, wrong_with(lab)

    def implementation6(self, case: str, lab, out: Path, kamueed: Path | None) -> dict[str, tuple[str, str]]:
        """With Linux each test passes, and says what came; with kamueed it passes if the same came."""
        said = told(lab, ["atk6-implementation6", "e0", TARGETS[case]], TESTS_S, out)
        found = {f"{case}: {number} {name}": answer for number, name, answer in LINE.findall(said)}
        if not kamueed:
            self.answers[case] = found
        expected = self.answers.get(case, {})
        outcomes = {test: ("passed", "") if not kamueed or expected.get(test) == answer else ("failed", f"{answer}, with Linux {expected.get(test)}")
                    for test, answer in found.items()}
        return outcomes or {f"{case}: the tool": ("failed", said[-200:] or "said nothing")}

    def attack(self, case: str, lab, out: Path) -> dict[str, tuple[str, str]]:
        told(lab, ATTACKS[case].split(), ATTACK_S, out)
        try:
            lab.ping(lab.hosts["b"], "10.90.1.2")
            lab.ping(lab.hosts["a"], "fd90:2::2")
        except RuntimeError as error:
            return {case: ("failed", str(error))}
        return {case: ("passed", "")}


def told(lab, argv: list[str], limit_s: float, out: Path) -> str:
    """What the tool said, within its time."""
    done = subprocess.run(lab.hosts["src"].argv(["timeout", str(limit_s), *argv]), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    said = done.stdout[-1_000_000:].decode(errors="replace")
    (out / "tool").write_text(said)
    if done.returncode in (126, 127):
        raise RuntimeError(f"{argv[0]} does not start: {said}")
    return said
