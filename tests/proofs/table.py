# SPDX-License-Identifier: BSD-3-Clause
"""The proofs of `make proofs`: what each shows, up to which bound, what it assumes, and which planted mistakes it must find.

A proof is a harness in this folder. CBMC reads it with the router's sources that it includes (`checker`), or the compiler makes a program of
it (`program`). `cases` run it several times, with other macros or arguments. A mistake is one text of a source that another replaces: the
harness must then fail. `edits` are such replacements in every run.
"""
import dataclasses

FORWARDER = "src/data/forwarder"
POPTRIE = "src/data/poptrie"


@dataclasses.dataclass
class Proof:
    name: str
    shows: str
    bound: str
    assumes: str
    mistakes: list  # (file, text, text in its place)
    harness: str = None  # NAME.c of this folder
    checker: list = None  # arguments for CBMC, macros included
    program: list = None  # arguments for the compiler
    sources: list = ()  # further files, or (file, argument…)
    cases: list = ("",)
    edits: list = ()
    mistaken: dict = dataclasses.field(default_factory=dict)  # number of a mistake -> the case that must find it, if not the first


def parser(name, shows, length, assumes, mistakes, *checker, **more):
    return Proof(name, f"{shows}: no byte beyond the packet is read, and every loop ends", f"packets of up to {length} bytes", assumes, mistakes,
                 checker=[f"-DBYTES={length}", *checker], **more)


OPTIONS = f"{FORWARDER}/ip4_options.c"
WALK = "-DPART=walk --unwindset ip4_options.0:14,checksum_add.0:18"
REFLECT = "src/control/tap/tap_reflect.c"
AVX2 = f"{FORWARDER}/lanes_avx2.c"
AVX512 = f"{FORWARDER}/lanes_avx512.c"
AVX512_FLAGS = ["-mavx512f", "-mavx512bw", "-mavx512dq", "-mavx512vl", "-mbmi2"]

PROOFS = [
    parser("ether", "VLAN tags, EtherType, LLC, LACPDU", 144, "ether_one has found 14 bytes", [
        (f"{FORWARDER}/tags.c", "(at - frame) + VLAN_HDR + 2)", "(at - frame) + VLAN_HDR)"),
        (f"{FORWARDER}/ether_in.c", "payload >= 3", "payload >= 2"),
        (f"{FORWARDER}/slow_protocol.c", "#define PDU 110u", "#define PDU 59u"),
        (f"{FORWARDER}/tags.h", "m->data_len >= ETHER_HDR + VLAN_HDR &&", "m->data_len >= ETHER_HDR &&"),
    ], "--unwind", "8", edits=[ # all packets into one burst
        (f"{FORWARDER}/ether_in.c", "is4 ? group ? &f->local4 : &f->odd4 : group ? &f->local6 : &f->odd6", "&f->odd4")]),
    parser("ip4", "IPv4 header, addresses, ports of punted packets", 128, "ether_in has found 20 bytes of IP", [
        (f"{FORWARDER}/ip4_in.c", " || hlen > readable)", ")"),
        (f"{FORWARDER}/punt.c", "packet_readable(m, ip) >= hlen + 4", "packet_readable(m, ip) >= hlen + 3"),
    ], "--unwind", "42"),
    parser("option", "IPv4 options, and filling in record route and timestamp, of up to 40 bytes each", 44, "ip4_in has checked the header; the walk sees 12 "
           "bytes of options", [
               (OPTIONS, "at = len >= 3 ? o[2] : 0", "at = o[2]"),
               (OPTIONS, "if (at + 3 > len)", "if (at + 2 > len)"),
               (OPTIONS, "if (at + size - 1 > len)", "if (at + size - 2 > len)"),
               (OPTIONS, "o[1] < 2 ||", ""),
               (OPTIONS, " || at + o[1] > hlen)", ")"),
           ], "-DWORDS=8", cases=["-DPART=fill --unwind 42", WALK, "-DPART=output --unwind 12"], mistaken={3: WALK, 4: WALK},
           edits=[(OPTIONS, "fill_option(o, address_of_output(f, b, i))", "filled(o)")]),
    parser("ip6", "IPv6 header, addresses, hop-by-hop options of MLD, kinds of ND, ports of punted packets", 128, "ether_in has found 40 bytes of IP", [
        (f"{FORWARDER}/ip6_in.c", "readable < at + 8 ||", "readable < at + 1 ||"),
        (f"{FORWARDER}/punt.c", "return readable > at && is_link_icmp6", "return readable >= at && is_link_icmp6"),
        (f"{FORWARDER}/punt.c", "has_ports(proto) && readable >= at + 4", "has_ports(proto) && readable >= at + 2"),
    ], "--unwind", "40"),
    parser("chain", "IPv6 extension headers; what lists, TCP resets and checksums read behind the headers", 128, "ip4_in or ip6_in has checked the IP header", [
        ("src/base/ip6_chain.h", "end < c.at + 8", "end < c.at + 1"),
        ("src/data/acl/key_l4.h", "[PROTO_TCP] = 14", "[PROTO_TCP] = 13"),
        (f"{FORWARDER}/tcp_reset.c", "at + TCP_HDR > n", "at + TCP_HDR > n + 1"),
        (f"{FORWARDER}/offload.c", "l->sum_at + 2 <= end", "l->sum_at + 1 <= end"),
    ], "-U__SSE2__", "--unwind", "16"),
    parser("limit", "tunnel encapsulation limit among IPv6 options", 64, "ip6_in has checked the IP header", [
        (f"{FORWARDER}/tunnel_limit.c", "while (at + 2 < end)", "while (at < end)"),
        (f"{FORWARDER}/tunnel_limit.c", "if (end > readable)", "if (end > readable + 8)"),
    ], "--unwindset", "option_at.0:24,tunnel_limit_at.0:6"),
    parser("tunnel", "outer headers of tunnels over IPv4, up to the inner IP header", 104, "ip4_in or ether_in has checked the outer IP header; "
    "`any_sum` reads "
           "the bytes that checksum_add reads", [
               (f"{FORWARDER}/tunnel_in.c", " || o->left < n)", ")"),
               (f"{FORWARDER}/tunnel_in.c", "if (o->left < 8 || !(o->at[0] & VXLAN_I))", "if (o->left < 7 || !(o->at[0] & VXLAN_I))"),
               (f"{FORWARDER}/tunnel_in.c", "if (o->left < need ||", "if ("),
               (f"{FORWARDER}/tunnel_in.c", "len < 8 || len > o->whole", "len < 8"),
           ], "--unwindset", "options_are_skipped.0:2,pass_options.0:2,memcmp.0:41,sum_from.0:3"),
    parser("inner", "headers inside ICMP: flow of the packet that an error quotes, what may cause an error", 128, "ip4_in or ip6_in has checked the "
    "IP header", [
        (f"{FORWARDER}/flow_quote.c", "quoted_hlen + 4)", "quoted_hlen + 3)"),
        (f"{FORWARDER}/flow_quote.c", "n < IP6_HDR + ICMP_HDR + IP6_HDR ||", "n < IP6_HDR + ICMP_HDR + 8 ||"),
        (f"{FORWARDER}/icmp_error.c", "readable <= hlen ||", "readable < hlen ||"),
        ("src/base/ip6_chain.h", "8u * (header[1] + 1u)", "8u * header[1]"),
    ], "--unwind", "40"),
    parser("label", "label stacks, the flow of packets with labels, the IP header below", 128, "ether_in has found a label", [
        (f"{FORWARDER}/label_in.c", "s->n <= LABEL_DEPTH && s->n * LABEL_HDR <= readable", "s->n <= LABEL_DEPTH"),
        (f"{FORWARDER}/label_in.c", "k < LABEL_HASHED && readable >= LABEL_HDR", "k < LABEL_HASHED"),
        (f"{FORWARDER}/label_in.c", "whole > len || hlen > readable", "whole > len"),
    ], "--unwind", "18"),
    parser("neighbor", "ARP and neighbor discovery, in the only reader of their contents: the simulated neighbor of a TAP", 160, "nothing", [
        (REFLECT, "n < ETHER_HDR + hlen + 4", "n < ETHER_HDR + hlen + 3"),
        (REFLECT, "if (len < 32 ||", "if (len < 31 ||"),
    ], "--unwind", "90"),
    Proof("lanes", "the input checks of the AVX2 and AVX-512 sets pass the same packets as lanes.c, with equal results, and read no byte more than 40 "
          "after the start of the IP header", "each 16-bit word of the headers with all values, all lengths up to 200, all combinations of the values at "
          "which a check changes its mind, 85 million checksums; untagged to double-tagged, labels, below a label; IPv4 and IPv6, bursts of 1 to 8",
          "headers that differ in two words at once from these behave like them; the CPU has AVX-512, else the sets that it has are compared", [
              (AVX2, "_mm256_set1_epi16(223)", "_mm256_set1_epi16(224)"),
              (AVX2, "GREATER(ALL(IP4_HDR), p->len)", "GREATER(ALL(IP4_HDR - 1), p->len)"),
              (AVX512, "ALL(1)), ALL(223))", "ALL(1)), ALL(224))"),
              (AVX2, "GREATER(ALL(l2 + LABEL_HDR), first)", "GREATER(ALL(l2), first)"),
              (AVX2, "GREATER(needed, load", "GREATER(p->len, load"),
              (AVX512, "k, _mm512_add_epi64(p->len, ALL(LABEL_HDR)),", "k, p->len,"),
          ], harness="tests/proofs/lanes_equal.c", program=["-O2", "-DLANES_X86", "DPDK"], sources=[
              f"{FORWARDER}/lanes.c", (AVX2, "-mavx2", "-mpopcnt"), (AVX512, *AVX512_FLAGS), (AVX512, *AVX512_FLAGS, "-DLANES_LOADS")]),
    Proof("poptrie", "after each update, all 256 addresses get the value of their longest prefix", "six updates of the 15 prefixes of three of eight bits, two "
          "updates of all 511; add, replace, delete; two values; at places where directory, blocks and floor meet", "a table with equal words, blocks and tree "
          "answers and behaves equally, wherever its blocks are; there is memory", [
              (f"{POPTRIE}/block.c", "if (kid_old != kid_new || (kid->node & KID_DIRTY) != 0)", "if ((kid->node & KID_DIRTY) != 0)"),
              (f"{POPTRIE}/tree.h", "for (; idx > 1; idx >>= 1)", "for (; idx > 3; idx >>= 1)"),
          ], program=["-O2", "-mpopcnt", "-mprfchw"], sources=[f"{POPTRIE}/{name}.c" for name in (
              "pool", "tree", "block", "edit", "group", "txn", "share", "dedupe", "poptrie", "check", "image", "lookup_trace", "kernel", "kernel_scalar")],
          # bits of the address, where the eight bits begin, which of them, updates, values
          cases=["32 20 2,3,4 6 1 300", "32 14 2,3,4 6 1 300", "32 22 1,3,7 6 1 300", "32 0 0,1,6 6 1 300", "128 20 2,3,4 6 1 300", "128 58 4,5,6 6 1 300",
                 "32 20 all 2 1 300", "128 58 all 2 1 300"], mistaken={0: "32 20 2,3,4 3 1 300", 1: "32 20 2,3,4 3 1 300"}),
    Proof("publication", "a writer, two readers and a grace period: no reader finds freed memory or a value that was never there", "three changes, "
    "two readers of "
          "two lookups each, five blocks: every interleaving, with stores as weak as C11 allows", "a model of the protocol, tests/model/publish_model.c, which "
          "plants six mistakes of its own", [
              ("tests/model/publish_model.c", "bool release = bug != BUG_PUBLISH_PLAIN;", "bool release = false;"),
          ], harness="tests/model/publish_model.c", program=["-O2"]),
    Proof("grace", "rcu.c and grace.c: no reader uses an object that a writer uses again, and every ticket is over some time", "two changes, two "
    "readers of two "
          "looks each, the reclaimer: every order of their steps with at most three preemptions", "sequential consistency (`publication` has weaker memory)", [
              ("src/core/rcu.c", "seen == 0 || seen >= number", "seen == 0 || seen + 1 >= number"),
              ("src/core/rcu.c", "grace_period(); // the lock", "// the lock"),
              ("src/data/table/grace.c", "raise_over(t->number)", "raise_over(t->number + 1)"),
          ], program=["-O2", "-DPREEMPTIONS=3"], edits=[
              ("src/core/rcu.c", "static _Thread_local struct reader me;", "static struct reader mes[TASKS_MAX];\n#define me mes[current]")]),
    Proof("mailbox", "mailbox.c: accepted calls run once, in order; a caller that gives up and a call that runs late agree who frees what; no wake-up is lost",
          "three calls of two senders, a box for two, closed at any time: every order of the steps", "sequential consistency; one call per wake-up", [
              ("src/core/mailbox.c", "if (b->n == 1)", "if (b->n == 2)"),
              ("src/core/mailbox.c", "if (!r && !done)       // it has run at the last moment", "if (0)"),
              ("src/core/mailbox.c", "if (!atomic_exchange(&w->over, true)) {", "if (!atomic_exchange(&w->over, false)) {"),
              ("src/core/mailbox.c", "    eventfd_write(fd, 1);\n}", "}"),
          ], program=["-O2", "-DPREEMPTIONS=99"], edits=[("src/core/mailbox.c", "#define MAILBOX_BUDGET 256", "#define MAILBOX_BUDGET 1")]),
]
