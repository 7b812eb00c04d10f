# SPDX-License-Identifier: BSD-3-Clause
"""A local user in none of the groups: gets no answer, reads only public files, and cannot write."""
import grp
import json
import os
import subprocess

import pytest

from proxy import plain, tls
from support import eventually

NOBODY = ["setpriv", "--reuid", "65534", "--regid", "65534", "--clear-groups", "--no-new-privs"]
TOKEN = "stranger"
METRICS, PLAIN, TLS, WEB = 9108, 8081, 8443, 8080
FORBIDDEN = [("GET", "/restconf/data"), ("GET", "/restconf/data/kamuee:port"), ("GET", "/restconf/data/kamuee:state/system"), ("GET", "/metrics"),
             ("GET", "/restconf/streams/events"), ("GET", "/restconf/operations"), ("GET", "/restconf"), ("GET", "/nowhere"),
             ("GET", "/restconf/data/ietf-interfaces:interfaces"), ("PUT", "/restconf/data"), ("PATCH", "/restconf/data/kamuee:port=p0"),
             ("DELETE", "/restconf/data/kamuee:port=p0"), ("POST", "/restconf/operations/kamuee:shutdown"),
             ("POST", "/restconf/operations/kamuee:configure"), ("OPTIONS", "/restconf/data"), ("TRACE", "/restconf/data")]
# What the stranger tries: a Python program that prints JSON.
CONNECTS = """
import json, socket, sys
try:
    socket.socket(socket.AF_UNIX).connect(sys.argv[1])
    print(json.dumps("connected"))
except OSError as error:
    print(json.dumps(type(error).__name__))
"""
ASKS = """
import http.client, json, ssl, sys
said = []
for port, tls, method, target, headers in json.loads(sys.argv[1]):
    blind = ssl._create_unverified_context()
    c = http.client.HTTPSConnection("127.0.0.1", port, timeout=30, context=blind) if tls else http.client.HTTPConnection("127.0.0.1", port, timeout=30)
    try:
        c.request(method, target, headers=headers)
        said.append(c.getresponse().status)
    except (ssl.SSLError, OSError) as error:
        said.append(type(error).__name__)
    c.close()
print(json.dumps(said))
"""
FOLLOWS = """
import socket, sys
s = socket.socket(socket.AF_UNIX)
s.connect(sys.argv[1])
s.sendall(sys.argv[2].encode())
print(s.recv(65536).split()[1].decode(), flush=True)
while s.recv(65536):
    pass
"""
TRIES_FILES = """
import fcntl, json, os, sys
may = {"read": [], "write": [], "lock": []}
for path in json.loads(sys.argv[1]):
    for what in ("read", "write"):
        if os.access(path, os.R_OK if what == "read" else os.W_OK):
            may[what].append(path)
    try:
        with open(path) as f:
            fcntl.flock(f, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except (PermissionError, IsADirectoryError):
        continue
    except OSError:
        pass
    may["lock"].append(path)
print(json.dumps(may))
"""


def stranger(daemon, program: str, argument: object):
    argument = argument if isinstance(argument, str) else json.dumps(argument)
    done = subprocess.run(["nsenter", f"--net=/run/netns/{daemon.name}", *NOBODY, "/usr/bin/python3", "-c", program, argument],
                          check=True, capture_output=True, text=True)
    return json.loads(done.stdout)


@pytest.fixture
def router(daemon):
    daemon.credentials(TOKEN)
    daemon.dir.chmod(0o755)     # as /run/kamuee
    was = os.umask(0)           # the one who starts it is careless
    try:
        daemon.start("set port p0 devargs net_af_packet0,iface=a0\n")
    finally:
        os.umask(was)
    return daemon


def test_the_socket_lets_no_stranger_in(router):
    assert stranger(router, CONNECTS, str(router.socket)) == "PermissionError"
    router.socket.chmod(0o666)  # even when the door is left open
    assert stranger(router, CONNECTS, str(router.socket)) == "connected"
    for method, target in FORBIDDEN:
        request = f"{method} {target} HTTP/1.1\\r\\nHost: k\\r\\nConnection: close\\r\\nContent-Length: 0\\r\\n\\r\\n"
        said = stranger(router, "import json, socket, sys\ns = socket.socket(socket.AF_UNIX)\ns.connect(sys.argv[1])\n"
                        f"s.sendall(b'{request}')\nprint(json.dumps(s.recv(65536).decode()))", str(router.socket))
        assert " 403 " in said.splitlines()[0], (method, target, said)


@pytest.mark.parametrize("target, body", [("GET /restconf/streams/events", ""),
                                          ("POST /restconf/operations/kamuee:capture", '{"kamuee:input": {"interface": "p0"}}')])
def test_who_becomes_a_stranger_loses_what_is_open(router, target, body):
    group = grp.getgrnam("staff")
    router.configure(f"set api group operator {group.gr_name}")
    request = f"{target} HTTP/1.1\r\nHost: k\r\nContent-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n{body}"
    member = [*NOBODY[:4], str(group.gr_gid), *NOBODY[5:]]
    with subprocess.Popen([*member, "/usr/bin/python3", "-c", FOLLOWS, str(router.socket), request], stdout=subprocess.PIPE, text=True) as follower:
        try:
            assert follower.stdout.readline() == "200\n"
            router.configure("set api group operator users")
            assert follower.wait(20) == 0
        finally:
            follower.kill()
    assert "api: stream ended, its client's rights have changed" in router.log.read_text()


def test_by_default_nothing_listens_but_the_socket(router):
    assert router.run("ss -Hltun") == ""
    own = f"pid={router.process.pid},"
    listening = [line.split()[4] for line in router.run("ss -Hlxp").splitlines() if own in line]
    assert str(router.socket) in listening
    others = [path for path in listening if path != str(router.socket)]
    assert all(path.startswith("/var/run/dpdk/") for path in others), listening   # and no abstract one, which has no mode
    assert stranger(router, TRIES_FILES, others)["write"] == []


def test_by_tcp_a_stranger_without_token_or_certificate_gets_nothing(router):
    router.configure(f"set api tokens {router.dir}/tokens")
    router.serve(tls(router, f"127.0.0.1:{TLS}"), plain(f"127.0.0.2:{PLAIN}"))
    for wrong in ({}, {"Authorization": "Bearer guess"}, {"Authorization": "Basic b3BlcmF0b3I6Z3Vlc3M="}, {"X-Kamuee-Key": "0" * 32}):
        said = stranger(router, ASKS.replace('"127.0.0.1"', '"127.0.0.1" if tls else "127.0.0.2"'),
                        [(port, tls, *asked, wrong) for port, tls in ((TLS, True), (PLAIN, False)) for asked in FORBIDDEN])
        # After ten wrong tokens none is looked at for a while (429); TRACE ends at the proxy (405).
        assert set(said) <= {401, 405, 429}, (wrong, said)
    right = {"Authorization": f"Bearer {TOKEN}"}
    eventually(lambda: stranger(router, ASKS, [(TLS, True, "GET", "/restconf/data/kamuee:state/system", right)]) == [200],
               what="the right token is taken when the pause is over")


def test_the_listeners_for_everybody_give_what_they_are_for_and_nothing_else(router):
    router.serve()
    others = [(method, target) for method, target in FORBIDDEN if target != "/metrics"]
    said = stranger(router, ASKS, [(METRICS, False, "GET", "/metrics", {})] + [(METRICS, False, *asked, {}) for asked in others])
    assert said[0] == 200 and set(said[1:]) <= {404, 405}, said
    assert stranger(router, ASKS, [(METRICS, False, method, "/metrics", {}) for method in ("PUT", "POST", "DELETE", "TRACE")]) == [405] * 4
    said = stranger(router, ASKS, [(WEB, False, *asked, {}) for asked in FORBIDDEN])
    assert set(said) <= {401, 403, 405}, said


def test_files_are_for_nobody_else(router):
    router.configure("set port p0 mtu 1400")    # there is a revision
    state = [str(path) for path in [router.dir / "state", *(router.dir / "state").rglob("*")]]
    mine = [str(path) for path in router.dir.iterdir() if path.name not in ("kamuee.conf", "log", "cert.pem")]
    opened = {os.path.realpath(f"/proc/{router.process.pid}/fd/{fd}") for fd in os.listdir(f"/proc/{router.process.pid}/fd")}
    dpdk = [path for path in opened if path.startswith(("/run/dpdk", "/var/run/dpdk", "/dev/shm", "/dev/hugepages", "/mnt"))]
    assert len(state) > 1, state
    may = stranger(router, TRIES_FILES, sorted({*state, *mine, *dpdk}))
    assert may["write"] == []
    assert [path for path in may["read"] if "/state" in path or "/dpdk" in path or path.endswith((".sock", ".lock", "tokens", "key.pem"))] == []
    assert [path for path in may["lock"] if path.endswith(".lock")] == []  # or nobody could start kamueed again
    router.stop()
