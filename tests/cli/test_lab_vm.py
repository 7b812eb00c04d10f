# SPDX-License-Identifier: BSD-3-Clause
"""A lab's node of kind vm: valid lab files, their result, and refusals before anything is built. No root needed."""
import os
import shutil
import subprocess
from pathlib import Path

import pytest
from conftest import ROOT

from kamuee.lab import schema, vmnode
from kamuee.lab.errors import LabError
from kamuee.lab.lab import Lab
from kamuee.lab.netns import Namespace
from kamuee.lab.state import State
from kamuee.lab.vm import machine
from kamuee.lab.vm.machine import Card, VmError

CARDS = """
name: cards
nodes:
  h1: {kind: host, interfaces: {eth0: [10.1.0.2/24]}}
  r:
    kind: vm
    cards: virtio
    daemon: frr
    interfaces:
      p0: [10.1.0.1/24, "2001:db8:1::1/64"]
      p1: {addresses: [10.2.0.1/24], mac: "02:00:00:00:00:02"}
      lo: [192.0.2.1/32]
      v40: {vlan: 40, port: p0, addresses: [10.40.0.1/24]}
    routes: [10.9.0.0/16 via 10.2.0.2, "2001:db8:9::/48 via 2001:db8:1::2"]
    sysctl: {net.ipv4.ip_forward: "1"}
    asn: 64496
    neighbors: [{address: 10.2.0.2, asn: 64500}]
    set: [set forwarding idle powersave]
  isp: {kind: router, interfaces: {p0: [10.2.0.2/24]}}
links:
  - [h1:eth0, r:p0]
  - {ends: [isp:p0, r:p1], mtu: 9000}
"""


def lab_of(text: str, folder: Path = Path("/nowhere")) -> Lab:
    state = State("cards", "t.yaml")
    lab = Lab(schema.load_text(text, "t.yaml"), state)
    for node in lab.nodes.values():
        node.run_dir = folder / node.name
    return lab


def refusal(text: str) -> str:
    with pytest.raises(LabError) as caught:
        schema.load_text(text, "t.yaml")
    return str(caught.value)


def check_refusal(text: str) -> str:
    with pytest.raises(LabError) as caught:
        lab_of(text)["r"].check()
    return str(caught.value)


@pytest.fixture
def able(monkeypatch, tmp_path):
    """A machine that has all that a vm needs, but no image."""
    for tool in (*machine.TOOLS, "mmdebstrap", "kamueed"):
        (tmp_path / tool).write_text("#!/bin/sh\nexit 1\n")
        (tmp_path / tool).chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    monkeypatch.setenv("KAMUEED", str(tmp_path / "kamueed"))
    monkeypatch.setattr(vmnode.os, "access", lambda path, mode: path == "/dev/net/tun" or Path(path).exists())
    return tmp_path


def test_ports_are_cards_in_the_order_of_the_file():
    lines = lab_of(CARDS)["r"].config_lines()
    assert lines == ["set port p0 devargs 0000:01:00.0", "set port p0 mtu 1500", "set port p1 devargs 0000:02:00.0", "set port p1 mtu 9000",
                     "set vport v40 port p0 vlan 40", "set forwarding idle powersave"]


def test_addresses_routes_and_sysctl_are_set_in_the_machine():
    script = lab_of(CARDS)["r"].address_script().splitlines()
    for line in ("ip addr replace 10.1.0.1/24 dev p0", "ip addr replace 2001:db8:1::1/64 dev p0 nodad", "ip addr replace 192.0.2.1/32 dev lo",
                 "ip link set dev v40 up", "ip route add 10.9.0.0/16 via 10.2.0.2", "ip -6 route add 2001:db8:9::/48 via 2001:db8:1::2",
                 "sysctl -qw net.ipv4.ip_forward=1"):
        assert line in script
    assert "ip link set dev lo up" not in script


def test_frr_gets_the_same_configuration_as_in_a_namespace():
    script = lab_of(CARDS)["r"].frr_script()
    assert " neighbor 10.2.0.2 remote-as 64500\n" in script and "s/^bgpd=.*/bgpd=yes/" in script and "ospfd" not in script


def test_qemu_has_a_card_for_each_port_and_the_memory_that_the_file_says():
    node = lab_of(CARDS.replace("    cards: virtio\n", "    cards: virtio\n    memory: 4096\n"))["r"]
    node.machine.image, node.machine.disk = Path("/image"), Path("/disk")
    node.machine.nics = [Card("virtio", "52:54:00:00:00:01", [7]), Card("virtio", "52:54:00:00:00:02", [8])]
    argv = node.machine.argv("file=/image/root.ext4,format=raw,snapshot=on")
    assert argv[argv.index("-m") + 1] == "4096"
    devices = [word for word in argv if word.startswith("virtio-net-pci")]
    assert [device.rpartition(",")[2] for device in devices] == ["bus=slot0", "bus=slot1"] and "tap,id=net1,fd=8" in argv


def test_a_link_of_a_vm_is_a_tap_at_its_other_end_whichever_end_is_named_first(monkeypatch):
    lab, asked = lab_of(CARDS), []
    monkeypatch.setattr(vmnode.VmNode, "cable", lambda self, port, far, far_port, mtu: asked.append((port, far.name, far_port, mtu)))
    for method in ("create", "address", "add_routes", "start", "wait_ready"):
        for kind in {type(node) for node in lab.nodes.values()}:
            monkeypatch.setattr(kind, method, lambda self: None)
    lab._build(lambda text: None)
    assert asked == [("p0", "cards-h1", "eth0", 1500), ("p1", "cards-isp", "p0", 9000)]


def test_macs_are_the_same_at_each_start_and_differ_between_labs_and_ports():
    macs = [vmnode.port_mac(namespace, port) for namespace in ("a-r", "b-r") for port in ("p0", "p1")]
    assert len(set(macs)) == 4 and macs[0] == vmnode.port_mac("a-r", "p0") and all(mac.startswith("52:54:00:") and len(mac) == 17 for mac in macs)


@pytest.mark.parametrize("old, new, says", [
    ("cards: virtio", "cards: tulip", "nodes.r.cards: expected one of e1000e, e1000, vmxnet3, virtio; found 'tulip'"),
    ("cards: virtio", "memory: 256", "nodes.r.memory: expected a whole number from 1536 to 65536"),
    ("daemon: frr", "daemon: bird", "nodes of kind vm support only FRR: use 'daemon: frr'"),
    ("cards: virtio", "vrs: {red: {}}", "nodes.r.vrs: unknown key for a vm; expected one of: kind"),
    ("{kind: router, interfaces", "{kind: vm, interfaces", "links[1]: a vm can be linked only to a node in a namespace: put a node of kind router"),
    ("{kind: router, interfaces", "{kind: router, cards: virtio, interfaces", "nodes.isp.cards: unknown key for a router"),
])
def test_errors_name_line_and_place_and_what_is_expected(old, new, says):
    assert old in CARDS
    assert says in refusal(CARDS.replace(old, new, 1))


def test_more_ports_than_slots_are_refused():
    ports = "".join(f"      q{n}: []\n" for n in range(15))
    links = "".join(f"  - [h1:e{n}, r:q{n}]\n" for n in range(15))
    assert "a vm has at most 16 ports, found 17" in refusal(CARDS.replace("      lo: [192", ports + "      lo: [192") + links)


@pytest.mark.parametrize("missing, says", [
    ("qemu-system-x86_64", "t.yaml:6: nodes.r: a vm needs QEMU: qemu-system-x86_64 not installed: apt-get install qemu-system-x86"),
    ("mmdebstrap", "building the image of a vm needs mmdebstrap: apt-get install mmdebstrap debian-archive-keyring"),
    ("kamueed", "no kamueed at"),
])
def test_what_is_not_installed_is_named_with_the_remedy(able, monkeypatch, missing, says):
    lab_of(CARDS)["r"].check()
    (able / missing).unlink()
    real = shutil.which
    monkeypatch.setattr(shutil, "which", lambda tool, path=None: real(tool, path=str(able)))    # whatever this machine has
    monkeypatch.setattr(machine, "image_there", lambda folder: False)
    assert says in check_refusal(CARDS)


def test_a_machine_without_tun_or_of_another_architecture_is_told(able, monkeypatch):
    monkeypatch.setattr(vmnode.os, "access", lambda path, mode: path != "/dev/net/tun")
    assert "needs /dev/net/tun: modprobe tun" in check_refusal(CARDS)
    monkeypatch.setattr(vmnode.os, "uname", lambda: type("Uname", (), {"machine": "aarch64"}))
    assert "needs x86-64, but this machine is aarch64: use 'kind: kamuee'" in check_refusal(CARDS)


def test_an_image_that_is_none_is_refused(able, tmp_path):
    (tmp_path / "vmlinuz").touch()
    text = CARDS.replace("    cards: virtio", f"    image: {tmp_path}")
    said = check_refusal(text)
    assert f"image {tmp_path}: not found: root.ext4, initrd.img; make it with" in said and "/vm/image DIRECTORY'" in said
    for name in vmnode.IMAGE_FILES:
        (tmp_path / name).touch()
    lab_of(text)["r"].check()


def test_an_image_that_fails_deletes_nothing_that_is_still_mounted(tmp_path):
    """mmdebstrap can leave the host's /proc mounted below its root."""
    alone = ["unshare", "--user", "--map-root-user", "--mount"]
    if subprocess.run([*alone, "true"], capture_output=True).returncode:
        pytest.skip("no user namespaces here")
    (tmp_path / "host").mkdir()
    (tmp_path / "host/file").touch()
    (tmp_path / "bin").mkdir()
    for tool, does in (("mke2fs", "exit 1"), ("mmdebstrap", 'for root; do :; done\nmkdir -p "$root/proc"\n'
                                              f'mount --bind {tmp_path}/host "$root/proc" && test -f "$root/proc/file" && echo mounted\nexit 1')):
        (tmp_path / "bin" / tool).write_text(f"#!/bin/sh\n{does}\n")
        (tmp_path / "bin" / tool).chmod(0o755)
    done = subprocess.run([*alone, ROOT / "lab/vm/image", tmp_path / "images"], capture_output=True, text=True,
                          env={**os.environ, "PATH": f"{tmp_path}/bin:{os.environ['PATH']}"})
    assert done.returncode == 1 and "mounted" in done.stderr, done.stdout + done.stderr
    assert (tmp_path / "host/file").exists()
    assert not list((tmp_path / "images").glob("work-*"))


def test_the_second_disk_has_what_is_installed_beside_kamueed(tmp_path):
    prefix = tmp_path / "usr"
    parts = ["bin/kamuee", "lib/systemd/system/kamueed.service", "lib/systemd/system/kamueed.service.d/namespaces.conf",
             "lib/sysusers.d/kamuee.conf", "lib/tmpfiles.d/kamuee.conf", "lib/udev/rules.d/70-kamuee.rules", "sbin/kamueed",
             "share/kamuee/yang/kamuee.yang"]
    for part in parts:
        (prefix / part).parent.mkdir(parents=True, exist_ok=True)
        (prefix / part).write_text(part)
    machine.install(prefix / "sbin/kamueed", tmp_path / "tree")
    tree = tmp_path / "tree" / str(prefix).lstrip("/")
    assert sorted(str(path.relative_to(tree)) for path in tree.rglob("*") if path.is_file()) == parts
    (prefix / "bin/kamuee").unlink()
    with pytest.raises(VmError, match="neither in a build directory nor installed with the rest of Kamuee.*bin/kamuee"):
        machine.install(prefix / "sbin/kamueed", tmp_path / "tree2")


def test_kvm_is_tried_first_where_it_may_be_used(monkeypatch):
    monkeypatch.setattr(vmnode.os, "access", lambda path, mode: True)
    assert vmnode.accelerators() == [vmnode.KVM, vmnode.EMULATION]
    monkeypatch.setenv("KAMUEE_LAB_KVM", "no")
    assert vmnode.accelerators() == [vmnode.EMULATION]
    monkeypatch.delenv("KAMUEE_LAB_KVM")
    monkeypatch.setattr(vmnode.os, "access", lambda path, mode: False)
    assert vmnode.accelerators() == [vmnode.EMULATION]


def test_show_tells_booting_ready_and_ended(tmp_path, monkeypatch):
    monkeypatch.setattr(vmnode.os, "geteuid", lambda: 0)
    node = lab_of(CARDS)["r"]
    node.machine.pid_file, node.ready_file = tmp_path / "qemu.pid", tmp_path / "ready"
    assert node.state() == "ended"
    node.machine.pid_file.write_text(str(os.getpid()))
    assert node.described()["state"] == "booting" and node.described()["by"] is None
    node.ready_file.write_text('{"by": "emulation", "s": 40.2}')
    assert node.described() | {"console": ""} == {"state": "ready", "by": "emulation", "console": "", "cards": {
        "p0": {"kind": "virtio", "pci": "0000:01:00.0"}, "p1": {"kind": "virtio", "pci": "0000:02:00.0"}}}
    node.machine.pid_file.write_text("0")
    assert node.state() == "ended"
    with pytest.raises(LabError, match="the machine of r has stopped: see .*console, then stop and start the lab"):
        node.execute(["true"])
    monkeypatch.setattr(vmnode.os, "geteuid", lambda: 1000)
    with pytest.raises(LabError, match="a command in the machine of r needs root: use sudo"):
        node.execute(["true"])


def test_the_namespace_of_a_vm_has_the_kernel_s_own_settings():
    node = lab_of(CARDS)["r"]
    assert node.settings() == {} and [namespace.name for namespace in node.namespaces()] == [Namespace("cards-r").name] and not node.pathspaces()
