# SPDX-License-Identifier: BSD-3-Clause
"""docs/adr/0025: nginx with the shipped configuration is what other hosts meet; kamueed decides what each of them may."""
import http.client
import json
import os
import re
import socket
import ssl
import subprocess
from pathlib import Path

import pytest

from kamuee.lab.netns import in_namespace
from proxy import USER, plain, tls
from support import eventually

TOKEN, PATIENCE_S = "remote", 30
PLAIN, TLS = ("127.0.0.2", 8081), ("127.0.0.1", 8443)
SYSTEM, MTU = "/restconf/data/kamuee:state/system", "/restconf/data/kamuee:port=p0/mtu"


def make_certificates(folder: Path) -> None:
    """ca.pem and certificates signed by it: noc.pem and machine.pem, whose names have roles or not; other.pem is of another authority."""
    def run(*argv: str) -> None:
        subprocess.run(argv, check=True, capture_output=True, cwd=folder)
    key = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "2"]
    for ca, names in (("ca", {"noc": "/O=Example/CN=noc.example.net", "machine": "/CN=machine 7", "trick": "/O=x,CN=noc.example.net/CN=nobody"}),
                      ("other", {"foreign": "/CN=noc.example.net"})):
        run("openssl", "req", "-x509", *key, "-subj", f"/CN={ca}", "-keyout", f"{ca}.key", "-out", f"{ca}.pem")
        for name, subject in names.items():
            run("openssl", "req", *key, "-subj", subject, "-keyout", f"{name}.key", "-out", f"{name}.csr")
            run("openssl", "x509", "-req", "-days", "2", "-in", f"{name}.csr", "-CA", f"{ca}.pem", "-CAkey", f"{ca}.key", "-CAcreateserial", "-out",
                f"{name}.crt")
            (folder / f"{name}.pem").write_text((folder / f"{name}.crt").read_text() + (folder / f"{name}.key").read_text())


@pytest.fixture
def router(daemon):
    daemon.credentials(TOKEN)
    make_certificates(daemon.dir)
    (daemon.dir / "clients.pem").write_text((daemon.dir / "ca.pem").read_text())
    daemon.start(f"set port p0 devargs net_null0\nset api tokens {daemon.dir}/tokens\nset api client noc.example.net role operator\n")
    daemon.serve(tls(daemon, clients="optional"), plain(":".join(map(str, PLAIN))))
    return daemon


def connected(router, at: tuple[str, int], certificate: str = "", source: str = "") -> socket.socket:
    def connect() -> socket.socket:
        s = socket.create_connection(at, PATIENCE_S, (source, 0) if source else None)
        if at != TLS:
            return s
        trusting = ssl.create_default_context(cafile=f"{router.dir}/cert.pem")
        if certificate:
            trusting.load_cert_chain(router.dir / f"{certificate}.pem")
        return trusting.wrap_socket(s, server_hostname=at[0])
    return in_namespace(router.name, connect)


def ask(s: socket.socket, method: str = "GET", target: str = SYSTEM, body: bytes = b"", more: str = "", token: str | None = TOKEN) -> tuple[int, bytes]:
    given = f"Authorization: Bearer {token}\r\n" if token else ""
    s.sendall(f"{method} {target} HTTP/1.1\r\nHost: k\r\n{given}Content-Type: application/yang-data+json\r\n{more}"
              f"Content-Length: {len(body)}\r\n\r\n".encode() + body)
    answer = http.client.HTTPResponse(s, method=method)
    answer.begin()
    return answer.status, answer.read()


def ask_once(router, at: tuple[str, int], *args, certificate: str = "", source: str = "", **kwargs) -> tuple[int, bytes]:
    with connected(router, at, certificate, source) as s:
        return ask(s, *args, **kwargs)


def test_kamueed_listens_on_no_network(router):
    held = router.run("ss -Htunlpa")
    assert f"pid={router.process.pid}," not in held and f"pid={router.proxy.process.pid}," in held, held
    mapped = Path(f"/proc/{router.process.pid}/maps").read_text()
    assert "libssl" not in mapped and "libcrypto" in mapped


def test_the_shipped_files_open_nothing_to_other_hosts(daemon):
    daemon.start("set port p0 devargs net_null0\n")
    daemon.serve()
    at = [line.split()[3] for line in daemon.run("ss -Hltn").splitlines()]
    assert sorted(at) == ["127.0.0.1:8080", "127.0.0.1:9108"]
    assert (daemon.dir / "proxy.sock").is_socket()
    daemon.configure("delete api")
    eventually(lambda: not (daemon.dir / "proxy.sock").exists(), what="the end of the socket")


def test_tokens_roles_and_what_is_refused(router):
    for at in (TLS, PLAIN):
        with connected(router, at) as s:
            assert ask(s)[0] == 200
            assert ask(s, "PUT", MTU, b'{"kamuee:mtu":1400}')[0] in (201, 204)
            code, said = ask(s, token=None)
            assert code == 401 and b"expected a token" in said
            assert ask(s, token="wrong")[0] == 401
            assert ask(s, "PATCH", "/restconf/data", b"{", token=None)[0] == 401
            assert ask(s, "GET", "/nowhere")[0] == 404
    with connected(router, TLS) as s:
        code, said = ask(s, "PATCH", "/restconf/data", b'{"ietf-restconf:data": [}')
        assert code == 400 and json.loads(said)["ietf-restconf:errors"]["error"][0]["error-tag"], said
        for deep in (b"[" * 100000, b'{"ietf-restconf:data":' * 40000, b'{"ietf-restconf:data":' + b"[" * 2000 + b"]" * 2000 + b"}"):
            assert ask(s, "PATCH", "/restconf/data", deep)[0] == 400
    with connected(router, PLAIN) as s:
        s.sendall(b"PATCH /restconf/data HTTP/1.1\r\nHost: k\r\nAuthorization: Bearer %s\r\nContent-Type: application/yang-data+json\r\n"
                  b"Transfer-Encoding: chunked\r\n\r\n" % TOKEN.encode())
        body = b'{"ietf-restconf:data":{"kamuee:port":[{"name":"p0","mtu":1500}]}}'
        for piece in (body[:9], body[9:]):
            s.sendall(b"%x\r\n%s\r\n" % (len(piece), piece))
        s.sendall(b"0\r\n\r\n")
        assert b" 204 " in s.recv(4096)
    assert "mtu 1400" not in router.running()


def test_certificates(router):
    assert ask_once(router, TLS, token=None, certificate="noc")[0] == 200
    code, said = ask_once(router, TLS, "DELETE", MTU, token=None, certificate="noc")
    assert code == 403 and b"certificate noc.example.net has role operator" in said
    code, said = ask_once(router, TLS, token=None, certificate="machine")
    assert code == 403 and b"certificate machine 7 has no role" in said
    code, said = ask_once(router, TLS, token=None, certificate="trick")
    assert code == 403 and b"certificate nobody has no role" in said
    code, said = ask_once(router, TLS, token=None, certificate="foreign")
    assert code == 400 and b"not accepted" in said, said
    assert ask_once(router, TLS, "PUT", MTU, b'{"kamuee:mtu":1400}', certificate="noc")[0] == 201       # a token before a certificate


SPOOFED = "Kamuee-Certificate: CN=noc.example.net\r\nKamuee-Client: 203.0.113.9\r\nKamuee-Via: metrics\r\nKamuee-Sudo-User: alice\r\n"


@pytest.mark.parametrize("spoofed", [SPOOFED, SPOOFED.lower(), SPOOFED.replace("-", "_"), SPOOFED * 2, SPOOFED.replace(": ", ":\t")])
def test_a_client_cannot_say_what_the_proxy_says(router, spoofed):
    for at in (PLAIN, TLS):
        for target in (SYSTEM, "/metrics", MTU):
            code, said = ask_once(router, at, target=target, token=None, more=spoofed)
            assert code == 401, said
    code, said = ask_once(router, TLS, token=None, certificate="machine", more=spoofed)
    assert code == 403 and b"certificate machine 7" in said
    said = ask_once(router, ("127.0.0.1", 9108), target=SYSTEM, token=TOKEN, more=spoofed.replace("metrics", "api"))
    assert said[0] in (404, 421)


def test_neither_does_a_second_server_of_the_administrator_open_a_way(router):
    """nginx inherits no proxy_set_header into a level that has one of its own."""
    router.proxy.servers("server {\n listen 127.0.0.3:8082;\n proxy_set_header X-Mine 1;\n include api.conf;\n}\n")
    router.proxy.reload()
    eventually(lambda: ":8082" in router.run("ss -Hltn"), what="the other server")
    assert ask_once(router, ("127.0.0.3", 8082), token=None, more=SPOOFED)[0] == 401


def test_guesses_are_slowed_by_address_whatever_succeeds_in_between(router):
    for _ in range(10):
        assert ask_once(router, PLAIN, token="guess")[0] == 401
        assert ask_once(router, PLAIN)[0] == 200
    assert ask_once(router, PLAIN, token="guess")[0] == 429
    assert ask_once(router, PLAIN)[0] == 200                                    # was right here before
    assert ask_once(router, PLAIN, token="guess", source="127.0.0.9")[0] == 401
    assert re.search(r'api: wrong token or password: peer="?127\.0\.0\.1', router.log.read_text())


def test_malformed_requests_end_at_the_proxy(router):
    for wrong in ("GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n", "GET / HTTP/1.1\r\nHost: k\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n",
                  "GET / HTTP/1.1\r\nHost: k\r\nContent-Length: x\r\n\r\n", "\x16\x03\x01 TLS where there is none\r\n\r\n",
                  f"GET / HTTP/1.1\r\nHost: k\r\nX: {'x' * 70000}\r\n\r\n"):
        with connected(router, PLAIN) as s:
            s.sendall(wrong.encode("latin-1"))
            said = s.recv(4096)
            assert said.split()[1][:1] == b"4" and b"ietf-restconf:errors" in said, said
    with connected(router, PLAIN) as s:
        assert ask(s, "PUT", "/restconf/data", b"x" * 100, more="X: 1\r\n", token=None)[0] == 401
        code, said = ask(s, "POST", "/restconf/data", b"x" * (3 << 20))
        assert code == 413 and b"too-big" in said


def test_pipelined_requests_of_a_stranger_do_not_fill_kamueed(router):
    """nginx reads the next request when the answer to the one before has gone."""
    before = router.client.state("system")["rss"]
    crowd = [connected(router, PLAIN, source=f"127.0.0.{10 + i % 3}") for i in range(60)]
    request = f"GET {SYSTEM} HTTP/1.1\r\nHost: k\r\nX: {'x' * 15000}\r\n\r\n".encode() * 20
    sent = 0
    for one in crowd:
        one.setblocking(False)
    for _ in range(20):
        for one in crowd:
            try:
                sent += one.send(request)
            except OSError:
                continue
        assert router.client.state("system")["pid"] == router.process.pid
    assert sent > 20 << 20
    assert router.client.state("system")["rss"] - before < 16 << 20
    for one in crowd:
        one.close()


def test_a_stream_and_a_capture_pass_as_they_come(router):
    with connected(router, TLS) as s:
        s.sendall(f"GET /restconf/streams/events HTTP/1.1\r\nHost: k\r\nAuthorization: Bearer {TOKEN}\r\n\r\n".encode())
        assert b" 200 " in s.recv(4096)
        router.configure("set port p0 mtu 1400")
        said = b""
        while b"configuration-change" not in said:
            more = s.recv(4096)
            assert more
            said += more
    eventually(lambda: "api_connections 1" in router.ask("GET", "/metrics").decode(), what="the end of the stream in kamueed")


def test_a_replaced_authority_ends_what_the_former_one_had_opened(router):
    follower = connected(router, TLS, "noc")
    follower.sendall(b"GET /restconf/streams/events HTTP/1.1\r\nHost: k\r\n\r\n")
    assert b" 200 " in follower.recv(4096)
    idle = connected(router, TLS, "noc")
    assert ask(idle, token=None)[0] == 200
    (router.dir / "clients.pem").write_text((router.dir / "other.pem").read_text())
    router.proxy.reload()
    eventually(lambda: ask_once(router, TLS, token=None, certificate="noc")[0] == 400, what="the certificate is refused")
    idle.settimeout(PATIENCE_S)
    with pytest.raises((OSError, AssertionError, http.client.HTTPException)):
        assert ask(idle, token=None)[0] != 200
    follower.settimeout(PATIENCE_S)
    while follower.recv(4096):    # worker_shutdown_timeout
        pass
    follower.close()
    idle.close()


def test_without_kamueed_the_proxy_says_so(router):
    router.stop()
    code, said = ask_once(router, PLAIN)
    assert code == 502 and b"kamueed does not answer" in said
    json.loads(said)


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


def test_another_user_of_the_host_is_no_proxy(router):
    """Neither by the mode of the socket, nor when that is left open."""
    script = ("import socket, sys\ns = socket.socket(socket.AF_UNIX)\ntry:\n s.connect(sys.argv[1])\n"
              " s.sendall(b'GET /metrics HTTP/1.1\\r\\nHost: k\\r\\nKamuee-Via: metrics\\r\\nKamuee-Client: 127.0.0.1\\r\\n\\r\\n')\n"
              " print(s.recv(100))\nexcept OSError as e:\n print(type(e).__name__)\n")

    def said() -> str:
        return subprocess.run(["setpriv", "--reuid", "65534", "--regid", "65534", "--clear-groups", "/usr/bin/python3", "-c", script,
                               str(router.dir / "proxy.sock")], capture_output=True, text=True, check=True).stdout.strip()
    assert said() == "PermissionError"
    os.chmod(router.dir / "proxy.sock", 0o666)
    assert said() in ("b''", "ConnectionResetError", "BrokenPipeError")
    assert USER != "nobody"
