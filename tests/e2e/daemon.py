# SPDX-License-Identifier: BSD-3-Clause
"""A kamueed of its own in a network namespace, without a lab: for tests of configuration and RESTCONF."""
import hashlib
import os
import re
import signal
import socket
import subprocess
import tempfile
import time
from pathlib import Path

from kamuee.client import Client
from kamuee.lab import rights

from proxy import USER, Proxy
from support import eventually

PATIENCE_S = 60


def refused_calls(log: Path) -> list[str]:
    """System calls that kamueed's own filter has refused; no feature may make one."""
    return [line for line in log.read_text(errors="replace").splitlines() if re.search(r"refused by \S+'s own filter", line)]


class Daemon:
    """Namespace NAME with veth pairs a0-b0, a1-b1, a2-b2; kamueed in it with the configuration given."""

    def __init__(self, binary: str, name: str):
        self.binary, self.name = binary, name
        self.dir = Path(tempfile.mkdtemp(prefix=f"{name}-"))
        self.dir.chmod(0o755)
        rights.give(self.dir)
        self.file, self.log = self.dir / "kamuee.conf", self.dir / "log"
        self.socket = self.dir / "kamuee.sock"
        self.client = Client(str(self.socket))
        self.process = self.proxy = None
        subprocess.run(["ip", "netns", "add", name], check=True)
        self.run("ip link set lo up")
        for i in range(3):
            self.run(f"ip link add a{i} type veth peer name b{i}")
            self.run(f"ip link set a{i} up")
            self.run(f"ip link set b{i} up")

    def __enter__(self) -> "Daemon":
        return self

    def __exit__(self, *failure: object) -> None:
        """Also when a fixture fails or skips before its yield."""
        self.end()

    def run(self, command: str, check: bool = True) -> str:
        return subprocess.run(["ip", "netns", "exec", self.name, *command.split()], check=check, capture_output=True,
                              text=True).stdout

    def command(self, *more: str) -> list[str]:
        # nsenter keeps the mount namespace, so that /run/netns is the test's
        rights.give(self.dir)
        return ["nsenter", f"--net=/run/netns/{self.name}", *rights.restricted([
            self.binary, "--config", str(self.file), "--run-dir", str(self.dir), "--file-dir", tempfile.gettempdir(),
            "--device-dir", tempfile.gettempdir(), "--memory", "128", "--no-huge", *more])]

    def start(self, config: str, *more: str) -> "Daemon":
        self.file.write_text(config)
        with self.log.open("ab") as log:
            self.process = subprocess.Popen(self.command(*more), stdout=log, stderr=log)
        eventually(self._is_up, PATIENCE_S, lambda: self.log.read_text()[-2000:])
        return self

    def _is_up(self) -> bool:
        assert self.process.poll() is None, "kamueed ended"
        return self.socket.exists() and bool(self.client.state("system"))

    def refused(self, config: str) -> tuple[int, str]:
        """Exit code and last words of a start that is to fail."""
        self.file.write_text(config)
        done = subprocess.run(self.command(), capture_output=True, text=True, timeout=PATIENCE_S)
        return done.returncode, done.stderr

    def stop(self) -> None:
        if self.process and self.process.poll() is None:
            if self.socket.exists():  # what every test of a daemon ends with: no packet disappeared without a reason
                eventually(lambda: self.client.state("ledger")["imbalance"] == 0, 10, lambda: str(self.client.state("ledger")))
            self.process.send_signal(signal.SIGTERM)
            try:
                code = self.process.wait(PATIENCE_S)
            except subprocess.TimeoutExpired:
                raise AssertionError(f"it does not end:\n{self.stacks()}\n{self.log.read_text()[-2000:]}") from None
            assert code == 0, f"exit code {code}:\n{self.log.read_text()[-2000:]}"
            assert not refused_calls(self.log), refused_calls(self.log)
        self.process = None

    def stacks(self) -> str:
        """Where each of its threads is in the kernel."""
        tasks = sorted(Path(f"/proc/{self.process.pid}/task").iterdir())
        return "\n".join(f"{(task / 'comm').read_text().strip()}:\n{(task / 'stack').read_text()}" for task in tasks)

    def reload(self, config: str) -> str:
        """The log from a SIGHUP with this file to its outcome."""
        before = self.log.stat().st_size
        self.file.write_text(config)
        os.kill(self.process.pid, signal.SIGHUP)

        def outcome() -> str | None:
            said = self.log.read_text()[before:]
            return said if re.search(r"main: configuration (not )?reloaded.*\n", said) else None
        return eventually(outcome, PATIENCE_S, "an answer to SIGHUP")

    def configure(self, *lines: str) -> list[str]:
        return self.client.call("configure", line=list(lines)).get("change", [])

    def running(self) -> str:
        return self.client.call("configuration")["text"]

    def credentials(self, token: str) -> None:
        """In its folder: `tokens` with one of an admin, and cert.pem, key.pem of 127.0.0.1."""
        tokens = self.dir / "tokens"
        tokens.write_text(f"operator admin sha256:{hashlib.sha256(token.encode()).hexdigest()}\n")
        tokens.chmod(0o600)
        subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "2", "-subj",
                        "/CN=127.0.0.1", "-addext", "subjectAltName=IP:127.0.0.1", "-keyout", f"{self.dir}/key.pem", "-out",
                        f"{self.dir}/cert.pem"], check=True, capture_output=True)
        rights.give(self.dir)

    def serve(self, *servers: str) -> Proxy:
        """By the proxy: metrics, the web page, and these servers (proxy.py)."""
        self.configure(f"set api proxy {USER}")
        self.proxy = Proxy(self, *servers).start()
        return self.proxy

    def links(self, namespace: str | None = None) -> set[str]:
        said = subprocess.run(["ip", "-n", namespace or self.name, "-br", "link"], check=True, capture_output=True, text=True)
        return {line.split()[0].partition("@")[0] for line in said.stdout.splitlines()}

    def ask(self, method: str, target: str, body: bytes = b"", keep: bool = False) -> socket.socket | bytes:
        """One raw request; the open connection when `keep`, else all bytes of the answer."""
        connection = socket.socket(socket.AF_UNIX)
        connection.settimeout(PATIENCE_S)
        connection.connect(str(self.socket))
        connection.sendall(f"{method} {target} HTTP/1.1\r\nHost: k\r\nConnection: close\r\nContent-Length: {len(body)}\r\n"
                           "Content-Type: application/yang-data+json\r\n\r\n".encode() + body)
        if keep:
            return connection
        with connection:
            return b"".join(iter(lambda: connection.recv(65536), b""))

    def end(self) -> None:
        try:
            if self.proxy:
                self.proxy.stop()
            self.stop()
        finally:
            if self.process:
                self.process.kill()
                self.process.wait()
            for _ in range(10):
                if subprocess.run(["ip", "netns", "del", self.name], capture_output=True).returncode == 0:
                    break
                time.sleep(0.1)
            eventually(lambda: not self.left(), PATIENCE_S, lambda: f"processes outlive kamueed: {self.left()}")
            subprocess.run(["rm", "-rf", str(self.dir)], check=True)

    def left(self) -> list[str]:
        """Command lines of the processes that work in its folder."""
        found = []
        for process in Path("/proc").glob("[0-9]*"):
            try:
                line = (process / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
            except OSError:  # ended meanwhile
                continue
            if f"--run-dir {self.dir} " in line:
                found.append(f"{process.name} {line}")
        return found
