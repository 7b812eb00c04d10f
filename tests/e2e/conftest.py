# SPDX-License-Identifier: BSD-3-Clause
"""End-to-end tests: real kernels, real FRR and BIRD, real kamueed, in network namespaces. Root only.

Run: sudo /usr/bin/python3 -m pytest tests/e2e            KEEP=1 leaves the topologies up

Isolation. The pytest process moves into a mount and network namespace of its own, with empty /run/netns,
FRR directories and lab directory: nothing collides with the machine or with another run, and what a killed
run leaves dies with it. With KEEP=1 there is no isolation, so that `kamuee lab exec` finds what is left.

The oracle. Fixture `kind` runs a test twice: with the Linux kernel as the router, and with kamueed. The same
assertions hold on both; a test that fails on the kernel is a wrong test.

The end of every test with kamueed, without a word in the test: the ledger balances (no packet disappeared
without a reason), the FIB equals the kernel's table, the kernel has sent on no packet that came up to it, and
kamueed's filter of system calls has refused none.

tests/run starts the longest files first (E2E_ORDER), and keeps what Linux did with a test, which depends on that test, on what it uses and
on the kernel alone, in the build directory (E2E_VERDICTS): a test that passed there with the kernel as its router is not run again.

kamueed runs as an ordinary user with the capabilities of docs/features/rights.md; KAMUEED_USER=root: as root.
"""
import atexit
import ctypes
import hashlib
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from functools import lru_cache
from pathlib import Path

import pytest
from _pytest.runner import runtestprotocol

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "cli"), str(ROOT / "tests"), str(ROOT / "tools")]

from kamuee.errors import DaemonError, Unreachable                              # noqa: E402
from kamuee.lab import kamueenode, measure, rights                              # noqa: E402
from kamuee.lab.errors import LabError                                          # noqa: E402
from kamuee.lab.kamueenode import KamueeNode                                    # noqa: E402
from kamuee.lab.lab import Lab                                                  # noqa: E402

from by_hand import Machine                                                     # noqa: E402
from daemon import Daemon, refused_calls                                                       # noqa: E402
import support                                                                  # noqa: E402
from slow.groups import Groups                                                  # noqa: E402
from standstill import Watch                                                    # noqa: E402

# A shell starts what runs in the background with it ignored, and our programs would inherit that.
signal.signal(signal.SIGINT, signal.default_int_handler)

CLONE_NEWNS, CLONE_NEWNET = 0x20000, 0x40000000
BURST = 64          # packets by which an interface that moves under traffic may put off a virtual router's ledger (table/ledger_vr.h)
EMPTY_DIRECTORIES = ("/run/netns", "/var/run/frr", "/etc/frr", "/run/kamuee-lab", "/etc/bird", "/run/bird")


def why_not() -> str | None:
    """Why the tests cannot run here."""
    if os.geteuid() != 0:
        return "the end-to-end tests make network namespaces, which needs root: sudo make e2e"
    return None


watch: Watch | None = None
USER = "64000"      # a number without an account, so that nothing has to be made on the machine


def pytest_configure(config: pytest.Config) -> None:
    os.environ.setdefault("KAMUEED_USER", USER)
    config.addinivalue_line("markers", "rfc(number, section, level, only=""): what the test shows, or which part of it; a row of docs/conformance.md")
    config.addinivalue_line("markers", "alone: fills a table of the kernel's that all namespaces share: runs when no other test does (tests/run)")
    for group in Groups.marks():
        config.addinivalue_line("markers", f"{group}: long by nature (tests/slow/groups.yaml)")
    config.addinivalue_line("markers", "kernel_forwards: the kernel sends packets on here, as a multicast routing daemon needs it")
    config.addinivalue_line("markers", "differs(why): Linux does something else here, and why we do not follow")
    if not why_not():
        global watch
        watch = Watch()
        if not support.KEEP:
            isolate()


def isolate() -> None:
    """This process in namespaces of its own."""
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.unshare(CLONE_NEWNS | CLONE_NEWNET):
        raise OSError(ctypes.get_errno(), "unshare: cannot make a private mount and network namespace")
    commands = ["mount --make-rprivate /", "ip link set lo up"]
    for directory in EMPTY_DIRECTORIES:
        commands += [f"mkdir -p {directory}", f"mount -t tmpfs -o mode=755 tmpfs {directory}"]
    commands.append("chown frr:frr /var/run/frr /etc/frr")
    subprocess.run(" && ".join(commands), shell=True, check=True)
    name_namespaces()


def name_namespaces() -> None:
    """kamueed may not mount: a kamuee-netns of this run gives names to the namespaces it makes."""
    who = rights.ids()
    if who is None or not os.environ.get("KAMUEED"):
        return
    socket = "/run/kamuee-lab/netns.sock"
    program = Path(os.environ["KAMUEED"]).resolve().parent / "src/main/kamuee-netns"
    helper = subprocess.Popen([program, socket, str(who[0])])
    atexit.register(helper.kill)
    support.eventually(Path(socket).exists, what=f"{program} listens")
    os.environ["KAMUEE_NETNS"] = socket


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    reason = why_not()
    if reason is None:
        longest_first(items)
        leave_out_known(config, items)
        return
    if os.environ.get("CI"):
        pytest.exit(reason, 1)
    for item in items:
        item.add_marker(pytest.mark.skip(reason=reason))


def longest_first(items: list[pytest.Item]) -> None:
    """Puts the files in the order of the file E2E_ORDER, so that no long one is left when all others are done."""
    if not (named := os.environ.get("E2E_ORDER")):
        return
    place = {name: i for i, name in enumerate(Path(named).read_text().splitlines())}
    items.sort(key=lambda item: place.get(str(item.path.relative_to(ROOT)), len(place)))


# --- the machine stood still ---

@pytest.hookimpl(tryfirst=True)
def pytest_runtest_protocol(item: pytest.Item, nextitem: pytest.Item | None) -> bool:
    """A test that failed across a pause of the machine is void, and runs again in a new lab (standstill.py)."""
    where = {"nodeid": item.nodeid, "location": item.location}
    item.ihook.pytest_runtest_logstart(**where)
    begun = time.monotonic()
    reports = runtestprotocol(item, log=False, nextitem=nextitem)
    if any(report.failed for report in reports) and watch and (seconds := watch.seconds_since(begun)):
        said = f"{item.nodeid}: the machine, or one of its processors, stood still for {seconds:.0f} s"
        with open(os.environ.get("E2E_VOID", os.devnull), "a") as out:
            out.write(f"{said}\n")
        item.session._setupstate.teardown_exact(None)
        reports = runtestprotocol(item, log=False, nextitem=nextitem)
    for report in reports:
        item.ihook.pytest_runtest_logreport(report=report)
    item.ihook.pytest_runtest_logfinish(**where)
    return True


# --- faults of Linux ---

def verdict_of(item: pytest.Item) -> Path | None:
    """Where the verdict on a test with Linux as the router is kept; None: the test has another router, or nothing is kept."""
    named = os.environ.get("E2E_VERDICTS")
    if not named or getattr(item, "callspec", None) is None or item.callspec.params.get("kind") != "kernel":
        return None
    used = [item.path, *sorted(Path(__file__).parent.glob("*.py")), *sorted((ROOT / "cli/kamuee").rglob("*.py")),
            *sorted((ROOT / "lab").rglob("*.py"))]
    said = hashlib.sha256(f"{item.nodeid} {' '.join(os.uname()[2:4])}".encode())
    for file in dict.fromkeys(used):
        if file == item.path or not file.name.startswith("test_"):
            said.update(content(file))
    return Path(named) / said.hexdigest()


@lru_cache(maxsize=None)
def content(file: Path) -> bytes:
    return file.read_bytes()


def leave_out_known(config: pytest.Config, items: list[pytest.Item]) -> None:
    known = [item for item in items if (file := verdict_of(item)) and file.exists()]
    if known:
        config.hook.pytest_deselected(items=known)
        items[:] = [item for item in items if item not in set(known)]


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item: pytest.Item, call: pytest.CallInfo):
    report = (yield).get_result()
    if report.when == "call" and report.passed and (file := verdict_of(item)):
        file.parent.mkdir(parents=True, exist_ok=True)
        file.touch()
    if report.when == "call" and report.failed:
        labs = [value for value in getattr(item, "funcargs", {}).values() if isinstance(value, Lab)]
        report.sections += [(f"lost by {node.name} since it began", lost_by(node)) for lab in labs for node in lab.nodes.values()
                            if isinstance(node, KamueeNode) and node.kamueed_pid()]


def lost_by(node: KamueeNode) -> str:
    """Where a router lost packets: a rare failure's only trace."""
    try:
        return ", ".join(f"{where} {n}" for where, n in measure.losses(measure.client(node)).items())
    except (DaemonError, Unreachable) as error:
        return str(error)


@pytest.fixture
def tmp_path(request: pytest.FixtureRequest):
    """Pytest's own is below a directory that only root may enter; kamueed's user reads and writes here."""
    path = Path(tempfile.mkdtemp(prefix="e2e-"))
    path.chmod(0o755)
    rights.give(path)
    yield path
    shutil.rmtree(path, ignore_errors=True)


@pytest.fixture(scope="session")
def kamueed() -> str:
    """The daemon under test."""
    try:
        return str(kamueenode.find_kamueed())
    except LabError as error:
        if os.environ.get("CI"):
            raise
        pytest.skip(str(error))


@pytest.fixture(scope="module", params=["kernel", "kamueed"])
def kind(request: pytest.FixtureRequest) -> str:
    """Who forwards in the router under test: the value of `kind:` in the lab file."""
    if request.param == "kernel":
        return "router"
    request.getfixturevalue("kamueed")
    return "kamuee"


@pytest.fixture(scope="module")
def labs(request: pytest.FixtureRequest):
    """Starts labs: labs(TEXT, kind) puts the kind for $ROUTER; all are taken down after the module."""
    started = support.Labs(request.module.__name__.removeprefix("test_"))
    yield started
    started.stop()


@pytest.fixture(scope="module")
def lab(request: pytest.FixtureRequest, labs, kamueed):
    """The module's LAB, once its host h1 reaches the module's TARGETS. Modules that need more have a fixture of their own."""
    lab = labs(request.module.LAB)
    if targets := getattr(request.module, "TARGETS", ()):
        support.assert_reaches(lab["h1"], *targets)
    return lab


@pytest.fixture
def router(lab):
    """The lab's router r, to be configured; what a test changed is undone."""
    router = support.Router(lab["r"])
    before = router.call("configuration")["text"]
    yield router
    router.call("configure", replace=True, text=before)


@pytest.fixture
def daemon(request: pytest.FixtureRequest, kamueed):
    """A kamueed without a lab, to be started by the test. Modules whose tests share one have a fixture of their own."""
    with Daemon(kamueed, f"{request.module.__name__.removeprefix('test_')}-e2e") as daemon:
        yield daemon


@pytest.fixture
def machines(kamueed):
    """machines(NAME…): the first is a router, in which a page may be followed."""
    made: list[Machine] = []

    def make(*names: str) -> list[Machine]:
        made.extend(Machine(name, name == names[0]) for name in names)
        return made
    yield make
    for machine in made:
        machine.end()


@pytest.fixture(autouse=True)
def end_of_every_test(request: pytest.FixtureRequest):
    yield
    if "labs" not in request.fixturenames:
        return
    for lab in request.getfixturevalue("labs").running:
        for node in lab.nodes.values():
            if isinstance(node, KamueeNode) and node.kamueed_pid():
                support.eventually(lambda: measure.ledger(node)["imbalance"] == 0, 5,
                                   lambda: f"the ledger of {node.name} does not balance: {measure.ledger(node)}")
                allowed = BURST * node.log.read_text().count("iface_manager: moved: ")
                support.eventually(lambda: all(abs(vr["imbalance"]) <= allowed for vr in measure.vr_imbalances(node).values()), 5,
                                   lambda: f"ledgers of virtual routers of {node.name} do not balance: {measure.vr_imbalances(node)}")
                assert not refused_calls(node.log), refused_calls(node.log)
                if not request.node.get_closest_marker("kernel_forwards"):
                    assert support.forwarded_by_kernel(node) == 0, f"the kernel of {node.name} has forwarded packets"
                for vr in ["default", *node.vrs]:
                    support.eventually(lambda: not measure.fib_differences(node, vr), 10,
                                       lambda: f"FIB and kernel differ in vr {vr} of {node.name}: "
                                               + "; ".join(measure.fib_differences(node, vr)))
