# SPDX-License-Identifier: BSD-3-Clause
"""What a commit costs the traffic: of each key that takes effect live, it is removed and set again, and no packet is lost.

FULL has every such key of the schema, where it can be at the interfaces that the traffic passes. Echo requests of both families pass
all the time; a lost one is the fault of the commit in whose time it was under way. A key that is named is tried again, alone, before
the test fails: a busy machine may lose one once.
"""
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from kamuee.errors import DaemonError
from kamuee.lab import pinger, rights

from conftest import ROOT
from support import Router, assert_reaches, build_program, two_hosts

sys.path.append(str(Path(__file__).resolve().parents[2] / "tools"))

import schema                                                                   # noqa: E402

pytestmark = pytest.mark.fault

MODULE = schema.module()
BUILDER = Path(os.environ.get("KAMUEED", ROOT / "build/kamueed")).resolve().parent / "compiler/kamuee-program"
NODES = ("container", "list", "leaf", "leaf-list")
INTERVAL_S = 0.004
REST_S = 0.02                                # between two commits, so that each loss is one's fault
TRIES = 3

FULL = """
set log-level debug
set fib-engine dir24_8
set port p0 mtu 1400 promiscuous false
set port p2 mac 02:00:00:00:00:07 enabled true mtu 1400 promiscuous false
set port p3 devargs net_null3,no-rx=1 force true
set port p4 devargs net_null4,no-rx=1
set port p5 devargs net_null5,no-rx=1
set port p6 devargs net_null6,no-rx=1
set port p7 devargs net_null7,no-rx=1
set port lag0 lag mode active-backup primary p4
set port lag0 lag member p4
set port lag0 lag member p5
set port lag1 lag min-links 2
set port lag1 lag lacp rate slow activity passive system-priority 7
set port lag1 lag member p6
set port lag1 lag member p7
set port p0 mirror rx to port p3
set port p1 mirror both to tap mon0
set vport v1 port p0 vlan 9 mtu 1300
set vport v2 port p2 vlan 2
set vr red fib-engine poptrie
set vr red description tenant enabled true
set vr blue
set vr blue fib-engine poptrie flow-hash symmetric flow-label true flow-hash-seed 5 cpu-weight 9 acl in a out b
set vr blue routing-daemon frr
set vr blue budget interfaces 700 tunnels 70
set vr blue budget ipv4-routes 70 ipv6-routes 70 nexthops 70 neighbors 70 rules 777 set-members 777 captures 7 memory 70 punt-rate 7000 labels 70
set interface v1 vr blue
set metalink m a red b blue mtu 1400
set tunnel t1 kind gre local 10.1.0.1 remote 10.2.0.9 mtu 1300
set interface m-a description end
set vr red import blue prefix 10.0.0.0/8 ge 9 le 24
set forwarding import red prefix 2001:db8::/32 ge 33 le 48
set interface p0 description uplink urpf ipv4 strict ipv6 loose allow-default true
set interface p0 pcp 5 class 3
set interface p0 redirect true sflow true ipfix true directed-broadcast true fast-reroute true acl in c out d
set interface p1 redirect true sflow true ipfix true directed-broadcast true fast-reroute true acl in c out d
set interface p0 police in t out t
set interface p1 police in t out u
set interface p2 police in s out s
set interface p2 acl in a out b
set address-set s prefix 192.0.2.0/24
set address-set f file FOLDER/set
set acl a default permit
set acl b file FOLDER/list
set acl c default permit
set acl c rule 1 permit tcp from set s to any
set acl d default permit
set gpu g device emulated vr red max-latency 77 timeout 7000 offload always emulated-fault silent
set gpu g vr blue
set mirror-session m to port p3
set mirror-session t to tap mon1
set acl a rule 1 permit tcp from 10.0.0.0/8 port 1 to 10.0.0.0/8 port 80 established description web
set acl a rule 2 permit tcp from set s to set s tcp-flags syn dscp ef
set acl a rule 3 permit icmp from any to any icmp-type echo-request
set acl a rule 4 permit ip from any to any first-fragment
set acl a rule 5 permit ip from any to any log every 7
set acl a rule 6 permit udp from any to any police 100 burst 10
set acl a rule 16 permit udp from any to 203.0.113.16 police packets 100
set acl a rule 7 permit ip from any to any mirror m
set acl a rule 8 permit ip from any to any redirect to 192.0.2.1
set acl a rule 9 permit ip from any to any class 3 remark-dscp ef
set program-signer k key FOLDER/signer.pub
set program e hook ether-type ether-type 0x88b5 file FOLDER/a.so
set program i hook input file FOLDER/a.so on-fault pass order 7 mirror-session m
set program i next-hop 1 address 192.0.2.1
set policer s kind srtcm cir 100M cbs 100k ebs 200k color-aware true
set policer s conform remark-dscp af11
set policer s exceed drop
set policer s violate remark-dscp 13
set policer t kind trtcm cir 1G pir 2.5G cbs 300k pbs 400k
set policer t exceed remark-dscp 7
set policer t violate pass
set policer u kind srtcm cir 1G cbs 300k
set policer u conform remark-dscp af12
set acl-limit memory 77 build-time 7
set class-map cm dscp ef class 3
set class-map cm other 2
set class-map cm remark-pcp class 3 pcp 7
set queue-profile q class 4 strict rate-percent 50
set queue-profile q class 1 weight 7
set queue-profile q class 2 discipline fq-codel flows 64 ecn true limit 90k limit-time 700ms target 70ms interval 770ms step 20ms
set queue-profile q class 3 strict
set queue-profile r class 1 weight 9
set port p1 queue rate 1G core CORE profile q class-map cm packets 777 overhead 20
set port p1 queue vr default guarantee 70M maximum 700M weight 7 limit 77k reserve 7 profile r
set port p0 queue rate 1G
set port p0 queue vport v1 guarantee 7M maximum 70M weight 7 limit 77k reserve 7 profile r
set port p0 queue other maximum 700M weight 7 limit 77k reserve 7 profile r
set thread CORE forwarder port p0 rx-queue 0
set forwarding idle performance ipv4-options process latency-sample 61 flow-hash l3 flow-label false flow-hash-seed 7 cpu-weight 8 acl in d out d
set forwarding budget interfaces 7000 tunnels 700
set forwarding budget ipv4-routes 7000 ipv6-routes 7000 nexthops 700 neighbors 700 rules 777 set-members 777 captures 7 memory 700 punt-rate 70000 labels 700
set punt icmp rate 700 burst 80 queue 99
set multicast route default 239.1.1.1 any input p2 output p0 ttl 9
set icmp rate 7 burst 8 total-rate 9 total-burst 10
set journal size 7
set fib-audit interval 7
set drain time 7 script FOLDER/program bfd true
set alarm buffers enabled false raise 7 clear 3
set routing-daemon red bgp minimum-routes 7
set counters nexthop true
set counters prefix default 10.2.0.0/24
set netlink receive-buffer 500000
set sflow sample-rate 7 polling-interval 7 header-size 77 agent-address 192.0.2.9
set sflow collector 192.0.2.1 port 7
set ipfix sample-rate 7 active-timeout 7 inactive-timeout 6 template-interval 7 flows 1024 observation-domain 7
set ipfix collector 192.0.2.1 port 8
set acl z default permit
set class-map z other 2
set policer z kind srtcm cir 1M cbs 9000
set policer z conform drop
set queue-profile z class 1 weight 2
set vr green fib-engine poptrie
set metalink n a red b blue
set port p8 devargs net_null8,no-rx=1
set port lag2 lag mode active-backup
set port lag2 lag member p8
set api proxy games
set api tokens FOLDER/tokens
set api client k role admin vr red
set api group read-only games operator games admin games
set api group vr red read-only games operator games admin games
"""
# Of a key that has to be there, another value; by its place in the configuration, else in the schema.
INSTEAD = {
    "port/mirror/to/tap": "mon9", "port/mirror/to/port": "p2", "policer/cir": "900M", "policer/pir": "3G", "policer/kind": "srtcm",
    "interface/pcp/class": "4", "class-map/dscp/class": "5", "class-map/remark-pcp/class/pcp": "6", "acl/rule/action": "deny ip from any to any",
    "acl/rule/protocol": "132", "mirror-session/to/tap": "mon9", "mirror-session/to/port": "p2", "multicast/route/input": "v2",
    "api/proxy": "news",
    "program/hook": "ether", "program/ether-type": "0x88b6", "program/file": "FOLDER/b.so", "program/next-hop/address": "192.0.2.2",
    "program-signer/key": "FOLDER/signer2.pub",
    "acl/rule/from/prefix": "198.51.100.0/24", "acl/rule/to/prefix": "198.51.100.0/24",
    "api/client/role": "operator", "address-set/file": "FOLDER/set2", "acl/file": "FOLDER/list2",
    "queue-profile/class/discipline": "codel", "port/queue/rate": "900M", "acl/rule/police/rate": "77",
}
# Keys without a promise: they mean that packets are dropped or take another path, or the key is not live in this place.
MEANT = {
    "port p0": "the traffic's own port", "port p1": "the traffic's own port",
    "acl c rule 1 permit": "changed to deny, it denies the traffic",
    "acl c default": "the traffic is what it denies", "acl d default": "the traffic is what it denies",
}
# Leaves that are not tried, and why.
NOT_TRIED = {"gpu/device": "no machine that runs this has two kinds",
             "thread/forwarder/port/rx-queue": "the port has one, which goes with its entry"} | dict.fromkeys(
    ("acl/vr", "address-set/vr", "policer/vr", "program/vr"), "it is in the entry's name, and comes and goes with it")


class Key:
    """A leaf, or an entry of a list, of the running configuration: its words in a set line, its path in the schema."""

    def __init__(self, path: str, words: list[str], value: str, keywordless: bool, entry: bool):
        self.path, self.words, self.value, self.keywordless, self.entry = path, words, value, keywordless, entry

    def __str__(self) -> str:
        return " ".join(self.words)

    def removed(self) -> str:
        return f"delete {self}"

    def changed(self, folder: str) -> str | None:
        other = INSTEAD.get(str(self), INSTEAD.get(self.path))
        if other is None:
            return None
        other = other.replace("FOLDER", folder)
        return "set " + " ".join([*self.words[:-1], other] if self.keywordless else [*self.words, other])


def children(node: schema.Statement) -> Iterator[schema.Statement]:
    """Of a node, through choices and cases."""
    for child in node.all(*NODES, "choice", "case"):
        if child.one("config") and child.one("config").argument == "false":
            continue
        if child.keyword in ("choice", "case"):
            yield from children(child)
        else:
            yield child


def when(node: schema.Statement, inherited: str) -> str:
    apply = node.one("k:apply")
    return apply.argument if apply else inherited


def keys(node: schema.Statement, data: dict, path: str = "", words: tuple = (), apply: str = "live") -> Iterator[Key]:
    """Of the data below a node: live leaves and entries."""
    for child in children(node):
        name = child.argument
        if name not in data:
            continue
        here, at, takes = f"{path}/{name}".lstrip("/"), when(child, apply), data[name]
        if child.keyword == "container":
            yield from keys(child, takes, here, (*words, name), at)
        elif child.keyword == "list":
            named = child.one("key").argument.split()
            for entry in takes:
                begin = (*words, name, *(str(entry[k]) for k in named))
                if at == "live":
                    yield Key(f"{here}/{named[0]}", list(begin), "", False, True)
                yield from keys(child, {k: v for k, v in entry.items() if k not in named}, here, begin, at)
        elif at == "live":
            bare = child.one("k:keywordless") is not None
            for value in takes if child.keyword == "leaf-list" else [takes]:
                text = {True: "true", False: "false"}.get(value, str(value)) if isinstance(value, bool) else str(value)
                leaf = [*words] if bare else [*words, name]
                yield Key(here, [*leaf, text] if bare or child.keyword == "leaf-list" else leaf, text, bare, False)


def other_key(path: str) -> str | None:
    """An entry stands for all its keys."""
    node, above = MODULE, path.split("/")[:-1]
    for name in above:
        node = next(child for child in children(node) if child.argument == name)
    named = node.one("key").argument.split() if node.keyword == "list" else []
    return "/".join([*above, named[0]]) if path.split("/")[-1] in named else None


def live_leaves(node: schema.Statement, path: str = "", apply: str = "live") -> Iterator[str]:
    for child in children(node):
        here, at = f"{path}/{child.argument}".lstrip("/"), when(child, apply)
        if child.keyword in ("leaf", "leaf-list"):
            if at == "live":
                yield here
        else:
            yield from live_leaves(child, here, at)


def configured(router: Router) -> dict:
    """The running configuration by the names of the schema."""
    found = json.loads(router._ask("GET", "/restconf/data?content=config", None, 30).read())["ietf-restconf:data"]
    return {name.removeprefix("kamuee:"): value for name, value in found.items() if name.startswith("kamuee:")}


@pytest.fixture(scope="module")
def folder():
    folder = Path(tempfile.mkdtemp(prefix="blocked-e2e-"))     # pytest's are root's alone
    folder.chmod(0o755)
    for name in ("set", "set2"):
        (folder / name).write_text("198.51.100.0/24\n")
    for name in ("list", "list2"):
        (folder / name).write_text("10 permit ip from any to any\n")
    (folder / "tokens").write_text("")
    (folder / "tokens").chmod(0o600)
    (folder / "program").write_text("#!/bin/sh\n")
    (folder / "program").chmod(0o755)
    subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "2", "-subj",
                    "/CN=127.0.0.1", "-keyout", f"{folder}/key.pem", "-out", f"{folder}/cert.pem"], check=True, capture_output=True)
    for name in ("key", "cert"):
        shutil.copy(folder / f"{name}.pem", folder / f"{name}2.pem")
    subprocess.run(["openssl", "genpkey", "-algorithm", "ed25519", "-out", folder / "signer.pem"], check=True)
    subprocess.run(["openssl", "pkey", "-in", folder / "signer.pem", "-pubout", "-out", folder / "signer.pub"], check=True)
    shutil.copy(folder / "signer.pub", folder / "signer2.pub")
    for name in ("a", "b"):
        build_program(folder / f"{name}.so", "return 0;")
        subprocess.run([BUILDER, "sign", folder / f"{name}.so", "--key", folder / "signer.pem"], check=True)
    rights.give(folder)
    yield folder
    shutil.rmtree(folder)


LAB = two_hosts(interfaces=["p2: [10.3.0.1/24]"], nodes="  h3:\n    kind: host\n    interfaces: {eth0: [10.3.0.2/24]}\n",
                links=["r:p2, h3:eth0"], settings=["memory: 1024"])
TARGETS = ("10.2.0.2", "fd00:2::2")


class Traffic:
    """Echo requests to several targets; who lost one, by time."""

    def __init__(self, node, targets):
        self.proc = []
        for target in targets:
            proc = node.popen([sys.executable, pinger.__file__, target, str(INTERVAL_S)], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
            assert proc.stdout.readline().strip() == b"ready"
            self.proc.append((proc, time.monotonic()))

    def stop(self) -> tuple[int, list[float]]:
        """How many were sent, and when each lost one was (monotonic, about)."""
        sent, lost = 0, []
        for proc, begun in self.proc:
            result = json.loads(proc.communicate(b"0\n", timeout=300)[0])
            sent += result["sent"]
            lost += [begun + at for _, at in result["lost"]]
        return sent, lost


class Walk:
    def __init__(self, lab, router: Router, full: str, folder: Path):
        self.lab, self.router, self.full, self.folder = lab, router, full, folder
        self.tried: list[tuple[Key, float, float]] = []
        self.refused: dict[str, list[str]] = {}

    def back(self) -> None:
        self.router.call("configure", replace=True, text=self.full)

    def commit(self, key: Key) -> bool:
        """Removes it, or gives it another value; False: neither may be."""
        for line in (key.removed(), key.changed(str(self.folder))):
            if line is None:
                continue
            try:
                if not self.router.configure(line):
                    continue                                   # it says the default
                return True
            except DaemonError as error:
                self.refused.setdefault(key.path, []).append(f"{line}: {error}")
        return False

    def one(self, key: Key) -> None:
        begun = time.monotonic()
        if self.commit(key):
            time.sleep(REST_S)
            try:
                self.back()
            except DaemonError as error:
                raise AssertionError(f"{key} was removed or changed, and cannot be set again: {error}") from error
            time.sleep(REST_S)
            self.tried.append((key, begun, time.monotonic()))

    def losses(self, chosen: list[Key]) -> dict[str, int]:
        self.tried = []
        traffic = Traffic(self.lab["h1"], ("10.2.0.2", "fd00:2::2"))
        time.sleep(0.2)
        for key in chosen:
            self.one(key)
        time.sleep(0.2)
        sent, lost = traffic.stop()
        named: dict[str, int] = {}
        for at in lost:
            guilty = [str(key) for key, begun, ended in self.tried if begun - REST_S <= at <= ended + REST_S] or ["no commit"]
            for name in guilty:
                named[name] = named.get(name, 0) + 1
        print(f"{len(self.tried)} keys, {2 * len(self.tried)} commits, {sent} packets, {len(lost)} lost")
        return named


def test_a_commit_of_a_live_key_loses_no_packet(lab, folder):
    router = Router(lab["r"])
    core = min(os.sched_getaffinity(0))
    before = router.call("configuration")["text"]
    text = FULL.replace("FOLDER", str(folder)).replace("CORE", str(core))
    try:
        router.call("configure", text=before + text, replace=True)
        full = router.call("configuration")["text"]
        data = configured(router)
        chosen = [key for key in keys(MODULE, data) if str(key) not in MEANT]
        assert_reaches(lab["h1"], "10.2.0.2", "fd00:2::2")
        walk = Walk(lab, router, full, folder)
        named = walk.losses(chosen)
        tried = {key.path for key, _, _ in walk.tried}
        tried |= {path for path in live_leaves(MODULE) if other_key(path) in tried}
        missing = sorted(set(live_leaves(MODULE)) - tried - set(NOT_TRIED))
        guilty = [key for key in chosen if str(key) in named]
        again = [walk.losses([key] * TRIES) for key in guilty]
        found = {str(key): loss for key, loss in zip(guilty, again) if str(key) in loss}
        assert not found, found
        assert "no commit" not in named or len(named) > 1, named
        assert not missing, [f"{leaf}: {why}" for leaf in missing for why in walk.refused.get(leaf, ["not in FULL"])[:2]]
    finally:
        router.call("configure", replace=True, text=before)
