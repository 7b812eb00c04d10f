# SPDX-License-Identifier: BSD-3-Clause
"""Route feeds: prefix files, MRT dumps, generated tables, BGP messages, a session over loopback."""
import gzip
import json
import random
import socket
import struct
import threading

import pytest

from kamuee.feed import command, generate, histogram, message, mrt, prefix, session, speaker, table


# --- prefixes ---

@pytest.mark.parametrize("text, nlri", [
    ("0.0.0.0/0", b"\0"), ("10.0.0.0/8", b"\x08\x0a"), ("192.0.2.128/25", b"\x19\xc0\x00\x02\x80"),
    ("192.0.2.1/32", b"\x20\xc0\x00\x02\x01"), ("2001:db8::/32", b"\x20\x20\x01\x0d\xb8"),
    ("2001:db8:8000::/33", b"\x21\x20\x01\x0d\xb8\x80"),
])
def test_prefix_text_and_nlri_are_each_others_inverse(text, nlri):
    assert prefix.encode(text) == nlri
    assert prefix.decode(nlri, ":" in text) == text


@pytest.mark.parametrize("text", ["10.0.0.0", "10.0.0.0/33", "10.0.0.1/24", "10.128.0.0/8", "x/8",
                                  "2001::/129", "1.2.3/24"])
def test_what_is_no_prefix_is_refused(text):
    with pytest.raises(ValueError):
        prefix.encode(text)


def test_a_prefix_file_may_be_compressed_and_hold_comments(tmp_path):
    path = tmp_path / "p.txt.gz"
    with gzip.open(path, "wt") as out:
        out.write("# a table\n10.0.0.0/8\n\n2001:db8::/32   # documentation\n10.1.0.0/16\n")
    v4, v6 = prefix.read_file(str(path))
    assert [prefix.decode(n, False) for n in v4] == ["10.0.0.0/8", "10.1.0.0/16"]
    assert [prefix.decode(n, True) for n in v6] == ["2001:db8::/32"]


def test_an_error_in_a_prefix_file_names_the_line(tmp_path):
    path = tmp_path / "p.txt"
    path.write_text("10.0.0.0/8\n10.0.0.1/8\n")
    with pytest.raises(ValueError, match=r"p\.txt:2: '10\.0\.0\.1/8' has address bits beyond its length"):
        prefix.read_file(str(path))


def test_first_host_lies_in_the_prefix():
    assert prefix.first_host(prefix.encode("192.0.2.0/24"), False) == "192.0.2.1"
    assert prefix.first_host(prefix.encode("192.0.2.9/32"), False) == "192.0.2.9"
    assert prefix.first_host(prefix.encode("2001:db8::/32"), True) == "2001:db8::1"


# --- generated tables ---

def test_a_generated_table_is_the_same_for_the_same_seed_only():
    assert generate.generate(2000, 7) == generate.generate(2000, 7)
    assert generate.generate(2000, 7) != generate.generate(2000, 8)


def test_a_generated_table_has_the_measured_lengths_and_no_prefix_twice():
    v4, v6 = generate.generate(60_000, 3)
    assert len(v4) + len(v6) == 60_000
    assert len(set(v4)) == len(v4) and len(set(v6)) == len(v6)
    share_24 = sum(1 for nlri in v4 if nlri[0] == 24) / len(v4)
    assert abs(share_24 - histogram.LENGTHS_V4[24] / generate.N_V4) < 0.001
    share_48 = sum(1 for nlri in v6 if nlri[0] == 48) / len(v6)
    assert abs(share_48 - histogram.LENGTHS_V6[48] / generate.N_V6) < 0.001


@pytest.mark.parametrize("more, both", [([], False), (["--nh6", "fd00::1"], True)])
def test_as_many_routes_are_announced_as_are_asked_for(monkeypatch, capsys, more, both):
    monkeypatch.setattr(command, "Speaker", lambda *given: type("Speaker", (), {"run": lambda self: None})())
    monkeypatch.setattr(command.signal, "signal", lambda *given: None)
    assert command.main(["run", "--local", "127.0.0.1", "--peer", "127.0.0.2", "--asn", "64500", "--generate", "--routes", "1000", *more]) == 0
    said = json.loads(capsys.readouterr().out)
    assert said["v4"] + said["v6"] == 1000 and (said["v6"] > 0) == both


def test_a_generated_table_nests_as_the_real_one_does():
    v4, _ = generate.generate(60_000, 3)
    held = {(int.from_bytes(n[1:].ljust(4, b"\0"), "big"), n[0]) for n in v4}
    covered = sum(any((address >> (32 - n) << (32 - n), n) in held for n in range(8, length))
                  for address, length in held)
    assert abs(covered / len(v4) - histogram.COVERED_V4) < 0.03


def test_a_generated_table_keeps_out_of_private_space():
    import ipaddress
    private = [ipaddress.ip_network(p) for p in ("10.0.0.0/8", "127.0.0.0/8", "192.168.0.0/16", "172.16.0.0/12",
                                                 "100.64.0.0/10", "169.254.0.0/16", "198.18.0.0/15")]
    for nlri in generate.generate(30_000, 5)[0]:
        network = ipaddress.ip_network(prefix.decode(nlri, False))
        assert not any(network.subnet_of(p) for p in private), network


def test_scale_keeps_the_total():
    assert sum(generate.scale({1: 3, 2: 5, 3: 9}, 100).values()) == 100


def test_a_shortened_table_keeps_the_proportion_of_the_families():
    full = table.Table(*generate.generate(10_000, 1), "x")
    short = full.shortened(1000, 1)
    assert len(short) == 1000 and len(short.v6) == 1000 * len(full.v6) // 10_000
    assert set(short.v4) <= set(full.v4)


def test_the_environment_names_the_default_file(tmp_path, monkeypatch):
    path = tmp_path / "mine.txt"
    path.write_text("198.51.100.0/24\n")
    monkeypatch.setenv("KAMUEE_PREFIXES", str(path))
    assert table.load().v4 == [prefix.encode("198.51.100.0/24")]
    assert len(table.load(generated=True, n_routes=50)) == 50


# --- MRT ---

def mrt_record(subtype: int, body: bytes) -> bytes:
    return struct.pack("!IHHI", 0, mrt.TABLE_DUMP_V2, subtype, len(body)) + body


def rib_body(text: str, paths: list[list[int]], addpath: bool = False) -> bytes:
    nlri = prefix.encode(text)
    body = struct.pack("!I", 1) + nlri + struct.pack("!H", len(paths))
    for path in paths:
        attributes = message.attribute(0x40, 1, b"\0")
        if path:
            attributes += message.attribute(0x40, 2, message.sequence(path))
        body += struct.pack("!HI", 0, 0) + (b"\0\0\0\1" if addpath else b"")
        body += struct.pack("!H", len(attributes)) + attributes
    return body


def test_an_mrt_rib_dump_gives_prefixes_of_both_families_and_their_paths(tmp_path):
    path = tmp_path / "rib.gz"
    long_path = list(range(1, 101))                  # an attribute with a two-byte length
    with gzip.open(path, "wb") as out:
        out.write(mrt_record(1, b"\0" * 8))          # PEER_INDEX_TABLE
        out.write(mrt_record(mrt.RIB_IPV4_UNICAST, rib_body("198.51.100.0/24", [[], long_path])))
        out.write(mrt_record(mrt.RIB_IPV4_UNICAST, rib_body("0.0.0.0/0", [[1]])))
        out.write(mrt_record(mrt.RIB_IPV6_UNICAST_ADDPATH, rib_body("2001:db8::/32", [[5, 6]], True)))
        out.write(mrt_record(mrt.RIB_IPV4_UNICAST, rib_body("198.51.100.0/24", [[9]])))
    loaded = table.load(mrt_file=str(path))
    assert [prefix.decode(n, False) for n in loaded.v4] == ["198.51.100.0/24"]
    assert [prefix.decode(n, True) for n in loaded.v6] == ["2001:db8::/32"]
    assert loaded.paths_v4[loaded.v4[0]] == message.sequence(long_path)
    assert loaded.paths_v6[loaded.v6[0]] == message.sequence([5, 6])


@pytest.mark.parametrize("content, says", [
    (b"\0" * 5, "inside an MRT header"),
    (struct.pack("!IHHI", 0, 13, 2, 99) + b"x", "inside an MRT record"),
    (struct.pack("!IHHI", 0, 13, 2, 7) + b"\0\0\0\0\x30ab", "damaged RIB record"),
    (struct.pack("!IHHI", 0, 13, 2, 8) + b"\0\0\0\0\0\0\1\0", "damaged RIB record"),
    (struct.pack("!IHHI", 0, 16, 4, 1) + b"x", "no TABLE_DUMP_V2"),
])
def test_a_damaged_mrt_file_is_refused(tmp_path, content, says):
    path = tmp_path / "rib"
    path.write_bytes(content)
    with pytest.raises(ValueError, match=says):
        mrt.read_file(str(path))


# --- messages ---

def updates_of(wire: bytes) -> list[bytes]:
    """Bodies of the UPDATEs in a stream, checking every header."""
    bodies = []
    while wire:
        assert wire[:16] == message.MARKER
        length, kind = struct.unpack_from("!HB", wire, 16)
        assert message.HEADER_BYTES <= length <= message.MAX_BYTES and kind == message.UPDATE
        bodies.append(wire[19:length])
        wire = wire[length:]
    return bodies


def nlris_in(data: bytes) -> list[bytes]:
    found = []
    while data:
        n = 1 + (data[0] + 7) // 8
        found.append(data[:n])
        data = data[n:]
    return found


def routes_of(wire: bytes) -> tuple[set[bytes], set[bytes]]:
    """What a receiver of the stream has at its end."""
    v4: set[bytes] = set()
    v6: set[bytes] = set()
    for body in updates_of(wire):
        (n_withdrawn,) = struct.unpack_from("!H", body)
        v4 -= set(nlris_in(body[2:2 + n_withdrawn]))
        at = 2 + n_withdrawn
        (n_attributes,) = struct.unpack_from("!H", body, at)
        v4 |= set(nlris_in(body[at + 2 + n_attributes:]))
        attributes = body[at + 2:at + 2 + n_attributes]
        while attributes:
            extended = attributes[0] & message.EXTENDED
            length = struct.unpack_from("!H", attributes, 2)[0] if extended else attributes[2]
            value = attributes[4 if extended else 3:][:length]
            if attributes[1] == message.MP_REACH:
                v6 |= set(nlris_in(value[5 + value[3]:]))
            elif attributes[1] == message.MP_UNREACH:
                v6 -= set(nlris_in(value[3:]))
            attributes = attributes[(4 if extended else 3) + length:]
    return v4, v6


def make_routes(n: int = 3000, n_paths: int = 100) -> speaker.Routes:
    return speaker.Routes(table.Table(*generate.generate(n, 1), "x"), 65010, "10.0.0.2", "fd00::2", 1, n_paths)


@pytest.mark.parametrize("n_paths", [1, 100, 10_000])
def test_the_wire_holds_every_route_once_in_messages_of_legal_size(n_paths):
    routes = make_routes(n_paths=n_paths)
    assert routes_of(routes.wire) == (set(routes.v4), set(routes.v6))


def test_withdrawing_everything_leaves_nothing():
    routes = make_routes()
    assert routes_of(routes.wire + routes.withdraw_all()) == (set(), set())


def test_churn_ends_with_every_route_present(monkeypatch):
    routes = make_routes()
    churn = speaker.Churn(routes, 1000, 2, "withdraw")
    wire = routes.wire + churn.step(churn.begun + 1.5) + churn.step(churn.begun + 9)
    assert churn.n_sent == 2000 and churn.is_over(churn.begun + 2)
    assert routes_of(wire) != (set(routes.v4), set(routes.v6))
    assert routes_of(wire + churn.restore()) == (set(routes.v4), set(routes.v6))


def test_an_as_path_of_a_dump_gets_our_number_in_front():
    assert message.prepended(7, message.sequence([8, 9])) == message.sequence([7, 8, 9])
    as_set = b"\x01\x01\0\0\0\x05"
    assert message.prepended(7, as_set) == message.sequence([7]) + as_set


def test_groups_hold_every_prefix_once():
    v4, _ = generate.generate(5000, 1)
    groups = table.grouped(v4, {}, 300, random.Random(1))
    assert [nlri for _, nlris in groups for nlri in nlris] == v4
    assert 150 < len(groups) < 600


# --- a session ---

def test_a_session_opens_announces_and_answers_on_loopback(monkeypatch):
    server = socket.create_server(("127.0.0.1", 0))
    monkeypatch.setattr(session, "BGP_PORT", server.getsockname()[1])
    routes = make_routes()
    events = []
    talker = speaker.Speaker(session.Session("127.0.0.1", "127.0.0.1", 65010, 90), routes, None,
                             lambda event, **more: events.append(event))
    thread = threading.Thread(target=talker.run)
    thread.start()
    try:
        peer, _ = server.accept()
        peer.settimeout(10)
        stream = peer.makefile("rb")
        header = stream.read(19)
        opened = stream.read(struct.unpack_from("!H", header, 16)[0] - 19)
        assert header[18] == message.OPEN and opened[0] == 4
        peer.sendall(message.open_message(65001, 90, "127.0.0.1") + message.message(message.KEEPALIVE))
        assert stream.read(19)[18] == message.KEEPALIVE
        assert routes_of(stream.read(len(routes.wire))) == (set(routes.v4), set(routes.v6))
        peer.sendall(message.cease())
        assert stream.read() == b""
    finally:
        talker.running = False
        thread.join(5)
    assert not thread.is_alive()
    assert events[:3] == ["established", "announced", "lost"]
    assert "cease" in talker.session.last_error or talker.session.last_error == "stopped"


@pytest.mark.parametrize("words, says", [
    (["sing"], "unknown command 'sing'"), (["churn", "fast", "1"], "could not convert"),
    (["churn", "10", "1"], "no session"), (["churn", "10", "1", "up", "down"], "positional"),
])
def test_a_wrong_command_is_answered_with_an_error(words, says):
    talker = speaker.Speaker(session.Session("127.0.0.1", "127.0.0.1", 65010, 90), make_routes(100), None,
                             lambda event, **more: None)
    assert says in talker.command(words)["error"]
