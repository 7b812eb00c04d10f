# SPDX-License-Identifier: BSD-3-Clause
"""Builds the replay driver and l3fwd when they are needed, with DPDK's source of exactly the installed version.

A driver needs headers that libdpdk-dev leaves out, and l3fwd is an example in source. Both come from the
distribution's source package: `apt-get source` with a configuration of its own (nothing below /etc/apt is touched),
verified by apt, kept below the build directory. A tree that is there already can be named in DPDK_SOURCE.
"""
from __future__ import annotations

import os
import re
import subprocess
import tarfile
from collections.abc import Callable, Sequence
from pathlib import Path

from measure.program import Unavailable

HERE = Path(__file__).resolve().parent
NEEDED = ("lib/ethdev/", "lib/eal/include/", "drivers/bus/vdev/", "lib/lpm/", "examples/l3fwd/", "examples/common/")
HEADERS = ("lib/ethdev", "drivers/bus/vdev", "lib/eal/include")
DISTRIBUTION = re.compile(r"https?://\S*(debian|ubuntu)\S*")
FLAGS = ["-O3", "-g", "-std=gnu17", "-march=native", "-Wall", "-DALLOW_INTERNAL_API", "-DALLOW_EXPERIMENTAL_API"]
# Limits of l3fwd's tables, enough for a full table. (file, old text, new text)
LIMITS = (
    ("l3fwd_lpm.c", r"(IPV4_L3FWD_LPM_MAX_RULES\s+)1024", r"\g<1>(1 << 21)"),
    ("l3fwd_lpm.c", r"(IPV4_L3FWD_LPM_NUMBER_TBL8S) \(1 << 8\)", r"\1 (1 << 16)"),
    ("l3fwd_lpm.c", r"(IPV6_L3FWD_LPM_MAX_RULES\s+)1024", r"\g<1>(1 << 20)"),
    ("l3fwd_lpm.c", r"(IPV6_L3FWD_LPM_NUMBER_TBL8S) \(1 << 16\)", r"\1 (1 << 17)"),
    ("l3fwd_fib.c", r"(config_ipv4\.max_routes = )\(1 << 16\)", r"\1(1 << 21)"),
    ("l3fwd_fib.c", r"(config\.max_routes = )\(1 << 16\) - 1", r"\1(1 << 20)"),
    ("l3fwd_fib.c", r"(config\.trie\.num_tbl8 = )\(1 << 15\)", r"\1(1 << 18)"),
    # rte_lpm_add looks through all rules of a length for the same prefix: minutes for a full table. There is no
    # prefix twice in our rules, so the copy that l3fwd gets does not look. Lookup is in the header, as it was.
    ("rte_lpm.c", r"for \(; rule_index < last_rule; rule_index\+\+\) \{(\s+/\* If rule already exists update)",
     r"for (rule_index = last_rule; false;) {\1"),
    ("rte_lpm.c", r'"RTE_LPM"', '"RTE_LPM_L3FWD"'),
)


def run(argv: Sequence[str], what: str, remedy: str, **more) -> str:
    try:
        done = subprocess.run([str(word) for word in argv], capture_output=True, text=True, stdin=subprocess.DEVNULL,
                              **more)
    except FileNotFoundError:
        raise Unavailable(f"{what}: no {argv[0]}; {remedy}") from None
    if done.returncode:
        said = (done.stderr.strip() or done.stdout.strip()).splitlines()[-6:]
        raise Unavailable(f"{what}: {argv[0]} ended with status {done.returncode}; {remedy}\n" + "\n".join(said))
    return done.stdout


def installed_version() -> str:
    return run(["dpkg-query", "-W", "-f", "${source:Version}", "libdpdk-dev"], "DPDK's version",
               "apt-get install libdpdk-dev (other systems: name DPDK's source tree in DPDK_SOURCE)").strip()


def source_lists(files: Sequence[Path]) -> str:
    """The distribution's own package sources as deb-src, in the form of one or more stanzas."""
    stanzas = []
    for path in files:
        if path.suffix == ".sources":
            for stanza in re.split(r"\n\s*\n", path.read_text()):
                if DISTRIBUTION.search(stanza):
                    stanzas.append(re.sub(r"(?m)^Types:.*$", "Types: deb-src", stanza))
        elif path.suffix == ".list" and path.exists():
            for line in path.read_text().splitlines():
                found = re.match(r"deb\s+(?:\[[^]]*\]\s*)?(\S+)\s+(\S+)\s+(.+)", line)
                if found and DISTRIBUTION.match(found[1]):
                    stanzas.append(f"Types: deb-src\nURIs: {found[1]}\nSuites: {found[2]}\nComponents: {found[3]}")
    return "\n\n".join(dict.fromkeys(stanza.strip() for stanza in stanzas)) + "\n"


def download(into: Path, version: str) -> Path:
    """DPDK's upstream archive of that version."""
    private = into / "apt"
    for name in ("lists/partial", "cache/archives/partial"):
        (private / name).mkdir(parents=True, exist_ok=True)
    lists = private / "source.sources"
    lists.write_text(source_lists([Path("/etc/apt/sources.list"), *sorted(Path("/etc/apt/sources.list.d").glob("*"))]))
    settings = (f"Dir::Etc::sourcelist={lists}", "Dir::Etc::sourceparts=/dev/null",
                f"Dir::State::lists={private}/lists",
                f"Dir::Cache={private}/cache", "APT::Sandbox::User=root", "Debug::NoLocking=1")
    options = ["-q", *(word for setting in settings for word in ("-o", setting))]
    what = f"cannot fetch the source of dpdk {version}"
    remedy = (f"is a package mirror reachable? Or name an unpacked source tree of DPDK {version.partition('-')[0]} "
              "in DPDK_SOURCE")
    run(["apt-get", *options, "update"], what, remedy)
    run(["apt-get", *options, "source", "--download-only", "--tar-only", f"dpdk={version}"], what, remedy, cwd=into)
    archives = sorted(into.glob("dpdk_*.orig.tar.*"))
    if not archives:
        raise Unavailable(f"{what}: apt-get left no archive in {into}; {remedy}")
    return archives[-1]


def unpack(archive: Path, into: Path) -> None:
    """The required parts; complete or missing."""
    part = into.with_name(into.name + ".part")
    with tarfile.open(archive) as tar:
        for member in tar:
            member.name = member.name.partition("/")[2]
            if member.isfile() and member.name.startswith(NEEDED) and ".." not in member.name:
                tar.extract(member, part)
    part.rename(into)


def source(build: Path, say: Callable[[str], None] = print) -> Path:
    """An unpacked tree of DPDK's source, of the installed version."""
    if named := os.environ.get("DPDK_SOURCE"):
        if not (Path(named) / "lib/ethdev/ethdev_driver.h").exists():
            raise Unavailable(f"DPDK_SOURCE={named}: no lib/ethdev/ethdev_driver.h there; it must name DPDK's unpacked "
                              "source")
        return Path(named)
    version = installed_version()
    place = build / "bench/dpdk"
    tree = place / f"dpdk-{version}"
    if not tree.exists():
        say(f"fetching the source of dpdk {version} (once, into {place})")
        place.mkdir(parents=True, exist_ok=True)
        unpack(download(place, version), tree)
    return tree


def pkg_config(*words: str) -> list[str]:
    flags = run(["pkg-config", *words, "libdpdk"], "DPDK's compiler flags",
                "apt-get install pkg-config libdpdk-dev").split()
    return [flag for flag in flags if not flag.startswith("-march=")]


def is_current(made: Path, sources: Sequence[Path]) -> bool:
    return made.exists() and all(made.stat().st_mtime > path.stat().st_mtime for path in sources)


def plugin(build: Path, say: Callable[[str], None] = print) -> Path:
    """librte_net_replay.so below the build directory, rebuilt if it is older than its source."""
    sources = sorted(path for path in HERE.glob("*.c") if not path.stem.endswith("_test"))
    made = build / "bench/dpdk/librte_net_replay.so"
    if is_current(made, sources + sorted(HERE.glob("*.h"))):
        return made
    tree = source(build, say)
    say("building the replay driver")
    made.parent.mkdir(parents=True, exist_ok=True)
    part = made.with_suffix(f".{os.getpid()}")
    headers = [word for name in HEADERS for word in ("-idirafter", str(tree / name))]
    libraries = [f"-lrte_{name}" for name in ("ethdev", "bus_vdev", "mempool", "mbuf", "kvargs", "eal")]
    run(["gcc", *FLAGS, "-fPIC", "-shared", *pkg_config("--cflags"), *headers, "-o", part, *sources,
         *pkg_config("--libs-only-L"), *libraries], "the replay driver does not compile",
        "apt-get install build-essential libdpdk-dev")
    part.rename(made)
    return made


def raise_limits(text: str, name: str) -> str:
    """The source file with the limits that a full table needs."""
    for file, pattern, better in LIMITS:
        if file == name:
            text, n = re.subn(pattern, better, text)
            if n != 1:
                raise Unavailable(f"l3fwd: expected '{pattern}' once in {name}, found it {n} times: LIMITS in "
                                  f"{__file__} has to follow this version of DPDK")
    return text


def l3fwd(build: Path, say: Callable[[str], None] = print) -> Path:
    """DPDK's example router with raised limits, below the build directory."""
    made = build / "bench/dpdk/l3fwd"
    if is_current(made, [Path(__file__)]):
        return made
    tree = source(build, say)
    say("building l3fwd")
    place = build / "bench/dpdk/l3fwd-source"
    place.mkdir(parents=True, exist_ok=True)
    for path in [*(tree / "examples/l3fwd").iterdir(), tree / "lib/lpm/rte_lpm.c"]:
        (place / path.name).write_text(raise_limits(path.read_text(), path.name))
    part = made.with_suffix(f".{os.getpid()}")
    run(["gcc", *FLAGS, "-w", *pkg_config("--cflags"), f"-I{tree}/examples/common", "-o", part,
         *sorted(place.glob("l3fwd*.c")), place / "main.c", place / "rte_lpm.c", *pkg_config("--libs")],
        "l3fwd does not compile", "apt-get install build-essential libdpdk-dev")
    part.rename(made)
    return made
