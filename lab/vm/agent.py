# SPDX-License-Identifier: BSD-3-Clause
"""Runs in the virtual machine and executes the host's requests from virtio-serial ports; machine.py is the other end.

A request and its answer are a line of JSON each. {"run": text} gives {"rc", "out"}; {"put": path, "data": base64,
"mode"} writes a file, {"get": path} reads one, {"rest": method, "path", "body"} asks kamueed. A command that exceeds
its "timeout" is killed with everything it started. {"exec": [word, ...], "tty", "size", "env"} runs a command as if the
caller had started it: it takes lines with "in" (base64; empty: the end) and "size", and gives lines with "out" and
"err" (base64), and a last one with "rc". It is killed when the other end goes away. Each port has one request at a
time. A caller that was waiting when the agent started gets "began" instead of its answer.
"""
import base64
import contextlib
import fcntl
import http.client
import json
import os
import pty
import select
import signal
import socket
import struct
import subprocess
import termios
import threading
import time

PORTS = "/dev/virtio-ports"
KAMUEED = "/run/kamuee/kamuee.sock"
ENVIRONMENT = {"HOME": "/root", "LANG": "C.UTF-8",
               "PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"}
INPUT_MOST = 1 << 20        # that a command has not read yet


class Gone(Exception):
    """The other end has closed the connection."""


class Port:
    def __init__(self, path: str):
        self.fd = os.open(path, os.O_RDWR | os.O_NONBLOCK)
        self.waits = select.epoll()
        # edges: the port is hung up as long as nobody is there
        self.waits.register(self.fd, select.EPOLLIN | select.EPOLLET)
        self.poll = select.poll()
        self.received = b""
        with contextlib.suppress(BlockingIOError):      # nobody waits
            os.write(self.fd, b'{"began": true}\n')

    def check(self) -> None:
        """Raises Gone. A new connection may be reported later than its data."""
        self.poll.register(self.fd, 0)
        for _ in range(10):
            if not self.poll.poll(0):
                return
            time.sleep(0.02)
        raise Gone

    def lines(self) -> list[dict]:
        """The received data."""
        while True:
            try:
                data = os.read(self.fd, 1 << 16)
            except BlockingIOError:
                break
            # no client; or there is one, and the kernel has not been told yet
            if not data:
                break
            self.received += data
        *lines, self.received = self.received.split(b"\n")
        found = []
        for line in lines:
            try:
                found.append(json.loads(line))
            except ValueError:                      # half of a request that was not completed
                pass
        return found

    def tell(self, answer: dict) -> None:
        left = json.dumps(answer).encode() + b"\n"
        while left:                                 # the port takes 32 KiB at a time
            self.poll.register(self.fd, select.POLLOUT)
            if self.poll.poll()[0][1] & select.POLLHUP:
                self.check()
            try:
                left = left[os.write(self.fd, left):]
            except BlockingIOError:
                pass

    def serve(self) -> None:
        waiting: list[dict] = []
        while True:
            waiting += self.lines()
            if not waiting:
                self.waits.poll()
                continue
            request = waiting.pop(0)
            try:
                if "exec" in request:
                    waiting = []
                    execute(self, request)
                elif do := next((do for word, do in (("run", run), ("put", put), ("get", get), ("rest", rest))
                                 if word in request), None):
                    self.tell({"id": request["id"], **attempt(do, request)})
            except Gone:
                waiting = []
            except Exception as error:              # nothing that is asked for ends the agent
                print(f"{request}: {error!r}", flush=True)


def attempt(do, request: dict) -> dict:
    try:
        return do(request)
    except OSError as error:
        return {"rc": 1, "out": str(error)}


def run(request: dict) -> dict:
    proc = subprocess.Popen(["/bin/bash", "-c", request["run"]], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                            stderr=subprocess.STDOUT,
                            start_new_session=True, cwd="/root", env={**os.environ, **ENVIRONMENT})
    try:
        out, _ = proc.communicate(request.get("stdin", "").encode(), timeout=request["timeout"])
        return {"rc": proc.returncode, "out": out.decode(errors="replace")}
    except subprocess.TimeoutExpired:
        os.killpg(proc.pid, signal.SIGKILL)
        out, _ = proc.communicate()
        return {"rc": 124, "out": out.decode(errors="replace") + f"\ntimed out after {request['timeout']} s"}


def put(request: dict) -> dict:
    os.makedirs(os.path.dirname(request["put"]), exist_ok=True)
    with open(request["put"], "wb") as file:
        file.write(base64.b64decode(request["data"]))
    os.chmod(request["put"], request["mode"])
    return {"rc": 0, "out": ""}


def get(request: dict) -> dict:
    with open(request["get"], "rb") as file:
        return {"rc": 0, "out": "", "data": base64.b64encode(file.read()).decode()}


def rest(request: dict) -> dict:
    connection = http.client.HTTPConnection("localhost", timeout=request["timeout"])
    connection.sock = socket.socket(socket.AF_UNIX)
    connection.sock.settimeout(request["timeout"])
    try:
        connection.sock.connect(KAMUEED)
        connection.request(request["rest"], request["path"], request["body"].encode(),
                           {"Content-Type": "application/yang-data+json"})
        answer = connection.getresponse()
        return {"rc": answer.status, "out": answer.read().decode()}
    except http.client.HTTPException as error:
        raise OSError(f"no answer: {error!r}") from None
    finally:
        connection.close()


# --- commands with input and output of their own ---

def terminal_size(fd: int, size: list[int]) -> None:
    fcntl.ioctl(fd, termios.TIOCSWINSZ, struct.pack("HHHH", size[0], size[1], 0, 0))


def begin(request: dict) -> tuple[subprocess.Popen, int, dict[int, str]]:
    """The command, the pipe of its input, and the pipe of its output."""
    options = {"cwd": "/root", "start_new_session": True,
               "env": {**os.environ, **ENVIRONMENT, **request.get("env", {})}}
    if not request.get("tty"):
        proc = subprocess.Popen(request["exec"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                **options)
        stdin = os.dup(proc.stdin.fileno())
        proc.stdin.close()
        return proc, stdin, {os.dup(proc.stdout.fileno()): "out", os.dup(proc.stderr.fileno()): "err"}
    here, there = pty.openpty()
    try:
        terminal_size(here, request["size"])
        proc = subprocess.Popen(request["exec"], stdin=there, stdout=there, stderr=there,
                                preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0), **options)
    except OSError:
        os.close(here)
        raise
    finally:
        os.close(there)
    return proc, os.dup(here), {here: "out"}


def execute(port: Port, request: dict) -> None:
    mark = request["id"]
    port.tell({"id": mark})
    try:
        proc, stdin, outputs = begin(request)
    except OSError as error:
        port.tell({"id": mark, "err": base64.b64encode(f"{request['exec'][0]}: {error.strerror}\n".encode()).decode()})
        port.tell({"id": mark, "rc": 127})
        return
    os.set_blocking(stdin, False)
    given, ended = b"", False
    try:
        while outputs:
            wanted = select.poll()
            wanted.register(port.fd, select.POLLIN if len(given) < INPUT_MOST else 0)
            for fd in outputs:
                wanted.register(fd, select.POLLIN)
            if stdin >= 0 and given:
                wanted.register(stdin, select.POLLOUT)
            ready = dict(wanted.poll(200))
            if ready.get(port.fd, 0) & select.POLLHUP:
                port.check()
            if port.fd in ready:
                for line in port.lines():
                    if "in" in line:
                        given += base64.b64decode(line["in"])
                        ended = ended or not line["in"]
                    elif "size" in line:
                        terminal_size(stdin, line["size"])
            if stdin >= 0:
                try:
                    given = given[os.write(stdin, given):] if given else b""
                except BlockingIOError:
                    pass
                except OSError:                     # the command reads no more
                    given, ended = b"", True
                if ended and not given:
                    if request.get("tty"):
                        given, ended = b"\x04", False
                    else:
                        os.close(stdin)
                        stdin = -1
            for fd in [fd for fd in ready if fd in outputs]:
                try:
                    data = os.read(fd, 1 << 14)
                except OSError:                     # a terminal that nobody has open any more
                    data = b""
                if data:
                    port.tell({"id": mark, outputs[fd]: base64.b64encode(data).decode()})
                else:
                    os.close(fd)
                    del outputs[fd]
            if proc.poll() is not None and not set(outputs) & set(ready):
                break                               # what it left in the background keeps the rest open
        rc = proc.wait()
        port.tell({"id": mark, "rc": rc if rc >= 0 else 128 - rc})
    finally:
        for fd in [*outputs, *([stdin] if stdin >= 0 else [])]:
            os.close(fd)
        if proc.poll() is None:
            os.killpg(proc.pid, signal.SIGHUP)
            try:
                proc.wait(2)
            except subprocess.TimeoutExpired:
                os.killpg(proc.pid, signal.SIGKILL)
                proc.wait()


def main() -> None:
    served: set[str] = set()
    while True:                                     # ports appear one after the other
        for name in sorted(set(os.listdir(PORTS) if os.path.isdir(PORTS) else []) - served):
            if name.startswith("agent"):
                served.add(name)
                threading.Thread(target=Port(f"{PORTS}/{name}").serve).start()
        time.sleep(0.2 if len(served) < 4 else 3600)


if __name__ == "__main__":
    main()
