# SPDX-License-Identifier: BSD-3-Clause
"""Many who connect to the socket and say nothing: an operator is answered all the same."""
import resource
import socket

import pytest

IDLE = 1000


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
