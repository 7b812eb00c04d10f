# SPDX-License-Identifier: BSD-3-Clause
"""Ports that meet another program at a Unix socket: one end dies, comes again, comes later, or is somebody else."""
import re
import socket

import pytest

from kamuee.errors import DaemonError

from daemon import Daemon
from support import eventually


@pytest.fixture
def other(kamueed):
    end = Daemon(kamueed, "socket-other")
    yield end
    end.end()


def kill(daemon) -> None:
    daemon.process.kill()
    daemon.process.wait()


def status(daemon) -> str:
    return daemon.client.state("port=p0")[0]["status"]


def leave_dead(path, kind) -> None:
    with socket.socket(socket.AF_UNIX, kind) as gone:
        gone.bind(str(path))
        gone.listen(1)
    assert path.exists()


def memif(daemon, role: str) -> str:
    return f"set port p0 devargs net_memif0,id=3,socket={daemon.dir}/memif,socket-abstract=no,role={role}\n"


def test_a_router_that_was_killed_starts_again_over_the_sockets_it_left(daemon):
    vhost = daemon.dir / "vhost"
    config = memif(daemon, "server") + f"set port p1 devargs net_vhost1,iface={vhost}\n"
    daemon.start(config)
    kill(daemon)
    assert (daemon.dir / "memif").is_socket() and vhost.is_socket()
    daemon.start(config)
    assert {"p0", "p1"} <= daemon.links()
    assert "removed a stale socket: socket=" + str(vhost) in daemon.log.read_text()
    daemon.stop()
    assert not vhost.exists()


def test_what_stands_in_the_way_of_a_socket_is_named_and_stays(daemon, other):
    vhost, plain = daemon.dir / "vhost", daemon.dir / "plain"
    plain.write_text("mine")
    other.start(f"set port p0 devargs net_vhost0,iface={vhost}\n")
    code, said = daemon.refused(f"set port p1 devargs net_vhost1,iface={vhost}\n")
    assert code == 1 and re.search(f"port p1: .*another program or port already listens on {vhost}", said)
    code, said = daemon.refused(f"set port p1 devargs net_vhost1,iface={plain}\n")
    assert code == 1 and re.search(f"port p1: .*{plain} exists and is not a socket", said)
    code, said = daemon.refused(f"set port p1 devargs net_memif1,socket={vhost},socket-abstract=no,role=server\n")
    assert code == 1 and re.search(f"port p1: .*the driver rejects it .*{vhost}: Address already in use", said)
    code, said = daemon.refused(f"set port p1 devargs net_virtio_user1,path={plain},server=1\n")
    assert code == 1 and re.search(f"port p1: .*blocks the router until the other end connects: use net_vhost0,iface={plain}", said)
    assert plain.read_text() == "mine" and vhost.is_socket()
    assert status(other) == "down"


def test_a_wrong_device_is_told_from_one_whose_arguments_are_wrong(daemon):
    daemon.start("")
    with pytest.raises(DaemonError, match="cannot attach device 'net_nothing0': no DPDK driver supports it"):
        daemon.configure("set port p0 devargs net_nothing0")
    with pytest.raises(DaemonError, match="cannot attach device 'net_vhost0': the driver rejects its arguments"):
        daemon.configure("set port p0 devargs net_vhost0")
    with pytest.raises(DaemonError, match="the driver rejects it .DPDK says: .*memif_check_socket_filename.*Invalid socket directory"):
        daemon.configure(f"set port p0 devargs net_memif0,socket={daemon.dir}/none/memif,socket-abstract=no,role=server")


@pytest.mark.parametrize("abstract", ["no", "yes"])
def test_a_memif_client_finds_its_server_whenever_that_comes(daemon, other, abstract):
    if abstract == "yes":
        here = memif(daemon, "client").replace("socket-abstract=no", "socket-abstract=yes") + f"set port p0 namespace {other.name}\n"
        there = memif(daemon, "server").replace("socket-abstract=no", "socket-abstract=yes")
    else:
        here, there = memif(daemon, "client"), memif(daemon, "server")
    daemon.start(here)                                              # nobody is there yet
    daemon.run("ip addr add 10.9.0.1/24 dev p0")
    assert status(daemon) == "down"
    for end_of in (kill, Daemon.stop):
        other.start(there)
        other.run("ip addr replace 10.9.0.2/24 dev p0")
        eventually(lambda: status(daemon) == status(other) == "up", 20, lambda: f"here {status(daemon)}, there {status(other)}")
        eventually(lambda: ", 0% packet loss" in daemon.run("ping -c1 -W1 10.9.0.2", check=False), 20, "an answer through the memif")
        end_of(other)
        eventually(lambda: status(daemon) == "down", 20, lambda: status(daemon))
    daemon.client.call("port-stop", name="p0")
    assert status(daemon) == "stopped"
    other.start(there)
    with pytest.raises(AssertionError):
        eventually(lambda: status(daemon) != "stopped", 3, "what was stopped by hand stays so")
    daemon.client.call("port-start", name="p0")
    eventually(lambda: status(daemon) == "up", 20, lambda: status(daemon))


def test_a_memif_server_takes_its_client_again_when_that_was_killed(daemon, other):
    daemon.start(memif(daemon, "server"))
    for _ in range(2):
        other.start(memif(daemon, "client"))
        eventually(lambda: status(daemon) == status(other) == "up", 20, lambda: f"here {status(daemon)}, there {status(other)}")
        kill(other)
        eventually(lambda: status(daemon) == "down", 20, lambda: status(daemon))
    other.process = None


def test_a_socket_that_a_killed_program_left_is_nobody_to_call(daemon):
    leave_dead(daemon.dir / "memif", socket.SOCK_SEQPACKET)
    daemon.start(memif(daemon, "client"))
    assert status(daemon) == "down"
    assert "waiting for the other end: port=p0" in daemon.log.read_text()
    assert (daemon.dir / "memif").is_socket()                        # not ours to remove
