# SPDX-License-Identifier: BSD-3-Clause
r"""Text of strangers is data: a tenant names its devices, aliases, routes and requests as badly as Linux and the API let it.

Whatever it does, each exit is read by a stricter reader than usual: JSON with unique keys and plain strings, promtool, one line of the log for
each event, and a CLI that writes no control character. Names and texts are drawn anew with each run: PLAIN_SEED repeats one.
"""
import json
import os
import random
import re
import shutil
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from kamuee.commands import COMMANDS
from kamuee.errors import DaemonError
from kamuee.plain import is_plain
from kamuee.tech_support import plain as words_of

import schema
from daemon import Daemon
from support import eventually

KAMUEE = Path(__file__).resolve().parents[2] / "kamuee"
NAME = re.compile(rb"[A-Za-z0-9_.-]{1,15}")
NAMES = [b"g\xff", b"g\xfe", b"g?", b"g\\xff", b"#7", b"x\x1b]0;y\x07", b"\x1b[2J", b"\xc2\x9b5n", b'q"z\\', b"x;reboot", b"$(id)", b"a=b",
         b"a\xe2\x80\xa8b", b"\xe2\x80\xaegnp", "é".encode(), b"'", b"[bold]", b"<img>", b"{}", b"\xe2\x80", b"*", b"%s%n"]
LINE = "set acl guard rule 1 permit ip from any to any"
TEXTS = [b"x\xff", b"x\x1b]0;owned\x07", f"x\u2028{LINE}\u2028y".encode(), f"x\n{LINE}\ny".encode(), b"\xc2\x9b2J", b"x\r\x85y", b"\xe2\x80\xae",
         b"y" * 254 + b"\xc3", b'a "b" \\c', "東京 é 🚀".encode()]
PIECES = [*NAMES, *TEXTS]


def drawn(draw: random.Random, longest: int) -> bytes:
    """Bytes that Linux takes for the name of a device."""
    found = b"".join(draw.choice(PIECES)[:draw.randint(1, 6)] for _ in range(draw.randint(1, 5)))
    return bytes(b for b in found if b not in b" \t\n\v\f\r\0/:" and b != 0xa0)[:longest] or b"\x7f"


class Tenant:
    """Who administers the namespace of the virtual router red."""

    def __init__(self, daemon: Daemon):
        self.daemon = daemon

    def ip(self, *words: str | bytes) -> bool:
        return not subprocess.run(["ip", "-n", "red", *words], capture_output=True).returncode

    def links(self) -> list[str]:
        """As Linux has them, in the escapes of `ip`."""
        said = subprocess.run(["ip", "-n", "red", "-o", "link", "show"], capture_output=True, check=True).stdout
        return said.decode(errors="backslashreplace").split("\n")


@pytest.fixture(scope="module")
def daemon(kamueed):
    with Daemon(kamueed, "plain-e2e") as daemon:
        subprocess.run(["ip", "netns", "add", "red"], check=True)
        daemon.start("set port p0 devargs net_af_packet0,iface=a0\nset port p1 devargs net_af_packet1,iface=a1\n"
                     "set port p2 devargs net_af_packet2,iface=a2\nset vr red namespace red\nset interface p1 vr red\nset interface p2 vr red\n"
                     "set counters nexthop true\n")
        yield daemon
    subprocess.run(["ip", "netns", "del", "red"], check=True)


@pytest.fixture(scope="module")
def tenant(daemon) -> Iterator[Tenant]:
    """It has done its worst."""
    seed = int(os.environ.get("PLAIN_SEED") or random.randrange(1 << 32))
    print(f"PLAIN_SEED={seed}")
    draw = random.Random(seed)
    tenant = Tenant(daemon)
    tenant.ip("addr", "add", "10.1.0.1/24", "dev", "p1")
    tenant.ip("addr", "add", "10.2.0.1/24", "dev", "p2")
    names = list(dict.fromkeys([*NAMES, *(drawn(draw, 15) for _ in range(20))]))
    made = 0
    for n, name in enumerate(names):
        kind = n % 3
        if kind == 0:
            made += tenant.ip("link", "add", name, "type", "vxlan", "id", str(1000 + n), "local", "10.1.0.1", "remote", "10.1.0.2", "dstport", "4789")
        elif kind == 1:
            made += tenant.ip("link", "add", "link", "p1", "name", name, "type", "vlan", "id", str(100 + n))
        else:
            made += tenant.ip("link", "add", name, "type", "veth", "peer", "name", f"peer{n}")
        tenant.ip("link", "set", name, "up")
        tenant.ip("link", "set", name, "alias", draw.choice(TEXTS))
        tenant.ip("addr", "add", f"10.9.{n}.1/24", "dev", name)
        tenant.ip("route", "add", f"10.{100 + n}.0.0/16", "via", f"10.9.{n}.2", "dev", name)
    assert made > len(names) / 2
    assert tenant.ip("link", "add", "vxgood", "type", "vxlan", "id", "1", "local", "10.1.0.1", "remote", "10.1.0.3", "dstport", "4789")
    assert tenant.ip("link", "add", "link", "p2", "name", b"v\xff", "type", "macvlan")
    assert tenant.ip("link", "set", b"v\xff", "master", "p2") or tenant.ip("link", "set", "p2", "alias", TEXTS[1])
    eventually(lambda: "vxgood" in [entry["name"] for entry in daemon.client.entries("tunnel")], what="a tunnel with a plain name is taken over")
    yield tenant


def strings(value: Any) -> Iterator[str]:
    if isinstance(value, dict):
        for name, inner in value.items():
            yield name
            yield from strings(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from strings(inner)
    elif isinstance(value, str):
        yield value


def assert_plain(said: str, where: str) -> None:
    for line in said.split("\n"):
        assert is_plain(line.replace("\t", "")), f"{where}: {line!r}"
        assert line.strip() != LINE, where


def assert_unique(value: Any, node: Any, where: str) -> None:
    """Of each list that has keys, no two entries have the same."""
    for child in node.all("container", "list"):
        here = f"{where}/{child.argument}"
        inner = value.get(child.argument, value.get(f"kamuee:{child.argument}"))
        if child.keyword == "list" and inner:
            keys = child.one("key")
            seen = [tuple(str(entry.get(key)) for key in keys.argument.split()) for entry in inner] if keys else []
            assert len(seen) == len(set(seen)), f"{here}: {seen}"
            for entry in inner:
                assert_unique(entry, child, here)
        elif inner:
            assert_unique(inner, child, here)


def test_a_device_with_another_name_is_left_to_linux_and_named(daemon, tenant):
    left = {entry["name"]: entry["reason"] for entry in daemon.client.entries("linux-tunnel")}
    made = {line.split(":", 1)[0] for line in tenant.links() if "vxlan" not in line and ":" in line}
    assert left and made
    assert all(name.startswith("#") and "its name, '" in reason and "none that an interface can have" in reason for name, reason in left.items()), left
    assert any(r"'g\xff'" in reason for reason in left.values())
    assert tenant.ip("link", "set", "dev", "if" + next(n for n, reason in left.items() if r"'g\xff'" in reason)[1:], "name", "gplain")
    eventually(lambda: "gplain" in [entry["name"] for entry in daemon.client.entries("tunnel")], what="a device that has got a plain name is taken over")


def test_state_is_plain_and_its_keys_are_unique(daemon, tenant):
    said = daemon.client._ask("GET", "/restconf/data", None, 60).read().decode("utf-8")
    found = json.loads(said, object_pairs_hook=lambda pairs: dict(pairs) if len(dict(pairs)) == len(pairs) else pytest.fail(f"{pairs}"))
    data = found["ietf-restconf:data"]
    for text in strings(data):
        assert_plain(text, "state")
    module = schema.module()
    assert_unique(data, module, "")
    assert len(data["kamuee:state"]["linux-tunnel"]) > 3
    for path in ("ietf-interfaces:interfaces", "ietf-routing:routing"):
        for text in strings(json.loads(daemon.client._ask("GET", f"/restconf/data/{path}", None, 60).read())):
            assert_plain(text, path)


def test_the_scrape_is_one_that_prometheus_takes(daemon, tenant):
    metrics = daemon.client._ask("GET", "/metrics", None, 60).read()
    assert_plain(metrics.decode("utf-8"), "metrics")
    from prometheus_client import parser
    assert sum(1 for _ in parser.text_string_to_metric_families(metrics.decode())) > 60
    if not shutil.which("promtool"):
        pytest.skip("promtool is not installed (apt install prometheus); the parser of prometheus_client takes the scrape")
    checked = subprocess.run(["promtool", "check", "metrics"], input=metrics, capture_output=True)
    wrong = [line for line in (checked.stdout + checked.stderr).decode().split("\n") if "error" in line]
    assert not wrong, wrong
    assert checked.returncode in (0, 3), checked        # 3: advice on names, of which none is of a tenant


def cli(daemon: Daemon, *words: str) -> bytes:
    return subprocess.run([str(KAMUEE), "--socket", str(daemon.socket), *words], capture_output=True, timeout=60).stdout


def test_no_command_writes_a_control_character(daemon, tenant):
    shows = [words for command in COMMANDS if command.pattern.startswith(("show ", "compare"))
             and (words := words_of(command.pattern)) and "tech-support" not in words]
    assert len(shows) > 40
    script = "\n".join(" ".join(words) for words in shows) + "\nshow linux-tunnel\nshow interface\nlookup 10.100.0.1 vr red\n"
    done = subprocess.run([str(KAMUEE), "--socket", str(daemon.socket)], input=script.encode(), capture_output=True, timeout=300)
    assert_plain((done.stdout + done.stderr).decode("utf-8"), "kamuee")
    for words in (("show", "interface", "-j"), ("show", "linux-tunnel", "-j"), ("show", "ipv4", "route", "vr", "red", "-j"),
                  ("explain", "in", "p1", "from", "10.1.0.2", "to", "10.101.0.1"), ("--complete", "set port p9 kernel-interface "),
                  ("--complete", "show interface "), ("show", "audit", "-w"), ("monitor", "--once", "-i", "0.1")):
        assert_plain(cli(daemon, *words).decode("utf-8"), " ".join(words))


def test_the_api_takes_no_other_text(daemon, tenant):
    refused = 0
    call: Callable[..., Any] = daemon.client.call
    for text in (text.decode(errors="surrogateescape") for text in TEXTS[:7]):
        quoted = f'"{text}"'
        for given in ({"line": [f"set interface p1 description {quoted}"]}, {"text": f"set vr red description {quoted}\n"},
                      {"line": ["set interface p1 redirect true"], "comment": text},
                      {"text": json.dumps({"kamuee:interface": [{"name": "p1", "description": text}]}), "format": "json"}):
            with pytest.raises(DaemonError):
                call("configure", **given)
            refused += 1
        for operation, given in (("silence-alarm", {"name": "ledger", "subject": text[:20], "seconds": 1}), ("lookup", {"vr": text, "address": ["10.0.0.1"]})):
            with pytest.raises(DaemonError):
                call(operation, **given)
    assert refused == 28
    call("configure", line=[f"set interface p1 description {json.dumps(TEXTS[9].decode(), ensure_ascii=False)}"], comment=TEXTS[9].decode())
    assert [entry["description"] for entry in daemon.client.state("interface=p1")] == [TEXTS[9].decode()]
    assert daemon.client.state("configuration")["revision"][0]["comment"] == TEXTS[9].decode()


def test_the_alias_of_a_tap_is_shown(daemon, tenant):
    for text in TEXTS:
        if tenant.ip("link", "set", "p2", "alias", text):
            def shown() -> str:
                return daemon.client.state("interface=p2")[0].get("description", "")
            if is_plain(text.decode(errors="surrogateescape")):
                eventually(lambda: shown() == text.decode(), 10, shown)
            assert is_plain(shown()) and len(shown().encode()) <= 255


def test_a_tap_that_was_renamed_is_named(daemon, tenant):
    for name in (b"t\xff", b"t\x1b[2J", b"t;reboot"):
        tenant.ip("link", "set", "p2", "down")
        assert tenant.ip("link", "set", "p2", "name", name)
        eventually(lambda: tenant.ip("link", "show", "dev", "p2"), what="its name is restored")
    tenant.ip("link", "set", "p2", "up")
    assert "name of a TAP restored" in daemon.log.read_text(errors="replace") or "name restored" in daemon.log.read_text(errors="replace")


def test_each_event_is_one_plain_line_of_the_log(daemon, tenant):
    for line in daemon.log.read_bytes().decode("utf-8").split("\n"):
        assert is_plain(line), line
        assert not line or re.match(r"\d\d:\d\d:\d\d\.\d{3} (error|warning|notice|info|debug) \S|EAL|TELEMETRY|[a-z_]+\(|\S+: ", line), line
