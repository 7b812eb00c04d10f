# SPDX-License-Identifier: BSD-3-Clause
"""nginx in front of a kamueed, as kamuee-proxy.service starts it: deploy/proxy with the paths of a test, as an ordinary user."""
import re
import shutil
import signal
import subprocess
from pathlib import Path

import pytest

from support import eventually

ROOT = Path(__file__).resolve().parents[2]
SHIPPED = ROOT / "deploy/proxy"
USER = "www-data"    # any but root and kamueed's: of Debian's, one with nothing of its own


def binary() -> str:
    """Debian's nginx, installed or as `make deps` unpacks it."""
    unpacked = ROOT / ".nginx/usr/sbin/nginx"
    found = str(unpacked) if unpacked.exists() else shutil.which("nginx", path="/usr/sbin:/usr/bin")
    if not found:
        pytest.skip("no nginx: make deps unpacks it")
    return found


def tls(daemon, address: str = "127.0.0.1:8443", clients: str = "") -> str:
    """The server for RESTCONF as the shipped file shows it; `clients`: whose certificates are asked for, and how."""
    shown = re.search(r"^#server \{\n(?:#.*\n)*?#\}\n", (SHIPPED / "proxy.conf").read_text(), re.M)[0]
    if clients:
        shown = shown.replace("#    #ssl", "#    ssl")
    made = re.sub(r"^#", "", shown, flags=re.M).replace("192.0.2.1:8443", address).replace("ssl_verify_client optional", f"ssl_verify_client {clients}")
    return made.replace("/etc/kamuee-proxy", str(daemon.dir))


def plain(address: str) -> str:
    return f"server {{\n    listen {address};\n    include api.conf;\n}}\n"


class Proxy:
    """Serves /metrics on 127.0.0.1:9108, the web page on 127.0.0.1:8080, and the servers given."""

    def __init__(self, daemon, *servers: str, user: str = USER):
        self.daemon, self.user = daemon, user
        self.dir = daemon.dir / "proxy"
        self.process = None
        (self.dir / "run").mkdir(parents=True)
        shutil.copy(binary(), self.dir / "nginx")
        shutil.copytree(ROOT / "web", self.dir / "web")
        for path in SHIPPED.glob("*.conf"):
            self.write(path.name, path.read_text())
        self.servers(*servers)

    def write(self, name: str, text: str) -> None:
        for shipped, ours in (("/etc/kamuee-proxy/proxy.conf", self.dir / "proxy.conf"), ("/run/kamuee-proxy", self.dir / "run"),
                              ("/run/kamuee/", f"{self.daemon.dir}/")):
            text = text.replace(shipped, str(ours))
        (self.dir / name).write_text(text)

    def servers(self, *more: str) -> None:
        self.write("proxy.conf", (SHIPPED / "proxy.conf").read_text() + "".join(more))

    def command(self) -> list[str]:
        return ["nsenter", f"--net=/run/netns/{self.daemon.name}", "setpriv", "--reuid", self.user, "--regid", self.user, "--clear-groups",
                "--no-new-privs", "--inh-caps=-all", "--bounding-set=-all", str(self.dir / "nginx"), "-e", "stderr", "-p", str(self.dir), "-c",
                "nginx.conf", "-g", "daemon off;"]

    def start(self) -> "Proxy":
        subprocess.run(["chown", "-R", self.user, str(self.dir)], check=True)
        for file in self.daemon.dir.glob("*.pem"):
            file.chmod(0o644)
        with (self.dir / "log").open("ab") as log:
            self.process = subprocess.Popen(self.command(), stdout=log, stderr=log)
        eventually(self._listens, 30, lambda: (self.dir / "log").read_text()[-2000:])
        return self

    def _listens(self) -> bool:
        assert self.process.poll() is None, (self.dir / "log").read_text()
        wanted = set(re.findall(r"^\s*listen \S*?:(\d+)", (self.dir / "proxy.conf").read_text(), re.M))
        return wanted <= set(re.findall(r":(\d+)\s", self.daemon.run("ss -Hltn")))

    def reload(self) -> None:
        self.process.send_signal(signal.SIGHUP)

    def workers(self) -> list[int]:
        children = Path(f"/proc/{self.process.pid}/task/{self.process.pid}/children").read_text().split()
        return [int(pid) for pid in children]

    def stop(self) -> None:
        if self.process and self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
            self.process.wait(30)
        self.process = None
