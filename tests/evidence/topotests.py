# SPDX-License-Identifier: BSD-3-Clause
"""FRR's topotests, of the source package of the FRR that is installed."""
import json
import subprocess
from itertools import groupby
from pathlib import Path

from debian import apt_beside, installed, told

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
TITLE = "FRR's topotests"
ABOUT = """The tests that FRR's makers run on their own routers, unmodified, with Debian's FRR: in each router's namespace a kamueed has a port
for each interface, and forwards. A case is a directory of tests with one or more topologies."""
PACKAGES = ("frr", "frr-pythontools", "gdb", "clang")
LIMIT_S = 3600      # of a file
LEFT_OUT = {"docker", "example_test", "example_topojson_test", "lib", "munet"}     # as in its pytest.ini
# The processes of a file end with its shell, and the shell with the thread that began it.
ALONE = ("setpriv", "--pdeathsig", "KILL", "unshare", "--mount", "--pid", "--net", "--uts", "--ipc", "--fork", "--kill-child", "--mount-proc")
# The whole of it runs in namespaces of its own, which end with it: its commands end processes by name. Its nodes set
# parameters of the machine (core_pattern): they can not. The suite begins only if each daemon exists, and Debian 12 has no
# pim6d. The shell stays, and reaps the daemons.
ISOLATED = """
mount -t tmpfs tmpfs /run
mkdir /run/suite /run/out /run/tmp
mount --bind "$SUITE" /run/suite
mount --bind "$OUT" /run/out
for part in kernel fs; do mount --bind /proc/sys/$part /proc/sys/$part; mount -o remount,bind,ro /proc/sys/$part; done
mkdir /run/frr-real
mount --bind /usr/lib/frr /run/frr-real
mount -t tmpfs tmpfs /usr/lib/frr
ln -s /run/frr-real/* /usr/lib/frr
[ -e /usr/lib/frr/pim6d ] || ln -s /bin/false /usr/lib/frr/pim6d
ip link set lo up
cd /run/suite
/usr/bin/python3 -m pytest -q -p no:cacheprovider -p topotests_plugin --rundir /run/out "$@" || exit
"""


class Suite:
    def __init__(self, work: Path):
        self.work = work
        self.version = told("dpkg-query", "-W", "-f", "${source:Version}", "frr")
        self.source = work / f"frr-{self.version}"
        self.tests = self.source / "tests/topotests"

    def fetch(self) -> None:
        installed(*PACKAGES)
        if (self.source / "fetched").exists():
            return
        print(f"topotests: fetching the source of frr {self.version}", flush=True)
        apt = self.work / "apt"
        env = apt_beside(apt, "deb-src $(REPO_URI) $(RELEASE) $(COMPONENT)")
        subprocess.run(["apt-get", "-q", "source", "--download-only", f"frr={self.version}"], check=True, env=env, cwd=apt, stdout=subprocess.DEVNULL)
        self.source.mkdir(exist_ok=True)
        upstream = next(apt.glob(f"frr_{self.version.rpartition('-')[0]}.orig.tar.*"))
        subprocess.run(["tar", "-xf", upstream, "--strip-components=1", "-C", self.source, "--wildcards", "*/tests/topotests"], check=True)
        (self.source / "fetched").touch()

    def cases(self) -> dict[str, list[str]]:
        """The files with tests of each directory."""
        files = sorted(str(file.relative_to(self.tests)) for file in self.tests.glob("*/**/test_*.py"))
        return {case: list(parts) for case, parts in groupby(files, lambda file: file.partition("/")[0]) if case not in LEFT_OUT}

    def run(self, file: str, kamueed: Path | None, out: Path) -> tuple[dict[str, tuple[str, str]], list[str]]:
        """Outcome and reason of each test of a file, and what our own look at each kamueed found wrong."""
        results = out / "results"
        results.touch()
        env = {"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "HOME": "/root", "LC_ALL": "C.UTF-8", "PYTHONPATH": str(HERE), "PYTHONDONTWRITEBYTECODE": "1",
               "TMPDIR": "/run/tmp",
               "SUITE": str(self.tests), "OUT": str(out), "EVIDENCE_RESULTS": "/run/out/results"}
        if kamueed:
            env |= {"EVIDENCE_KAMUEED": str(kamueed), "EVIDENCE_KAMUEE": str(ROOT / "kamuee"), "EVIDENCE_TAGGER": str(ROOT / "lab/vlan_tag.bpf.c")}
        why = ""
        with open(out / "log", "w") as log:
            try:
                subprocess.run([*ALONE, "sh", "-euc", ISOLATED, "sh", file], env=env, stdin=subprocess.DEVNULL, stdout=log, stderr=log, timeout=LIMIT_S)
            except subprocess.TimeoutExpired:
                why = f"did not end within {LIMIT_S // 60} minutes"
        lines = [json.loads(line) for line in results.read_text().splitlines()]
        outcomes: dict[str, tuple[str, str]] = {}
        for line in lines:
            # What fails in the setup or after the test has failed.
            if "test" in line and outcomes.get(line["test"], ("passed",))[0] != "failed":
                outcomes[line["test"]] = (line["outcome"], line["why"])
        if why or not outcomes:
            outcomes[f"{file}: the rest"] = ("failed", why or "pytest ended without a result")
        return outcomes, [f"{line['router']}: {line['found']}" for line in lines if line.get("found")]
