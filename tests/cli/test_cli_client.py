# SPDX-License-Identifier: BSD-3-Clause
"""The socket: chunks, long lists, errors of every kind with their remedies."""
import json
import os
import random
import socket
import threading

import pytest

from server import Stopped

from kamuee import http, stream
from kamuee.client import Client, refusal
from kamuee.errors import DaemonError, NotFound, Unreachable


@pytest.fixture
def answering(tmp_path):
    """A socket that answers its next request with exactly these blocks, and closes."""
    listener = socket.socket(socket.AF_UNIX)
    path = str(tmp_path / "raw.sock")
    listener.bind(path)
    listener.listen()

    def serve(*blocks):
        def run():
            peer, _ = listener.accept()
            with peer:
                peer.recv(65536)
                for block in blocks:
                    peer.sendall(block)
        threading.Thread(target=run, daemon=True).start()
        return Client(path)
    yield serve
    listener.close()


def ok(body, *headers):
    return "\r\n".join(["HTTP/1.1 200 OK", *headers, "", ""]).encode() + body


def test_chunked_answer_split_anywhere_is_put_together(answering):
    body = b'{"kamuee:x":["' + b"a" * 5000 + b'"]}'
    text = ok(b"", "Transfer-Encoding: chunked")
    for at in range(0, len(body), 777):
        part = body[at:at + 777]
        text += b"%X;why=not\r\n%s\r\n" % (len(part), part)
    text += b"0\r\nTrailer: yes\r\n\r\n"
    blocks = [text[at:at + 113] for at in range(0, len(text), 113)]
    assert answering(*blocks).state("x") == ["a" * 5000]


def test_answer_without_length_ends_with_the_connection(answering):
    assert answering(ok(b'{"kamuee:x":{"a":1}}')).state("x") == {"a": 1}


@pytest.mark.parametrize("text", [
    b"", b"HTTP/1.1 200", ok(b"{", "Content-Length: 10"), ok(b"5\r\nab", "Transfer-Encoding: chunked"),
    ok(b"zz\r\n", "Transfer-Encoding: chunked"),
])
def test_connection_that_breaks_is_told(answering, text):
    with pytest.raises(Unreachable, match="was lost in the middle of an answer"):
        answering(text).state("x")


def test_answer_that_is_no_http_is_told(answering):
    with pytest.raises(DaemonError, match="does not speak HTTP"):
        answering(b"SSH-2.0-OpenSSH\r\n").state("x")


def test_answer_that_is_no_json_is_told(answering):
    with pytest.raises(DaemonError, match="not JSON"):
        answering(ok(b"<html>", "Content-Length: 6")).state("x")


def test_daemon_that_does_not_answer_is_told(answering, tmp_path):
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(str(tmp_path / "mute.sock"))
    listener.listen()
    with listener, pytest.raises(Unreachable, match="does not answer"):
        http.request(str(tmp_path / "mute.sock"), "GET", "/", None, 0.1)


def test_no_socket_says_how_to_look(tmp_path):
    with pytest.raises(Unreachable) as caught:
        Client(str(tmp_path / "none.sock")).state("system")
    assert str(caught.value) == (f"cannot reach kamueed at {tmp_path}/none.sock: no such file or directory; is it "
                                 "running? systemctl status kamueed (for another socket: --socket or KAMUEE_SOCKET)")


def test_refused_connection_says_how_to_look(tmp_path):
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(str(tmp_path / "old.sock"))
    listener.close()
    with pytest.raises(Unreachable) as caught:
        Client(str(tmp_path / "old.sock")).state("system")
    assert str(caught.value) == (f"cannot reach kamueed at {tmp_path}/old.sock: connection refused; is it running? "
                                 "systemctl status kamueed")


def test_missing_permission_says_which_group():
    assert "adduser $USER kamuee" in http.remedy(PermissionError(13, "Permission denied"), "kamuee.sock")


def test_path_that_is_no_socket_is_told(tmp_path):
    with pytest.raises(Unreachable, match="cannot reach kamueed"):
        Client(str(tmp_path)).state("system")


def errors(*entries):
    return json.dumps({"ietf-restconf:errors": {"error": list(entries)}}).encode()


def test_errors_of_the_daemon_are_printed_one_a_line():
    found = refusal(400, errors({"error-tag": "invalid-value", "error-message": "mtu: '1' is not valid"},
                                {"error-tag": "missing-element", "error-path": "/kamuee:port"}))
    assert found.messages == ["mtu: '1' is not valid", "/kamuee:port: missing-element"]
    assert (found.tag, found.code) == ("invalid-value", 1)


@pytest.mark.parametrize("body", [b"", b"<html>", b"[]", b'{"ietf-restconf:errors":{"error":[]}}', b'{"a":1}'])
def test_refusal_without_a_reason_names_the_status(body):
    assert str(refusal(500, body)) == "kamueed answered with HTTP status 500 and no message"


def test_status_404_is_not_found():
    assert isinstance(refusal(404, errors({"error-message": "no port p9"})), NotFound)


def test_keys_are_escaped_in_the_path(daemon):
    daemon.state["port"][0]["name"] = "a,b/c=d é"
    from kamuee.client import key
    assert Client(daemon.path).state(f"port={key('a,b/c=d é')}")[0]["id"] == 0


def test_rows_without_a_query_are_the_whole_list(daemon):
    assert list(Client(daemon.path).rows("routes=default,ipv4", "route")) == daemon.state["routes"]["ipv4"]
    assert daemon.asked[0][2] == {}


def test_operation_without_input_sends_no_body(daemon):
    daemon.operations["shutdown"] = lambda given: None
    assert Client(daemon.path).call("shutdown") == {}
    assert daemon.asked == [("POST", "shutdown", {})]


# --- rows ---

def blocks(text, size):
    data = text.encode()
    return [data[at:at + size] for at in range(0, len(data), size)]


@pytest.mark.parametrize("size", [1, 2, 3, 7, 64, 100_000])
def test_rows_come_out_whole_however_the_text_is_cut(size):
    rows = [{"prefix": "10.0.0.0/8", "hop": [{"x": "]}é\\\""}]}, {"a": []}, {}, {"n": -1.5e3}]
    text = '{"kamuee:routes": [{"vr": "route", "family": "ipv4", "route" : [ ' + \
        " , ".join(json.dumps(row, ensure_ascii=False) for row in rows) + " ]}]}"
    assert list(stream.rows(blocks(text, size), "route")) == rows
    assert list(stream.rows(blocks(text, size), "route", raw=True)) == [json.dumps(row, ensure_ascii=False) for row in rows]


def test_no_array_means_no_rows():
    assert list(stream.rows([b'{"kamuee:routes":[{"vr":"default"}]}'], "route")) == []
    assert list(stream.rows([b'{"a":[{"route":[]}]}'], "route")) == []


@pytest.mark.parametrize("text", ['{"route":[{"a":1},', '{"route":[{"a":1}', '{"route":[{"a"', '{"route":', ""])
def test_text_that_ends_early_is_broken(text):
    with pytest.raises(stream.Broken):
        list(stream.rows([text.encode()], "route"))


def test_text_that_is_no_json_is_broken_before_much_of_it_is_read():
    def endless():
        yield b'{"route":['
        while True:
            yield b"{nonsense " * 1000
    with pytest.raises(stream.Broken):
        list(stream.rows(endless(), "route"))
    with pytest.raises(stream.Broken):
        list(stream.rows((b"x" * 1000 for _ in range(10**6)), "route"))


def test_random_rows_in_random_pieces_survive():
    rng = random.Random(7)
    for _ in range(50):
        rows = [{f"k{rng.randrange(9)}": rng.choice([None, True, rng.random(), "s" * rng.randrange(30), [1, {}]])
                 for _ in range(rng.randrange(5))} for _ in range(rng.randrange(40))]
        data = json.dumps({"x": [{"route": rows}]}).encode()
        pieces = []
        while data:
            n = rng.randrange(1, 50)
            pieces.append(data[:n])
            data = data[n:]
        assert list(stream.rows(pieces, "route")) == rows


def test_table_cut_off_by_a_stopping_daemon_is_an_error(kamuee, daemon):
    def routes(_family):
        yield from daemon.state["routes"]["ipv4"]
        raise Stopped
    daemon.routes = routes
    result = kamuee("show", "ipv4", "route", "-j")
    assert result.code == 3
    assert "lost in the middle" in result.err


def test_environment_names_the_socket(monkeypatch):
    from kamuee.client import socket_path
    assert socket_path() == "/run/kamuee/kamuee.sock"
    monkeypatch.setenv("KAMUEE_SOCKET", "/x")
    assert (socket_path(), socket_path("/y")) == ("/x", "/y")
    assert os.environ["KAMUEE_SOCKET"] == "/x"
