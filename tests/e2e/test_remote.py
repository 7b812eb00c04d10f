# SPDX-License-Identifier: BSD-3-Clause
"""docs/adr/0019: kamuee-http reads what clients of TCP send, with no rights, and its end harms nobody on the socket."""
import http.client
import json
import os
import re
import signal
import socket
import ssl
from pathlib import Path

import pytest

from kamuee.lab.netns import in_namespace
from support import eventually

TOKEN, PATIENCE_S = "remote", 30
PLAIN, TLS = ("127.0.0.2", 8080), ("127.0.0.1", 8443)
SYSTEM = "/restconf/data/kamuee:state/system"


def http_pid(daemon) -> int | None:
    """Of the kamuee-http that serves; the one of a kamueed that has just ended may still be there."""
    children = Path(f"/proc/{daemon.process.pid}/task/{daemon.process.pid}/children").read_text().split()
    found = [int(pid) for pid in children if Path(f"/proc/{pid}/comm").read_text() == "kamuee-http\n" and status(int(pid))["State"][0] != "Z"]
    assert len(found) <= 1
    return found[0] if found else None


def status(pid: int) -> dict[str, str]:
    return dict(line.split(":\t", 1) for line in Path(f"/proc/{pid}/status").read_text().splitlines() if ":\t" in line)


def filtered(pid: int) -> str:
    """As /proc has it; sanitizers look into the process at its end, and leave the filter out."""
    return "0" if "libasan" in Path(f"/proc/{pid}/maps").read_text() else "2"


@pytest.fixture
def router(daemon):
    daemon.credentials(TOKEN)
    return daemon.start(f"set port p0 devargs net_null0\nset api tokens {daemon.dir}/tokens\n"
                        f"set api tls certificate {daemon.dir}/cert.pem key {daemon.dir}/key.pem\n"
                        f"set api listen {TLS[0]} port {TLS[1]}\nset api listen {PLAIN[0]} port {PLAIN[1]} tls false\n")


def connected(router, at: tuple[str, int]) -> socket.socket:
    def connect() -> socket.socket:
        s = socket.create_connection(at, PATIENCE_S)
        return ssl.create_default_context(cafile=f"{router.dir}/cert.pem").wrap_socket(s, server_hostname=at[0]) if at == TLS else s
    return in_namespace(router.name, connect)


def ask(s: socket.socket, method: str = "GET", target: str = SYSTEM, body: bytes = b"", more: str = "") -> tuple[int, bytes]:
    s.sendall(f"{method} {target} HTTP/1.1\r\nHost: k\r\nAuthorization: Bearer {TOKEN}\r\nContent-Type: application/yang-data+json\r\n{more}"
              f"Content-Length: {len(body)}\r\n\r\n".encode() + body)
    answer = http.client.HTTPResponse(s, method=method)
    answer.begin()
    return answer.status, answer.read()


def test_by_default_there_is_none(daemon):
    daemon.start("set port p0 devargs net_null0\n")
    assert http_pid(daemon) is None
    daemon.configure("set metrics listen 127.0.0.1 port 9108")
    eventually(lambda: status(http_pid(daemon))["Seccomp"] == filtered(http_pid(daemon)), what="its filter, with which it serves")
    with connected(daemon, ("127.0.0.1", 9108)) as s:
        s.sendall(b"GET /metrics HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n")
        assert b" 200 " in s.recv(4096)


def test_it_has_no_rights_and_no_descriptor_but_of_clients(router):
    with connected(router, TLS) as tls, connected(router, PLAIN) as plain:
        assert ask(tls)[0] == ask(plain)[0] == 200
        pid = http_pid(router)
        now = status(pid)
        none = ["CapInh", "CapPrm", "CapEff", "CapAmb"] + (["CapBnd"] if now["Uid"].split()[0] == "0" else [])    # to drop it takes a right
        assert {name: int(now[name], 16) for name in none} == dict.fromkeys(none, 0)
        assert now["NoNewPrivs"] == "1" and now["Seccomp"] == filtered(pid) and now["Threads"] == "1"
        opened = {int(fd): os.readlink(f"/proc/{pid}/fd/{fd}") for fd in os.listdir(f"/proc/{pid}/fd")}
        assert opened.pop(0) == "/dev/null" and opened.pop(1) == opened.pop(2) == str(router.log)
        assert opened.pop(3).startswith("socket:")
        of_clients = sorted(to.partition(":")[0] for to in opened.values())
        assert of_clients == ["anon_inode", "pipe", "pipe", *["socket"] * 4] and "anon_inode:[eventpoll]" in opened.values(), opened
        # kamueed accepts, and has neither the connections nor what reads them.
        held = router.run("ss -Htnpa state established sport = :8443 or sport = :8080")
        assert held.count(f"pid={pid},") == 2 and f"pid={router.process.pid}," not in held, held
    mapped = Path(f"/proc/{router.process.pid}/maps").read_text()
    assert "libssl" not in mapped and "libcrypto" in mapped


def test_another_one_is_there_at_once_and_the_socket_notices_nothing(router):
    stream = router.ask("GET", "/restconf/streams/events", keep=True)
    assert b" 200 " in stream.recv(4096)
    with connected(router, TLS) as tls, connected(router, PLAIN) as plain:
        assert ask(tls)[0] == ask(plain)[0] == 200
        killed = http_pid(router)
        os.kill(killed, signal.SIGKILL)
        assert plain.recv(1) == b""
        assert tls.recv(1) == b""
    eventually(lambda: http_pid(router) not in (None, killed), what="another kamuee-http")
    assert "kamuee-http has ended, and all connections over TCP" in router.log.read_text()

    def asked() -> bool:
        with connected(router, TLS) as again:    # with the same certificate, which kamueed has kept
            return ask(again)[0] == 200
    (router.dir / "key.pem").unlink()
    eventually(asked, what="answers over TLS")
    router.configure("set port p0 mtu 1400")
    said = b""
    while b"configuration-change" not in said:
        more = stream.recv(4096)
        assert more, "the stream on the socket was cut"
        said += more
    stream.close()


def is_in_memory(pid: int, word: bytes) -> bool:
    with open(f"/proc/{pid}/mem", "rb", buffering=0) as memory:
        for line in Path(f"/proc/{pid}/maps").read_text().splitlines():
            begin, end, mode = re.match(r"([0-9a-f]+)-([0-9a-f]+) (\S+)", line).groups()
            if not mode.startswith("rw") or int(end, 16) - int(begin, 16) > 64 << 20:    # not the tables
                continue
            try:
                memory.seek(int(begin, 16))
                if word in memory.read(int(end, 16) - int(begin, 16)):
                    return True
            except OSError:
                continue
    return False


def test_what_is_malformed_never_reaches_kamueed(router):
    good, header, chunk, behind = (b"word-%d-of-" % i + os.urandom(8).hex().encode() for i in range(4))
    pid = router.process.pid
    with connected(router, PLAIN) as s:     # what is well-formed does: this test would see it
        assert ask(s, target="/nowhere", more=f"X-Word: {good.decode()}\r\n")[0] == 404
        assert is_in_memory(pid, good)
        code, said = ask(s, more=f"Host: {header.decode()}\r\n")
        assert code == 400 and b"there are two Host headers" in said and s.recv(1) == b""
    with connected(router, TLS) as s:
        s.sendall(f"PUT {SYSTEM} HTTP/1.1\r\nHost: k\r\nAuthorization: Bearer {TOKEN}\r\nContent-Type: application/yang-data+json\r\n"
                  "Transfer-Encoding: chunked\r\n\r\n2;".encode() + chunk + b"\r\n{}\r\n0\r\n\r\n")
        answer = http.client.HTTPResponse(s)
        answer.begin()
        assert answer.status == 400 and b"malformed chunks" in answer.read()
    with connected(router, TLS) as s:
        code, said = ask(s, "PATCH", "/restconf/data", b'{"ietf-restconf:data": [}' + behind)
        assert code == 400 and json.loads(said)["ietf-restconf:errors"]["error"][0]["error-tag"], said
        assert ask(s, "PATCH", "/restconf/data", b'{"ietf-restconf:data":{"kamuee:port":[{"name":"p0","mtu":1400}]}}')[0] == 204
    assert [word for word in (header, chunk, behind) if is_in_memory(pid, word)] == []


def test_a_long_answer_and_one_to_who_reads_late(router):
    schema = "/restconf/yang/kamuee.yang"
    want = router.ask("GET", schema).partition(b"\r\n\r\n")[2]
    assert len(want) > 1 << 17
    for at in (PLAIN, TLS):
        with connected(router, at) as s:
            for _ in range(20):
                s.sendall(f"GET {schema} HTTP/1.1\r\nHost: k\r\nAuthorization: Bearer {TOKEN}\r\n\r\n".encode())
            left, last = 20 * len(want), b""    # and the headers
            while left > 0 or not last.endswith(want[-100:]):
                more = s.recv(1 << 20)
                assert more, left
                left, last = left - len(more), last[-100:] + more


def test_it_ends_with_kamueed(router):
    pid = http_pid(router)
    with connected(router, PLAIN) as s:
        assert ask(s)[0] == 200
        router.stop()
        assert s.recv(1) == b""
    eventually(lambda: not Path(f"/proc/{pid}").exists(), what="the end of kamuee-http")
