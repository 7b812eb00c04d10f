# SPDX-License-Identifier: BSD-3-Clause
"""Runs in the virtual machine: does what the host asks for by a virtio-serial port. The other end is vm.py.

A request and its answer are a line of JSON each. {"run": text} gives {"rc", "out"}; {"put": path, "data": base64, "mode"} writes a file,
{"get": path} reads one, {"rest": method, "path", "body"} asks kamueed. One request at a time;
what runs longer than its "timeout" is killed with all it started.
"""
import base64
import http.client
import json
import os
import signal
import socket
import subprocess

PORT = "/dev/virtio-ports/tests"
KAMUEED = "/run/kamuee/kamuee.sock"


def run(request: dict) -> dict:
    proc = subprocess.Popen(["/bin/bash", "-c", request["run"]], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                            start_new_session=True, cwd="/root", env={**os.environ, "HOME": "/root", "LANG": "C.UTF-8",
                            "PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"})
    try:
        out, _ = proc.communicate(request.get("stdin", "").encode(), timeout=request["timeout"])
        return {"rc": proc.returncode, "out": out.decode(errors="replace")}
    except subprocess.TimeoutExpired:
        os.killpg(proc.pid, signal.SIGKILL)
        out, _ = proc.communicate()
        return {"rc": 124, "out": out.decode(errors="replace") + f"\nno end after {request['timeout']} s"}


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
        connection.request(request["rest"], request["path"], request["body"].encode(), {"Content-Type": "application/yang-data+json"})
        answer = connection.getresponse()
        return {"rc": answer.status, "out": answer.read().decode()}
    except http.client.HTTPException as error:
        raise OSError(f"no answer: {error!r}") from None
    finally:
        connection.close()


def main() -> None:
    with open(PORT, "r+b", buffering=0) as port:
        lines = os.fdopen(os.dup(port.fileno()), "rb")
        for line in lines:
            request = json.loads(line)
            try:
                answer = next(do for word, do in (("run", run), ("put", put), ("get", get), ("rest", rest)) if word in request)(request)
            except OSError as error:
                answer = {"rc": 1, "out": str(error)}
            left = json.dumps({"id": request["id"], **answer}).encode() + b"\n"
            while left:                     # the port takes 32 KiB at a time
                left = left[port.write(left):]


if __name__ == "__main__":
    main()
