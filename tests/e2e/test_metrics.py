# SPDX-License-Identifier: BSD-3-Clause
"""/metrics: read by an OpenMetrics parser, and collected by a real Prometheus."""
import json
import re
import subprocess
from pathlib import Path

import pytest
from prometheus_client.openmetrics import parser as openmetrics
from prometheus_client import parser as plain

from daemon import Daemon
from support import eventually

ROOT = Path(__file__).resolve().parents[2]
PROMETHEUS, DEPLOY = ROOT / ".prometheus/usr/bin/prometheus", ROOT / "deploy"
ACCEPT = "application/openmetrics-text; version=1.0.0"


@pytest.fixture(scope="module")
def daemon(kamueed):
    with Daemon(kamueed, "me-e2e") as daemon:
        daemon.start("set port p0 devargs net_af_packet0,iface=a0\nset port p1 devargs net_null0 enabled false\n"
                     "set vport v40 port p0 vlan 40\n")
        daemon.run("ip address add 10.0.0.1/24 dev p0")
        daemon.serve()
        yield daemon


def get(daemon, accept: str, host: str = "localhost", url: str = "http://127.0.0.1:9108/metrics") -> str:
    """By curl's stand-in inside the daemon's namespace: what came, its head first."""
    script = ("import sys, urllib.request as u, urllib.error as e\n"
              f"r = u.Request({url!r}, headers={{'Accept': {accept!r}, 'Host': {host!r}}})\n"
              "try: a = u.urlopen(r)\nexcept e.HTTPError as x: a = x\n"
              "print(a.status, a.headers['Content-Type']); sys.stdout.write(a.read().decode())")
    return subprocess.run(["ip", "netns", "exec", daemon.name, "/usr/bin/python3", "-c", script], check=True, capture_output=True,
                          text=True).stdout


def families(daemon) -> dict:
    head, _, body = get(daemon, ACCEPT).partition("\n")
    assert head == "200 application/openmetrics-text; version=1.0.0; charset=utf-8"
    return {family.name: family for family in openmetrics.text_string_to_metric_families(body)}


def test_an_openmetrics_parser_takes_every_family(daemon):
    found = families(daemon)
    assert len(found) > 60
    for family in found.values():
        assert family.name.startswith("kamuee_"), family.name
        assert family.documentation.endswith("."), family.name
        assert family.type in ("counter", "gauge", "histogram", "info"), family.name
    up = {sample.labels["port"]: sample.value for sample in found["kamuee_port_up"].samples}
    assert up == {"p0": 1, "p1": 0}
    assert found["kamuee_interface_rx_packets"].unit == "packets"
    assert {sample.labels["interface"] for sample in found["kamuee_interface_rx_packets"].samples} == {"p0", "p1", "v40"}


def test_prometheus_text_has_the_same_samples(daemon):
    def names(body: str, module) -> set[str]:
        return {sample.name for family in module.text_string_to_metric_families(body) for sample in family.samples}
    head, _, body = get(daemon, "text/plain").partition("\n")
    assert head == "200 text/plain; version=0.0.4; charset=utf-8"
    assert names(body, plain) == {sample.name for family in families(daemon).values() for sample in family.samples}


def test_counters_count_what_came(daemon):
    def sent() -> float:
        return next(sample.value for sample in families(daemon)["kamuee_port_rx_packets"].samples if sample.labels["port"] == "p0")
    before = sent()
    frames = "import socket; s = socket.socket(socket.AF_PACKET, socket.SOCK_RAW); s.bind(('b0', 0)); [s.send(bytes(60)) for _ in range(5)]"
    subprocess.run(["ip", "netns", "exec", daemon.name, "/usr/bin/python3", "-c", frames], check=True)
    eventually(lambda: sent() >= before + 5, 10, "port p0 has received")


ACL = ("set address-set bad prefix 192.0.2.0/24", "set address-set bad prefix 2001:db8:bad::/48", "set acl edge default permit",
       "set acl edge rule 10 deny udp from set bad",
       "set acl edge rule 20 permit udp to any port 9 mirror copies", "set acl edge rule 30 permit udp to any port 8",
       "set mirror-session copies to tap mon0", "set interface p0 acl in edge")
SENDS = """import socket, struct, sys
def packet(src, dport):
    head = struct.pack(">BBHHHBBH4s4s", 0x45, 0, 28 + 18, 1, 0, 64, 17, 0, socket.inet_aton(src), socket.inet_aton("203.0.113.1"))
    total = sum(struct.unpack(">10H", head)); total = (total & 0xffff) + (total >> 16)
    head = head[:10] + struct.pack(">H", ~(total + (total >> 16)) & 0xffff) + head[12:]
    return bytes.fromhex(sys.argv[1].replace(":", "")) + bytes.fromhex("020000000099") + b"\\x08\\0" + head + struct.pack(">HHHH", 9, dport, 26, 0) + bytes(18)
s = socket.socket(socket.AF_PACKET, socket.SOCK_RAW); s.bind(("b0", 0))
for src, dport, times in (("192.0.2.7", 7, 5), ("198.51.100.7", 9, 3), ("198.51.100.7", 8, 2)):
    for _ in range(times):
        s.send(packet(src, dport))
"""


def test_access_lists_sets_and_mirrors(daemon):
    def value(family: str, /, **labels) -> float | None:
        samples = families(daemon)[family].samples
        return next((sample.value for sample in samples if sample.labels == labels), None)
    daemon.configure(*ACL)
    mac = json.loads(daemon.run("ip -j link show dev p0"))[0]["address"]
    subprocess.run(["ip", "netns", "exec", daemon.name, "/usr/bin/python3", "-c", SENDS, mac], check=True)
    eventually(lambda: value("kamuee_acl_rule_packets", acl="edge", rule="30", action="permit") == 2, 10, "the last rule has matched its packets")
    assert value("kamuee_acl_rule_packets", acl="edge", rule="10", action="deny") == 5
    assert value("kamuee_acl_rule_bytes", acl="edge", rule="20", action="permit") == 3 * 46
    assert value("kamuee_mirror_sent_packets", session="copies") == 3
    assert value("kamuee_acl_rules", acl="edge") == 3
    daemon.client.call("acl-change", name="edge", lease=60, add="\n".join(f"{i} deny 47 from 192.0.2.{i % 256}" for i in range(1000, 6000)))
    counted = [int(sample.labels["rule"]) for sample in families(daemon)["kamuee_acl_rule_packets"].samples if sample.labels["acl"] == "edge"]
    assert counted == [10, 20, 30, *range(1000, 5093)]      # the configured ones, and then the first temporary ones
    assert value("kamuee_acl_rules_left_out") == 3 + 5000 - 4096
    daemon.client.call("acl-change", name="edge", replace=True)
    assert value("kamuee_acl_unmatched_packets", acl="edge", action="permit") is not None  # the kernel asks for neighbors
    assert value("kamuee_acl_rules_left_out") == 0
    assert value("kamuee_address_set_members", set="bad", family="ipv6") == 1
    assert value("kamuee_acl_memory_bytes", acl="edge") > 0


def decided(daemon, name: str, what: str = "packets") -> dict[str, float]:
    return {sample.labels["verdict"]: sample.value for sample in families(daemon)[f"kamuee_acl_{what}"].samples if sample.labels["acl"] == name}


def test_every_verdict_of_a_list_from_a_file_is_counted(daemon, tmp_path):
    file = tmp_path / "rules"
    rules = [f"{number} deny tcp from 10.{number >> 8 & 255}.{number & 255}.0/24" for number in range(1000, 21000)]
    file.write_text("\n".join(["10 deny udp from 192.0.2.0/24", "20 reject udp to any port 9", "30 permit udp to any port 8 redirect to 203.0.113.9", *rules]))
    daemon.configure(f"set acl long file {file}", "set acl long default permit", "set interface p0 acl in long")
    try:
        assert decided(daemon, "long").keys() == {"permit", "deny", "reject", "redirect", "default"}
        mac = json.loads(daemon.run("ip -j link show dev p0"))[0]["address"]
        subprocess.run(["ip", "netns", "exec", daemon.name, "/usr/bin/python3", "-c", SENDS, mac], check=True)
        eventually(lambda: decided(daemon, "long")["redirect"] == 2, 10, lambda: str(decided(daemon, "long")))
        found = decided(daemon, "long")
        assert (found["deny"], found["reject"], found["permit"]) == (5, 3, 0)
        octets = decided(daemon, "long", "bytes")
        assert (octets["deny"], octets["reject"], octets["redirect"]) == (5 * 46, 3 * 46, 2 * 46)
        file.write_text("10 permit udp from 192.0.2.0/24\n")  # what the rules that go have decided stays
        daemon.client.call("reload", acl="long")
        eventually(lambda: daemon.client.state("acl=long")[0]["rules"] == 1, 10, "the list was read again")
        subprocess.run(["ip", "netns", "exec", daemon.name, "/usr/bin/python3", "-c", SENDS, mac], check=True)
        eventually(lambda: decided(daemon, "long")["permit"] == 5, 10, lambda: str(decided(daemon, "long")))
        found, before = decided(daemon, "long"), found
        assert all(found[verdict] == before[verdict] for verdict in ("deny", "reject", "redirect"))
        assert found["default"] >= before["default"] + 5
        daemon.client.call("clear-acl", name="long")
        assert sum(decided(daemon, "long").values()) < 5
    finally:
        daemon.configure("set interface p0 acl in edge", "delete acl long")


def test_promtool_takes_every_sample(daemon):
    if not PROMETHEUS.exists():
        pytest.skip("no Prometheus: make deps unpacks it")
    body = get(daemon, "text/plain").partition("\n")[2]
    done = subprocess.run([PROMETHEUS.with_name("promtool"), "check", "metrics"], input=body, capture_output=True, text=True)
    assert "error" not in done.stderr.lower() and done.returncode == 0, done.stdout + done.stderr


def test_only_metrics_and_only_by_a_name_of_this_host(daemon):
    assert get(daemon, "*/*", host="evil.example").startswith("421 ")
    assert get(daemon, "*/*", url="http://127.0.0.1:9108/restconf/data/kamuee:state").startswith("404 ")
    assert not subprocess.run(["ip", "netns", "exec", daemon.name, "ss", "-Hltn", "sport = 9108"], check=True, capture_output=True,
                              text=True).stdout.count("0.0.0.0:9108")


def test_dashboards_and_rules_name_metrics_that_exist(daemon):
    found = families(daemon)
    there = set(found) | {sample.name for family in found.values() for sample in family.samples}
    there |= {f"{family.name}{part}" for family in found.values() if family.type == "histogram" for part in ("_bucket", "_sum", "_count")}
    files = [*DEPLOY.glob("grafana/*.json"), DEPLOY / "prometheus/kamuee.rules.yml"]
    assert len(files) >= 3
    for file in files:
        named = set(re.findall(r"(?<![\w:])kamuee_[a-z0-9_]+", file.read_text()))
        assert named - there == set(), file
    for file in DEPLOY.glob("grafana/*.json"):
        board = json.loads(file.read_text())
        assert board["panels"] and len({panel["id"] for panel in board["panels"]}) == len(board["panels"])


def test_promtool_takes_the_rules():
    if not PROMETHEUS.exists():
        pytest.skip("no Prometheus: make deps unpacks it")
    done = subprocess.run([PROMETHEUS.with_name("promtool"), "check", "rules", DEPLOY / "prometheus/kamuee.rules.yml"], capture_output=True,
                          text=True)
    assert done.returncode == 0 and "SUCCESS" in done.stdout, done.stdout + done.stderr


def test_a_real_prometheus_collects_it(daemon, tmp_path):
    if not PROMETHEUS.exists():
        pytest.skip("no Prometheus: make deps unpacks it")
    (tmp_path / "p.yml").write_text("scrape_configs:\n- job_name: kamuee\n  scrape_interval: 2s\n  scrape_timeout: 2s\n"
                                    "  static_configs:\n  - targets: ['127.0.0.1:9108']\n")
    with (tmp_path / "log").open("wb") as log:
        server = subprocess.Popen(["ip", "netns", "exec", daemon.name, str(PROMETHEUS), f"--config.file={tmp_path}/p.yml",
                                   f"--storage.tsdb.path={tmp_path}/data", "--web.listen-address=127.0.0.1:9090"], stdout=log,
                                  stderr=log)
    try:
        def asked(query: str) -> list:
            body = get(daemon, "*/*", url=f"http://127.0.0.1:9090/api/v1/query?query={query}").partition("\n")[2]
            return json.loads(body)["data"]["result"]
        eventually(lambda: asked("up")[0]["value"][1] == "1", 25, lambda: (tmp_path / "log").read_text()[-2000:])
        # A scrape that comes too late on a busy machine takes all values away until the next one.
        eventually(lambda: {r["metric"]["interface"] for r in asked("kamuee_interface_up")} == {"p0", "p1", "v40"}, 30, "Prometheus has our metrics")
        eventually(lambda: {r["metric"]["rule"]: r["value"][1] for r in asked("kamuee_acl_rule_packets_total")} == {"10": "5", "20": "3", "30": "2"}, 30,
                   lambda: str(asked("kamuee_acl_rule_packets_total")))
        assert eventually(lambda: asked("kamuee_build_info"), 30)[0]["metric"]["version"]
        # A scrape may fall between two counters of a packet.
        eventually(lambda: asked("kamuee_ledger_imbalance_packets")[0]["value"][1] == "0", 30, "the ledger balances")
    finally:
        server.terminate()
        server.wait(30)
