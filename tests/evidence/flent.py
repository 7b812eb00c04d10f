# SPDX-License-Identifier: BSD-3-Clause
"""flent, the FLExible Network Tester: TCP fills a link of 20 Mbit/s in both directions; what is left for others?"""
import gzip
import json
import os
import subprocess
from pathlib import Path
from statistics import fmean

from star import StarSuite, router, wrong_with

from debian import apt_beside
from measure.program import wait_until

TITLE = "flent"
ABOUT = """Debian's FLExible Network Tester fills a link of 20 Mbit/s with TCP (netperf), and measures round trips meanwhile. kamueed shapes the link by a queue
with the built-in classes, Linux by HTB with a class for EF and one for the rest (this kernel has no fq_codel). A test passes if TCP gets four fifths of the
link, and if pings of class EF take 20 ms or less on average."""
RATE_MBIT, SECONDS, EF_MS, SHARE = 20, 10, 20.0, 0.8
FAR = "10.90.1.2"
# Test of flent's, and its parameters.
TESTS = {"8 uploads": ("tcp_nup", "upload_streams=8"), "8 downloads": ("tcp_ndown", "download_streams=8"), "rrul": ("rrul",), "rrul_be": ("rrul_be",)}
HTB = f"""qdisc add dev {{0}} root handle 1: htb default 20
class add dev {{0}} parent 1: classid 1:1 htb rate {RATE_MBIT}mbit ceil {RATE_MBIT}mbit
class add dev {{0}} parent 1:1 classid 1:10 htb rate 6mbit ceil {RATE_MBIT}mbit prio 0
class add dev {{0}} parent 1:1 classid 1:20 htb rate 14mbit ceil {RATE_MBIT}mbit prio 1
filter add dev {{0}} parent 1: protocol ip prio 1 u32 match ip dsfield 0xb8 0xfc flowid 1:10"""


class Suite(StarSuite):
    PACKAGES = ("flent", "fping")

    def fetch(self) -> None:
        """netperf is unpacked, not installed, so that no service starts."""
        super().fetch()
        self.netperf = self.work / "netperf/usr/bin"
        if not self.netperf.exists():
            apt = self.work / "apt"
            env = apt_beside(apt, "deb $(REPO_URI) $(RELEASE) non-free")
            subprocess.run(["apt-get", "-q", "download", "netperf"], check=True, env=env, cwd=apt, stdout=subprocess.DEVNULL)
            subprocess.run(["dpkg-deb", "-x", next(apt.glob("netperf_*.deb")), self.work / "netperf"], check=True)

    def cases(self) -> dict[str, list[str]]:
        return {case: [case] for case in TESTS}

    def run(self, case: str, kamueed: Path | None, out: Path) -> tuple[dict[str, tuple[str, str]], list[str]]:
        with router(kamueed, out) as lab:
            for port in ("p0", "p1"):
                if lab.kamueed:
                    lab.kamueed.client.call("configure", line=[f"set port {port} queue rate {RATE_MBIT}M"])
                else:
                    for command in HTB.format(port).split("\n"):
                        lab.router.run(f"tc {command}")
            lab.popen(lab.hosts["a"], [self.netperf / "netserver", "-D", "-4"], log=str(out / "netserver"))
            wait_until(lambda: "12865" in lab.hosts["a"].run("ss -Hltn"), "netserver does not listen", 10)
            test, *parameters = TESTS[case]
            return self.judged(case, self.measured(lab, test, [*parameters, f"ping_hosts={FAR}", "ping_markings=EF"], out)), wrong_with(lab)

    def measured(self, lab, test: str, parameters: list[str], out: Path) -> dict[str, float]:
        """The mean of each of flent's series."""
        argv = ["flent", test, "-4", "-H", FAR, "-l", str(SECONDS), "-D", str(out), "-f", "summary"]
        for parameter in parameters:
            argv += ["--test-parameter", parameter]
        done = subprocess.run(lab.hosts["src"].argv(argv), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                              timeout=120, env={**os.environ, "PATH": f"{self.netperf}:{os.environ['PATH']}"}, cwd=out)
        (out / "flent.log").write_text(done.stdout)
        data = next(out.glob("*.flent.gz"), None)
        if not data:
            raise RuntimeError(f"flent {test}: {done.stdout}")
        series = json.loads(gzip.decompress(data.read_bytes()))["results"]
        return {name: fmean(seen) for name, values in series.items() if (seen := [value for value in values if value is not None])}

    def judged(self, case: str, means: dict[str, float]) -> dict[str, tuple[str, str]]:
        outcomes = {}
        for way in ("upload", "download"):
            if any(name.startswith(f"TCP {way}") for name in means):
                rate = means.get(f"TCP {way} sum", 0.0)
                outcomes[f"{case}: TCP {way}"] = verdict(rate >= SHARE * RATE_MBIT, f"{rate:.1f} Mbit/s")
        delays = ", ".join(f"{name.removeprefix('Ping (ms) ').replace(f'{FAR} (extra)', 'EF')} {delay:.1f} ms" for name, delay in means.items()
                           if name.startswith("Ping") and not name.endswith("avg"))
        outcomes[f"{case}: ping of class EF"] = verdict(means.get(f"Ping (ms) ICMP {FAR} (extra)", 1e9) <= EF_MS, delays)
        return outcomes


def verdict(is_right: bool, measured: str) -> tuple[str, str]:
    return "passed" if is_right else "failed", measured
