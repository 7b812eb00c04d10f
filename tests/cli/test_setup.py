# SPDX-License-Identifier: BSD-3-Clause
"""kamuee setup: which interfaces it offers, what it writes, and that a second run changes nothing."""
import json

import pytest

from kamuee import setup
from kamuee.errors import UsageError


def link(name, address="", **more):
    return {"ifname": name, "link_type": "ether", "addr_info": [{"local": address, "scope": "global"}] * bool(address), **more}


LINKS = [link("lo", link_type="loopback"), link("eth0", "192.0.2.7"), link("eth1"), link("eth2", "10.0.0.1"), link("eth3", "198.51.100.9"),
         link("eth4"), link("br0", linkinfo={"info_kind": "bridge"}), link("eth5", master="br0"), link("p0", linkinfo={"info_kind": "tun"})]


@pytest.fixture
def etc(tmp_path, monkeypatch):
    monkeypatch.setattr(setup, "ip", lambda *words: [{"dev": "eth3"}] if "route" in words else LINKS)
    monkeypatch.setenv("SSH_CONNECTION", "203.0.113.1 50000 192.0.2.7 22")
    (tmp_path / "frr").mkdir()
    (tmp_path / "frr/daemons").write_text('bgpd=no\nospfd=no\nzebra_options="  -A 127.0.0.1 -s 90000000"\n')
    return tmp_path


def contents(folder):
    return {str(path.relative_to(folder)): path.read_text() for path in folder.rglob("*") if path.is_file()}


def run(etc, *more):
    return setup.main(["--yes", "--etc", str(etc), *more])


def test_what_somebody_needs_is_not_offered(etc):
    kept = {entry.name: entry.kept for entry in setup.interfaces()}
    assert kept == {"eth0": "carries your login session", "eth1": "", "eth2": "", "eth3": "has the default route", "eth4": "", "eth5": "belongs to br0"}


def test_interfaces_without_addresses_become_ports_and_a_second_run_changes_nothing(etc, capsys):
    assert run(etc) == 0
    written = contents(etc)
    assert written["kamuee/kamuee.conf"] == "set port p0 kernel-interface eth1\nset port p1 kernel-interface eth4\n"
    assert "vm.nr_hugepages = 256\n" in written["sysctl.d/60-kamuee-setup.conf"]
    assert written["frr/daemons"] == 'bgpd=yes\nospfd=no\nzebra_options="  -A 127.0.0.1 -s 500000000"\n'
    capsys.readouterr()
    assert run(etc) == 0
    assert contents(etc) == written and capsys.readouterr().out.count("nothing to change") == 3


def test_more_ports_are_added_beside_what_is_configured(etc):
    (etc / "kamuee").mkdir()
    (etc / "kamuee/kamuee.conf").write_text("# mine\nset port p1 kernel-interface eth1 mtu 9000\nset vport p0 port p1 vlan 7")
    run(etc, "--ports", "eth1", "eth2")
    assert (etc / "kamuee/kamuee.conf").read_text() == ("# mine\nset port p1 kernel-interface eth1 mtu 9000\nset vport p0 port p1 vlan 7\n"
                                                        "set port p2 kernel-interface eth2\n")


def test_a_dry_run_writes_nothing(etc, capsys):
    before = contents(etc)
    run(etc, "--dry-run")
    assert contents(etc) == before and "+ set port p0 kernel-interface eth1" in capsys.readouterr().out


@pytest.mark.parametrize("more, said", [
    (["--ports", "eth0"], "eth0 carries your login session"), (["--ports", "eth9"], "there is no interface eth9"), (["--as", "0"], "expected 1 to"),
    (["--neighbor", "198.51.100.1"], "is not valid"), (["--prefix", "192.0.2.1/24"], "has host bits set")])
def test_a_wrong_answer_is_refused_and_nothing_written(etc, more, said):
    before = contents(etc)
    with pytest.raises(UsageError, match=said):
        run(etc, *more)
    assert contents(etc) == before


def test_a_terminal_is_asked_again_after_a_wrong_answer(etc, monkeypatch, capsys):
    given = iter(["eth0", "eth4", "", "198.51.100.1=64500 2001:db8::1=64500", "2001:db8:1::/48", "0", ""])
    asked = []
    monkeypatch.setattr("builtins.input", lambda question: asked.append(question) or next(given))
    monkeypatch.setattr("sys.stdin", type("Terminal", (), {"isatty": lambda self: True})())
    assert setup.main(["--etc", str(etc)]) == 0
    said = capsys.readouterr().out
    assert len(asked) == 7 and "it must stay with the kernel" in said
    assert "eth1" not in (etc / "kamuee/kamuee.conf").read_text() and "nr_hugepages" not in (etc / "sysctl.d/60-kamuee-setup.conf").read_text()
    assert " neighbor 2001:db8::1 remote-as 64500" in said and "198.51.100.1 remote-as" not in said and "ipv6 prefix-list OURS" in said


def test_without_a_terminal_it_does_not_guess(etc, monkeypatch):
    monkeypatch.setattr("sys.stdin", open("/dev/null"))
    with pytest.raises(UsageError, match="use --yes"):
        setup.main(["--etc", str(etc)])


def test_ip_of_this_machine_is_understood():
    assert all(entry.name for entry in setup.interfaces()) and json.dumps(setup.ip("-d", "addr"))
