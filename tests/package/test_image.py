# SPDX-License-Identifier: BSD-3-Clause
"""The OCI image in a container: interfaces that come after its start become ports, and it forwards between them."""
import gzip
import hashlib
import json
import os
import subprocess
import tarfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from conftest import ROOT

MAX_MIB = 250
CAPABILITIES = ["CAP_" + name for name in ("NET_ADMIN", "NET_RAW", "SYS_ADMIN", "IPC_LOCK", "SYS_NICE", "CHOWN", "DAC_OVERRIDE", "SETUID", "SETGID", "KILL",
                                           "NET_BIND_SERVICE", "FOWNER", "MKNOD")]
NAMESPACES = ("kpkg", "kpkg-left", "kpkg-right")
CONTAINER, LEFT, RIGHT = NAMESPACES


def run(*command: str | Path, check: bool = True, timeout: float = 120) -> subprocess.CompletedProcess[str]:
    done = subprocess.run(command, text=True, capture_output=True, timeout=timeout)
    assert not check or not done.returncode, f"{command}: exit code {done.returncode}\n{done.stdout[-3000:]}\n{done.stderr[-3000:]}"
    return done


def eventually(what: str, holds: Callable[[], bool], seconds: float = 60) -> None:
    end = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < end, f"not within {seconds:.0f} s: {what}"
        time.sleep(0.2)


class Blobs:
    def __init__(self, folder: Path):
        self.folder = folder

    def read(self, descriptor: dict) -> bytes:
        kind, digest = descriptor["digest"].split(":")
        data = (self.folder / "blobs" / kind / digest).read_bytes()
        assert hashlib.sha256(data).hexdigest() == digest and len(data) == descriptor["size"]
        return data


@pytest.fixture(scope="module")
def image(packages: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A directory with `config`, the image's, and `root`, its files."""
    folder = tmp_path_factory.mktemp("image")
    folder.chmod(0o755)
    done = subprocess.run([ROOT / "tools/make-image", folder], stdout=subprocess.PIPE, text=True, env={**os.environ, "DEBS": str(packages)})
    assert not done.returncode, "tools/make-image failed, see above"
    archive = Path(done.stdout.split()[0])
    print(f"\n{done.stdout.strip()}")
    assert archive.stat().st_size < MAX_MIB << 20
    with tarfile.open(archive) as tar:
        tar.extractall(folder / "layout")
    blobs = Blobs(folder / "layout")
    manifest = json.loads(blobs.read(json.loads((folder / "layout/index.json").read_text())["manifests"][0]))
    config = blobs.read(manifest["config"])
    (folder / "config").write_bytes(config)
    (layer,) = manifest["layers"]
    data = gzip.decompress(blobs.read(layer))
    assert json.loads(config)["rootfs"]["diff_ids"] == ["sha256:" + hashlib.sha256(data).hexdigest()]
    (folder / "layer.tar").write_bytes(data)
    (folder / "root").mkdir()
    run("tar", "-xf", folder / "layer.tar", "-C", folder / "root")
    return folder


def bundle(image: Path) -> None:
    """What the runtime is to do, as an engine would write it from the image's configuration."""
    config = json.loads((image / "config").read_text())["config"]
    subprocess.run(["crun", "spec"], cwd=image, check=True)
    spec = json.loads((image / "config.json").read_text())
    spec["process"] |= {"terminal": False, "args": config["Entrypoint"], "env": config["Env"]}
    spec["process"]["capabilities"] = {kind: CAPABILITIES for kind in ("bounding", "effective", "permitted")}
    spec["process"].pop("rlimits", None)
    spec["root"] = {"path": "root", "readonly": False}
    spec["linux"]["readonlyPaths"] = [path for path in spec["linux"].get("readonlyPaths", []) if path != "/proc/sys"]
    spec["linux"]["devices"] = [{"path": "/dev/net/tun", "type": "c", "major": 10, "minor": 200}]
    spec["linux"]["namespaces"] = [space | ({"path": f"/run/netns/{CONTAINER}"} if space["type"] == "network" else {})
                                   for space in spec["linux"]["namespaces"] if space["type"] != "cgroup"]
    spec["mounts"] = [mount for mount in spec["mounts"] if mount["destination"] != "/sys/fs/cgroup"]
    (image / "config.json").write_text(json.dumps(spec))


class Container:
    def __init__(self, image: Path):
        self.image, self.log = image, image / "log"

    def exec(self, *command: str, check: bool = True) -> subprocess.CompletedProcess[str]:
        return run("crun", "--cgroup-manager=disabled", "exec", CONTAINER, *command, check=check)

    def ports(self) -> dict[str, str]:
        done = self.exec("kamuee", "--json", "show", "port", check=False)
        return {} if done.returncode else {port["name"]: port["oper-status"] for port in json.loads(done.stdout)}


@pytest.fixture(scope="module")
def container(image: Path) -> Iterator[Container]:
    bundle(image)
    for name in NAMESPACES:
        run("ip", "netns", "add", name)
        run("ip", "-n", name, "link", "set", "lo", "up")
    made = Container(image)
    with made.log.open("w") as log:
        process = subprocess.Popen(["crun", "--cgroup-manager=disabled", "run", "--bundle", image, CONTAINER], stdout=log, stderr=log)
    made.process = process
    try:
        eventually(f"kamueed answers; {made.log}", lambda: made.exec("kamuee", "show", "system", check=False).returncode == 0, 120)
        yield made
    finally:
        if process.poll() is None:
            run("crun", "--cgroup-manager=disabled", "kill", CONTAINER, "KILL", check=False)
            process.wait(20)
        run("crun", "--cgroup-manager=disabled", "delete", "--force", CONTAINER, check=False)
        print(made.log.read_text()[-2000:])
        for name in NAMESPACES:
            run("ip", "netns", "del", name)


def join(host: str, interface: str) -> None:
    run("ip", "link", "add", "eth0", "netns", host, "type", "veth", "peer", "name", interface, "netns", CONTAINER)
    run("ip", "-n", CONTAINER, "link", "set", interface, "up")
    run("ip", "-n", host, "link", "set", "eth0", "up")


def test_interfaces_that_come_later_become_ports(container: Container):
    assert container.ports() == {}
    for host, interface in ((LEFT, "eth1"), (RIGHT, "eth2")):
        join(host, interface)
    eventually("both ports are up", lambda: container.ports() == {"eth1": "up", "eth2": "up"})
    config = container.exec("kamuee", "show", "configuration").stdout
    assert "set port eth1 kernel-interface wire1" in config


def test_it_forwards(container: Container):
    for host, interface, net in ((LEFT, "eth1", "10.9.1"), (RIGHT, "eth2", "10.9.2")):
        container.exec("ip", "address", "add", f"{net}.1/24", "dev", interface)
        run("ip", "-n", host, "address", "add", f"{net}.2/24", "dev", "eth0")
        run("ip", "-n", host, "route", "add", "default", "via", f"{net}.1")
    eventually("a ping crosses", lambda: run("ip", "netns", "exec", LEFT, "ping", "-c1", "-W1", "10.9.2.2", check=False).returncode == 0, 30)
    sent = run("ip", "netns", "exec", LEFT, "ping", "-c20", "-i0.02", "10.9.2.2").stdout
    assert "20 received" in sent


def test_frr_runs(container: Container):
    assert "bgpd" in container.exec("vtysh", "-c", "show daemons").stdout


def test_sigterm_ends_it_in_order(container: Container):
    run("crun", "--cgroup-manager=disabled", "kill", CONTAINER, "TERM")
    assert container.process.wait(30) == 0
