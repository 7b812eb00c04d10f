# SPDX-License-Identifier: BSD-3-Clause
"""Frames put on a host's wire and taken from it, from within the test process.

A packet socket belongs to the namespace it was made in, so the test makes it there and keeps it.
"""
import select
import socket
import struct
import time

from kamuee.lab.netns import in_namespace
from kamuee.lab.nodes import BaseNode

ETH_P_ALL = 3
SO_RCVBUFFORCE, SOL_PACKET, PACKET_AUXDATA = 33, 263, 8
AUXDATA = struct.Struct("=IIIHHHH")        # status, len, snaplen, mac, net, vlan_tci, vlan_tpid
TP_STATUS_VLAN_VALID = 1 << 4


class Wire:
    """The end of a link at a host."""

    def __init__(self, node: BaseNode, interface: str = "eth0"):
        self.sock = in_namespace(node.namespace.name, lambda: packet_socket(interface))
        self.mac = node.ip_json(f"link show dev {interface}")[0]["address"]

    def send(self, frame: bytes) -> None:
        self.sock.send(frame)

    def take(self, until: float) -> bytes | None:
        """The next frame that came in; None when none did by the time `until`."""
        while True:
            wait_s = until - time.monotonic()
            if not select.select([self.sock], [], [], max(0.0, wait_s))[0]:
                return None
            data, address = self.sock.recvfrom(65536)
            if address[2] != socket.PACKET_OUTGOING:
                return data

    def close(self) -> None:
        self.sock.close()


def packet_socket(interface: str) -> socket.socket:
    sock = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(ETH_P_ALL))
    sock.setsockopt(socket.SOL_SOCKET, SO_RCVBUFFORCE, 32 << 20)     # Python starved for a moment must not look like a lost packet
    sock.setsockopt(SOL_PACKET, PACKET_AUXDATA, 1)
    sock.bind((interface, ETH_P_ALL))
    return sock


def receive(sock: socket.socket) -> tuple[bytes, bool]:
    """A frame with the tag that the kernel keeps beside it put back; was it sent from here?"""
    data, beside, _, address = sock.recvmsg(65536, 256)
    status, *_, tci, tpid = AUXDATA.unpack(beside[0][2][:AUXDATA.size])
    whole = data[:12] + struct.pack("!HH", tpid, tci) + data[12:] if status & TP_STATUS_VLAN_VALID else data
    return whole, address[2] == socket.PACKET_OUTGOING
