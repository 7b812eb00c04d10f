# SPDX-License-Identifier: BSD-3-Clause
"""Labs as other tools start them: topologies of containerlab and netlab, whose containers are run here by crun with the image.

containerlab itself is not here. What it does with such a file is little: a container for each node, with the binds, environment and command of the file, a
veth for each link, then the commands of `exec`. `Lab` does that.
"""
import json
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
import yaml

from conftest import ROOT
from container import Container, Image, cable, eventually, run

# What containerlab's schema knows of a node, as far as we use it.
NODE_KEYS = {"kind", "group", "image", "binds", "env", "entrypoint", "cmd", "exec", "mgmt-ipv4", "restart-policy"}
ROUTES = "20000"


def eventually_announced(provider: Container) -> int:
    """How many routes it has said that it announced."""
    eventually(f"{provider.name} announces", lambda: '"announced"' in provider.log.read_text(), 120)
    return next(said["routes"] for line in provider.log.read_text().splitlines() if (said := json.loads(line))["event"] == "announced")


class Lab:
    def __init__(self, topology: Path, image: Image, prefix: str, hosts: dict[str, list[str]] | None = None, **env: str):
        document = yaml.safe_load(topology.read_text())["topology"]
        self.names = {name: f"{prefix}-{name}" for name in document["nodes"]}
        self.at: dict[str, Container] = {}
        self.image = image
        for name, node in document["nodes"].items():
            settings = document.get("kinds", {}).get(node["kind"], {}) | document.get("groups", {}).get(node.get("group"), {}) | node
            assert set(settings) <= NODE_KEYS and settings["kind"] == "linux"
            self._start(topology.parent, name, settings | (hosts or {}).get(name, {}), document["links"], env)
        for link in document["links"]:
            (one, interface), (other, its) = (end.split(":") for end in link["endpoints"])
            cable(self.names[one], interface, self.names[other], its)
        for name, node in document["nodes"].items():
            for command in document.get("groups", {}).get(node.get("group"), {}).get("exec", []) + node.get("exec", []):
                self.at[name].exec(*shlex.split(command))

    def _start(self, folder: Path, name: str, node: dict, links: list[dict], env: dict[str, str]) -> None:
        command = [node["entrypoint"]] if "entrypoint" in node else None
        if "cmd" in node:
            command = (command or []) + shlex.split(node["cmd"])
        interfaces = sum(name == end.split(":")[0] for link in links for end in link["endpoints"])
        binds = {}
        for bind in node.get("binds", []):
            source, at = bind.split(":")[:2]
            copy = self.image.folder / f"{self.names[name]}-{at.replace('/', '-')}"     # FRR makes the files its own
            shutil.copyfile(folder / source, copy)
            copy.chmod(0o755)
            binds[copy] = at
        self.at[name] = Container(self.image, self.names[name], command, {"CLAB_INTFS": interfaces} | node.get("env", {}) | env, binds)

    def ping(self, name: str, address: str) -> bool:
        return self.at[name].exec("ping", "-c1", "-W1", address, check=False).returncode == 0


@contextmanager
def lab(*given, **more) -> Iterator[Lab]:
    made = Lab.__new__(Lab)
    made.at = {}
    try:
        made.__init__(*given, **more)
        yield made
    finally:
        for container in made.at.values():
            container.remove()


def test_containerlab_spine_and_leaf(image: Image):
    with lab(ROOT / "deploy/containerlab/spine-leaf.clab.yml", image, "ksl") as made:
        took = eventually("host1 reaches host2", lambda: made.ping("host1", "10.0.2.2"), 180)
        eventually("leaf1 has both spines for it",
                   lambda: made.at["leaf1"].exec("ip", "route", "show", "10.0.2.0/24").stdout.count("nexthop") == 2)
        print(f"spine and leaf: the first ping crosses after {took:.1f} s")
        forwarded = made.at["leaf1"].exec("kamuee", "show", "ipv4", "route", "10.0.2.0/24").stdout
        assert "eth1" in forwarded and "eth2" in forwarded
        assert "10.0.2.2" in made.at["host1"].exec("traceroute", "-n", "-q1", "10.0.2.2").stdout


def test_containerlab_edge_with_two_providers(image: Image):
    with lab(ROOT / "deploy/containerlab/edge.clab.yml", image, "ked", ROUTES=ROUTES) as made:
        edge = made.at["edge"]

        def routes() -> int:
            return int(edge.exec("sh", "-c", "ip route show proto bgp | grep -c '^[0-9]'", check=False).stdout or 0)

        announced = eventually_announced(made.at["isp1"])
        took = eventually(f"the edge has {announced} routes", lambda: routes() >= announced, 120)
        print(f"edge: {routes():,} routes after {took:.1f} s")
        audit = edge.exec("kamuee", "audit").stdout
        assert "kernel, RIB and FIB agree" in audit
        prefix = edge.exec("sh", "-c", "ip route show proto bgp | grep -m1 '^[1-9][0-9]\\?\\.[0-9.]*/'").stdout.split()[0]
        address = prefix.split("/")[0].rsplit(".", 1)[0] + ".1"
        eventually(f"the customer reaches {address}", lambda: made.ping("customer", address), 60)


# --- netlab -------------------------------------------------------------------------------------------------------------

@pytest.fixture(scope="module")
def netlab(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """netlab's own program, from the package index."""
    folder = tmp_path_factory.mktemp("netlab")
    subprocess.run([sys.executable, "-m", "venv", folder], check=True)
    done = subprocess.run([folder / "bin/pip", "install", "-q", "--disable-pip-version-check", "networklab"], capture_output=True, text=True)
    if done.returncode:
        pytest.skip(f"networklab cannot be had: {done.stderr.strip().splitlines()[-1]}")
    return folder / "bin/netlab"


def create(netlab: Path, folder: Path, device: str) -> Path:
    """netlab's result for our topology, with that device instead of ours."""
    folder.mkdir()
    shutil.copy(ROOT / "deploy/netlab/topology-defaults.yml", folder)
    topology = (ROOT / "deploy/netlab/topology.yml").read_text()
    (folder / "topology.yml").write_text(topology.replace("defaults.device: kamuee", f"defaults.device: {device}"))
    run("sh", "-c", f"cd {folder} && PATH={netlab.parent}:$PATH netlab create")
    return folder


@pytest.fixture(scope="module")
def created(netlab: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return create(netlab, tmp_path_factory.mktemp("topology") / "kamuee", "kamuee")


def test_netlab_configures_it_as_frr(netlab: Path, created: Path):
    """The device has frr's templates: its files equal those of an FRR container, word for word."""
    other = create(netlab, created.parent / "frr", "frr")
    for name in ("r1", "r2"):
        ours = {path.name: path.read_text() for path in (created / "node_files" / name).iterdir()}
        assert set(ours) == {"initial", "ospf", "bgp", "daemons"}
        assert ours == {path.name: path.read_text() for path in (other / "node_files" / name).iterdir()}
    nodes = yaml.safe_load((created / "clab.yml").read_text())["topology"]["nodes"]
    assert nodes["r1"]["image"].startswith("kamuee:") and nodes["x1"]["image"].startswith("quay.io/frrouting/")


def test_netlab_lab_runs(created: Path, image: Image):
    """Its containers, configured by its scripts in its order; other images than ours cannot be had here, so ours stands in: as FRR without ports, as a host."""
    nodes = yaml.safe_load((created / "clab.yml").read_text())["topology"]["nodes"]
    others = {name: {"entrypoint": "sleep", "cmd": "infinity"} for name in ("h1", "h2")}
    others["x1"] = {"entrypoint": "sh", "cmd": "-c 'until [ -e /sys/class/net/eth2 ]; do sleep 1; done; /usr/lib/frr/frrinit.sh start; exec sleep infinity'"}
    with lab(created / "clab.yml", image, "knl", others) as made:
        for name in ("r1", "r2"):
            eventually(f"{name} has its ports", lambda name=name: made.at[name].ports() == {"eth1": "up", "eth2": "up"}, 120)
        eventually("x1 runs FRR", lambda: "bgpd" in made.at["x1"].exec("vtysh", "-c", "show daemons", check=False).stdout)
        for name in ("r1", "r2", "x1"):
            for bind in nodes[name]["binds"]:
                if "/etc/config/" in bind:
                    made.at[name].exec(bind.split(":")[1])
        for name, address, gateway in (("h1", "172.16.0.4", "172.16.0.1"), ("h2", "172.16.1.5", "172.16.1.3")):
            made.at[name].exec("ip", "address", "add", f"{address}/24", "dev", "eth1")
            made.at[name].exec("ip", "route", "add", "172.16.0.0/16", "via", gateway)
        took = eventually("h1 reaches h2", lambda: made.ping("h1", "172.16.1.5"), 120)
        print(f"netlab: the first ping crosses after {took:.1f} s")
