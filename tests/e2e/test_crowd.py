# SPDX-License-Identifier: BSD-3-Clause
"""Many who connect to the socket, or by TCP and TLS, and say nothing: an operator is answered all the same."""
import grp
import http.client
import resource
import select
import socket
import ssl
import subprocess
import sys
import textwrap
import time

import pytest

from kamuee.lab.netns import in_namespace
from proxy import plain, tls

IDLE = 1000
PATIENCE_S = 25  # less than the 30 s after which a silent connection ends in any case
TOKEN = "crowd"
HELLO = bytes.fromhex("1603010200010001fc")  # a TLS handshake begins, and never goes on
ELSEWHERE = ("127.0.0.9", 0)   # another client than the crowd: an address at its bound harms itself


@pytest.fixture
def many_descriptors():
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(max(soft, 4 * IDLE), hard), hard))
    yield
    resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


def test_a_thousand_idle_connections_lock_nobody_out_of_the_socket(daemon, many_descriptors):
    daemon.start("set port p0 devargs net_af_packet0,iface=a0\n")
    crowd = [socket.socket(socket.AF_UNIX) for _ in range(IDLE)]
    try:
        for one in crowd:
            one.connect(str(daemon.socket))     # waits while the queue of the listener is full
        assert daemon.client.state("system")["pid"] == daemon.process.pid
        daemon.configure("set port p0 mtu 2000")
        assert daemon.client.state("port=p0")[0]["mtu"] == 2000
    finally:
        for one in crowd:
            one.close()


def test_who_fills_all_descriptors_locks_nobody_out(daemon, many_descriptors):
    """`ulimit -n 256`: the silent ones go when few are left."""
    command = daemon.command
    daemon.command = lambda *more: ["prlimit", "--nofile=256:256", *command(*more)]
    daemon.start("set port p0 devargs net_af_packet0,iface=a0\n")
    crowd = [socket.socket(socket.AF_UNIX) for _ in range(256)]
    try:
        for one in crowd:
            one.connect(str(daemon.socket))
        asked = time.monotonic()
        for _ in range(20):
            assert daemon.client.state("system")["pid"] == daemon.process.pid
        assert time.monotonic() - asked < PATIENCE_S / 2
        daemon.configure("set vport v7 port p0 vlan 7")  # a TAP needs descriptors of its own
        assert "v7" in daemon.links()
    finally:
        for one in crowd:
            one.close()


def ask_as_reader(daemon, script: str) -> str:
    """Python of a user of the group `staff`; `path` is the socket."""
    prelude = f"import os, socket, sys\nos.setgroups([]); os.setgid({grp.getgrnam('staff').gr_gid}); os.setuid(65534)\npath = {str(daemon.socket)!r}\n"
    done = subprocess.run([sys.executable, "-c", prelude + textwrap.dedent(script)], capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_a_reader_fills_neither_connections_nor_memory(daemon):
    daemon.start("set port p0 devargs net_af_packet0,iface=a0\nset api group read-only staff\n")
    daemon.dir.chmod(0o755)
    before = daemon.client.state("system")["rss"]
    said = ask_as_reader(daemon, """
        head = b"PATCH /restconf/data HTTP/1.1\\r\\nHost: k\\r\\nContent-Length: 15000000\\r\\n\\r\\n"
        crowd = []
        for _ in range(200):
            one = socket.socket(socket.AF_UNIX)
            one.connect(path)                            # waits while the listener's queue is full
            one.settimeout(10)
            one.sendall(head)
            crowd.append(one)
        zeros, codes = bytes(1 << 20), set()
        for one in crowd:
            for _ in range(14):
                one.sendall(zeros)
            codes.add(one.recv(4096)[9:12])
        print(codes)
        for _ in range(400):
            crowd.append(socket.socket(socket.AF_UNIX))
            crowd[-1].connect(path)
        """)
    assert said.startswith("{b'403'}"), said
    assert daemon.client.state("system")["rss"] - before < 50 << 20
    assert daemon.client.state("system")["pid"] == daemon.process.pid
    assert "peer=\"uid 65534\"" in daemon.log.read_text()


@pytest.fixture
def tls_daemon(daemon):
    daemon.credentials(TOKEN)
    daemon.start("set port p0 devargs net_af_packet0,iface=a0\n"
                 f"set api tokens {daemon.dir}/tokens\n")
    daemon.serve(tls(daemon), plain("127.0.0.2:8081"))
    return daemon


def crowd_of(address: tuple[str, int], says: bytes) -> list[socket.socket]:
    """Connections of one address, of which the kernel may keep trying for some."""
    crowd = [socket.socket() for _ in range(IDLE)]
    for one in crowd:
        one.setblocking(False)
        one.connect_ex(address)
    polled = select.poll()
    for one in crowd:
        polled.register(one, select.POLLOUT)
    connected = {fd for fd, what in polled.poll(1000) if what == select.POLLOUT}
    assert len(connected) >= IDLE / 2
    for one in crowd:
        if one.fileno() in connected:
            one.send(says)
    return crowd


def operator_asks(connection: http.client.HTTPConnection) -> int:
    connection.request("GET", "/restconf/data/kamuee:state/system", headers={"Authorization": f"Bearer {TOKEN}"})
    status = connection.getresponse().status
    connection.close()
    return status


@pytest.mark.parametrize("says", [b"", HELLO], ids=["silent", "half-open"])
def test_a_thousand_unfinished_handshakes_lock_nobody_out(tls_daemon, many_descriptors, says):
    trusting = ssl.create_default_context(cafile=str(tls_daemon.dir / "cert.pem"))
    crowd = in_namespace(tls_daemon.name, lambda: crowd_of(("127.0.0.1", 8443), says))
    try:
        operator = http.client.HTTPSConnection("127.0.0.1", 8443, timeout=PATIENCE_S, context=trusting, source_address=ELSEWHERE)
        assert in_namespace(tls_daemon.name, lambda: operator_asks(operator)) == 200
        tls_daemon.configure("set port p0 mtu 2000")  # by the UNIX socket
        assert tls_daemon.client.state("port=p0")[0]["mtu"] == 2000
    finally:
        for one in crowd:
            one.close()


def test_one_unfinished_handshake_is_shut_before_a_silent_connection_would_be(tls_daemon):
    def half_open() -> bytes:
        with socket.create_connection(("127.0.0.1", 8443), PATIENCE_S) as sock:
            sock.send(HELLO)
            return sock.recv(4096)
    assert in_namespace(tls_daemon.name, half_open) == b""


def test_a_thousand_idle_connections_by_tcp_lock_nobody_out_and_who_waits_for_an_answer_keeps_it(tls_daemon, many_descriptors):
    def follow() -> socket.socket:
        sock = socket.create_connection(("127.0.0.2", 8081), PATIENCE_S, ELSEWHERE)
        sock.send(f"GET /restconf/streams/events HTTP/1.1\r\nHost: k\r\nAuthorization: Bearer {TOKEN}\r\n\r\n".encode())
        assert b" 200 " in sock.recv(4096)
        return sock
    follower = in_namespace(tls_daemon.name, follow)
    crowd = in_namespace(tls_daemon.name, lambda: crowd_of(("127.0.0.2", 8081), b"GET"))
    try:
        operator = http.client.HTTPConnection("127.0.0.2", 8081, timeout=PATIENCE_S, source_address=ELSEWHERE)
        assert in_namespace(tls_daemon.name, lambda: operator_asks(operator)) == 200
        tls_daemon.configure("set port p0 mtu 2000")
        said = b""
        while b"configuration-change" not in said:
            more = follower.recv(4096)
            assert more, "the stream of events was cut"
            said += more
    finally:
        for one in [follower, *crowd]:
            one.close()
