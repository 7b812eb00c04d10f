# SPDX-License-Identifier: BSD-3-Clause
"""Containers of the OCI image, by crun alone: how an engine applies the image's configuration."""
import gzip
import hashlib
import json
import os
import subprocess
import tarfile
import time
from collections.abc import Callable
from pathlib import Path

from conftest import ROOT

MAX_MIB = 250
# The only capabilities in docs/quickstart/container.md: from docker's default set, and beyond it.
OF_DOCKER = ("CHOWN", "DAC_OVERRIDE", "FOWNER", "NET_BIND_SERVICE", "NET_RAW", "SETGID", "SETUID")
BEYOND = ("NET_ADMIN", "SYS_ADMIN")


def run(*command: str | Path, check: bool = True, timeout: float = 120) -> subprocess.CompletedProcess[str]:
    done = subprocess.run(command, text=True, capture_output=True, timeout=timeout)
    assert not check or not done.returncode, f"{command}: exit code {done.returncode}\n{done.stdout[-3000:]}\n{done.stderr[-3000:]}"
    return done


def eventually(what: str, holds: Callable[[], bool], seconds: float = 60) -> float:
    """How long it took."""
    begun = time.monotonic()
    while not holds():
        assert time.monotonic() < begun + seconds, f"not within {seconds:.0f} s: {what}"
        time.sleep(0.2)
    return time.monotonic() - begun


class Blobs:
    def __init__(self, folder: Path):
        self.folder = folder

    def read(self, descriptor: dict) -> bytes:
        kind, digest = descriptor["digest"].split(":")
        data = (self.folder / "blobs" / kind / digest).read_bytes()
        assert hashlib.sha256(data).hexdigest() == digest and len(data) == descriptor["size"]
        return data


def make_image(packages: Path, folder: Path, *options: str) -> Path:
    done = subprocess.run([ROOT / "tools/make-image", *options, folder], stdout=subprocess.PIPE, text=True, env={**os.environ, "DEBS": str(packages)})
    assert not done.returncode, "tools/make-image failed, see above"
    print(f"\n{done.stdout.strip()}")
    return Path(done.stdout.split()[0])


class Image:
    """An image, unpacked: its configuration and its files."""
    def __init__(self, archive: Path, folder: Path):
        folder.chmod(0o755)
        assert archive.stat().st_size < MAX_MIB << 20
        with tarfile.open(archive) as tar:
            tar.extractall(folder / "layout")
        blobs = Blobs(folder / "layout")
        manifest = json.loads(blobs.read(json.loads((folder / "layout/index.json").read_text())["manifests"][0]))
        config = blobs.read(manifest["config"])
        self.folder, self.root, self.config, self.architecture = folder, folder / "root", json.loads(config)["config"], json.loads(config)["architecture"]
        (layer,) = manifest["layers"]
        data = gzip.decompress(blobs.read(layer))
        assert json.loads(config)["rootfs"]["diff_ids"] == ["sha256:" + hashlib.sha256(data).hexdigest()]
        (folder / "layer.tar").write_bytes(data)
        self.root.mkdir()
        run("tar", "-xf", folder / "layer.tar", "-C", self.root)


class Container:
    """A container in a network namespace of its name, over a layer of its own, so that many share one image."""
    def __init__(self, image: Image, name: str, command: list[str] | None = None, env: dict[str, object] | None = None,
                 binds: dict[Path, str] | None = None, lacks: str = ""):
        self.image, self.name, self.folder = image, name, image.folder / name
        self.folder.mkdir()
        self.log = self.folder / "log"
        for part in ("upper", "work", "root"):
            (self.folder / part).mkdir()
        run("mount", "-t", "overlay", "-o", f"lowerdir={image.root},upperdir={self.folder}/upper,workdir={self.folder}/work", name, self.folder / "root")
        run("ip", "netns", "add", name)
        run("ip", "-n", name, "link", "set", "lo", "up")
        self._write_spec(command or image.config["Entrypoint"], env or {}, binds or {}, lacks)
        with self.log.open("w") as log:
            self.process = subprocess.Popen(["crun", "--cgroup-manager=disabled", "run", "--bundle", self.folder, name], stdout=log, stderr=log,
                                            stdin=subprocess.DEVNULL)

    def _write_spec(self, command: list[str], env: dict[str, object], binds: dict[Path, str], lacks: str) -> None:
        run("sh", "-c", f"cd {self.folder} && crun spec")
        spec = json.loads((self.folder / "config.json").read_text())
        spec["process"] |= {"terminal": False, "args": command, "env": self.image.config["Env"] + [f"{name}={value}" for name, value in env.items()]}
        spec["process"]["capabilities"] = {kind: [f"CAP_{name}" for name in (*OF_DOCKER, *BEYOND) if name != lacks]
                                           for kind in ("bounding", "effective", "permitted")}
        spec["process"].pop("rlimits", None)
        spec["root"] = {"path": "root", "readonly": False}
        spec["hostname"] = self.name
        spec["linux"]["readonlyPaths"] = [path for path in spec["linux"].get("readonlyPaths", []) if path != "/proc/sys"]
        spec["linux"]["devices"] = [{"path": "/dev/net/tun", "type": "c", "major": 10, "minor": 200}]
        spec["linux"]["namespaces"] = [space | ({"path": f"/run/netns/{self.name}"} if space["type"] == "network" else {})
                                       for space in spec["linux"]["namespaces"] if space["type"] != "cgroup"]
        spec["mounts"] = [mount for mount in spec["mounts"] if mount["destination"] != "/sys/fs/cgroup"]
        spec["mounts"] += [{"destination": at, "source": str(source), "type": "bind", "options": ["bind"]} for source, at in binds.items()]
        (self.folder / "config.json").write_text(json.dumps(spec))

    def exec(self, *command: str, check: bool = True) -> subprocess.CompletedProcess[str]:
        return run("crun", "--cgroup-manager=disabled", "exec", self.name, *command, check=check)

    def answers(self) -> bool:
        assert self.process.poll() is None, f"{self.name} has ended: {self.log.read_text()[-3000:]}"
        return self.exec("kamuee", "show", "system", check=False).returncode == 0

    def ports(self) -> dict[str, str]:
        done = self.exec("kamuee", "--json", "show", "port", check=False)
        return {} if done.returncode else {port["name"]: port.get("status", "") for port in json.loads(done.stdout)}

    def kill(self, signal: str) -> None:
        run("crun", "--cgroup-manager=disabled", "kill", self.name, signal, check=False)

    def remove(self) -> None:
        if self.process.poll() is None:
            self.kill("KILL")
            self.process.wait(20)
        run("crun", "--cgroup-manager=disabled", "delete", "--force", self.name, check=False)
        print(f"--- {self.name}\n{self.log.read_text()[-2000:]}")
        run("ip", "netns", "del", self.name)
        run("umount", "-l", self.folder / "root")


def cable(one: str, interface: str, other: str, its: str) -> None:
    """Between two network namespaces."""
    run("ip", "link", "add", interface, "netns", one, "type", "veth", "peer", "name", its, "netns", other)
    for name, end in ((one, interface), (other, its)):
        run("ip", "-n", name, "link", "set", end, "up", check=False)       # the image may have taken it already
