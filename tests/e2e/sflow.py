# SPDX-License-Identifier: BSD-3-Clause
"""A reader of sFlow version 5 datagrams, written from the specification (sflow.org/sflow_version_5.txt)."""
import ipaddress
import struct


class Xdr:
    def __init__(self, data):
        self.data, self.at = data, 0

    def u32(self):
        value, = struct.unpack_from("!I", self.data, self.at)
        self.at += 4
        return value

    def u64(self):
        return self.u32() << 32 | self.u32()

    def opaque(self, n=None):
        n = self.u32() if n is None else n
        value = self.data[self.at:self.at + n]
        assert len(value) == n, "cut off"
        self.at += (n + 3) & ~3
        return value

    def address(self):
        return str(ipaddress.ip_address(self.opaque({1: 4, 2: 16}[self.u32()])))

    def ended(self):
        assert self.at == len(self.data), (self.at, len(self.data))


def datagram(data):
    x = Xdr(data)
    assert x.u32() == 5
    found = {"agent": x.address(), "sub-agent": x.u32(), "sequence": x.u32(), "uptime": x.u32(), "flow": [], "counters": []}
    for _ in range(x.u32()):
        kind, body = x.u32(), Xdr(x.opaque())
        found[{1: "flow", 2: "counters"}[kind]].append({1: flow, 2: counters}[kind](body))
        body.ended()
    x.ended()
    return found


def flow(x):
    names = ("sequence", "source", "rate", "pool", "drops", "input", "output")
    found = {name: x.u32() for name in names}
    for _ in range(x.u32()):
        kind, body = x.u32(), Xdr(x.opaque())
        if kind == 1:
            assert body.u32() == 1                      # Ethernet
            found["length"], found["stripped"], found["header"] = body.u32(), body.u32(), body.opaque()
        elif kind == 1001:
            found["vlan"], found["priority"], _, _ = (body.u32() for _ in range(4))
        elif kind == 1002:
            found["next hop"], found["source bits"], found["destination bits"] = body.address(), body.u32(), body.u32()
        else:
            raise AssertionError(f"record {kind}")
        body.ended()
    return found


def counters(x):
    found = {"sequence": x.u32(), "source": x.u32()}
    for _ in range(x.u32()):
        assert x.u32() == 1                             # generic interface counters
        body = Xdr(x.opaque())
        found |= {"index": body.u32(), "type": body.u32(), "speed": body.u64(), "direction": body.u32(), "status": body.u32()}
        found |= {"in octets": body.u64()}
        found |= {name: body.u32() for name in ("in packets", "in multicast", "in broadcast", "in discards", "in errors", "in unknown")}
        found |= {"out octets": body.u64()}
        found |= {name: body.u32() for name in ("out packets", "out multicast", "out broadcast", "out discards", "out errors", "promiscuous")}
        body.ended()
    return found
