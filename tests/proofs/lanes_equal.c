// SPDX-License-Identifier: BSD-3-Clause
// lanes_equal.c - all sets of lanes (forwarder/lanes.h) pass the same packets, with equal results
//
// Each set gets bursts of eight frames, or of one to seven, and appends them to an equal burst.
// For each kind of frame (five kinds of tags, IPv4 and IPv6; labels; IPv4 and IPv6 below a label):
//
//   words     each 16-bit word of the frame, from its first byte to 40 bytes of IP, and the tag
//             beside it, has all of its values, the others being those of a plain packet
//   lengths   all lengths of packet and first segment up to 200 bytes, and the longest
//   edges     all combinations of the values at which some check changes its mind
//   sums      IPv4, untagged: one checksum in seven with a thousand values of each other word; and
//             for each kind of frame, words that carry
//
// IPv4 headers come with and without the port's word for their checksum. A frame's memory ends 40
// bytes after the start of its IP header: a set that reads beyond ends the program.
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/checksum.h"
#include "base/cpu.h"
#include "forwarder/lanes_priv.h"

#define SETS 4

static struct port port;
static struct iface ifaces[8];
static uint16_t inner[OUTER_VLAN_MAX][4096];
struct iface *iface_table = ifaces;
uint16_t (*port_inner)[4096] = inner;
struct nexthop *nexthop_table;
uint64_t packet_class_flag;

static const struct lanes *set[SETS];
static unsigned n_sets;
static enum tag tag;
static uint8_t family;
static bool below;       // the label has been read: the IP packet below it is next
static uint64_t skipped; // packets of a burst that append_below() is to leave out
static unsigned l2;      // bytes before the IP header
static uint8_t *page[8]; // ends of readable memory

static struct arrivals arrivals;
static struct rte_mbuf mbuf[8];
static struct burst bursts[SETS];
static uint64_t n_frames, n_plain;

bool cpu_runs(enum cpu_simd wanted)
{
    return wanted == CPU_SCALAR || wanted == CPU_AVX2 ||
           (__builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl"));
}

bool gather_is_slow(void)
{
    return false;
}

// --- frames ---

struct frame {
    uint8_t b[22 + 40];
    uint32_t pkt_len;
    uint16_t data_len, tci;
    uint64_t flags;
};

static struct frame plain;

static void fix_sum(struct frame *f)
{
    uint8_t *ip = f->b + l2;

    store16(ip + 10, 0);
    store16(ip + 10, checksum(ip, IP4_HDR));
}

static void plain_make(void)
{
    uint8_t *at = plain.b + 12, *ip = plain.b + l2;

    memset(&plain, 0, sizeof plain);
    memcpy(plain.b, ifaces[1].mac, 6);
    memset(plain.b + 6, 0x77, 6);
    if (tag == DOUBLE)
        store16(at, ETHER_TYPE_QINQ), store16(at + 2, rte_cpu_to_be_16(20)), at += 4;
    if (tag == TAGGED || tag == DOUBLE || tag == DOUBLE_STRIPPED)
        store16(at, ETHER_TYPE_VLAN), store16(at + 2, rte_cpu_to_be_16(10)), at += 4;
    if (below)
        store16(at, ETHER_TYPE_MPLS), at += LABEL_HDR;
    plain.tci = tag == DOUBLE_STRIPPED ? 20 : 10;
    if (!below)
        store16(at, family == IP4   ? ETHER_TYPE_IP4
                    : family == IP6 ? ETHER_TYPE_IP6
                                    : ETHER_TYPE_MPLS);
    if (family == IP4) {
        memcpy(ip, (uint8_t[20]){0x45, 0, 0,  60, 0x12, 0x34, 0,  0, 64, 17,
                                 0,    0, 10, 1,  2,    3,    11, 4, 5,  6},
               20);
        fix_sum(&plain);
    } else {
        memcpy(ip, (uint8_t[8]){0x60, 1, 2, 3, 0, 20, 17, 64}, 8);
        memcpy(ip + 8, (uint8_t[32]){0x20, 1, 0x0d, 0xb8, [15] = 1, 0x20, 1, 0x0d, 0xb8, [31] = 2},
               32);
    }
    plain.pkt_len = plain.data_len = (uint16_t)(l2 + 60);
    plain.flags = lanes_stripped(tag);
}

// --- comparison ---

static void differ(const struct lanes *s, const char *what)
{
    printf("lanes_equal: %s differs from %s in %s (kind %u, family %u)\n", s->name, set[0]->name,
           what, tag, family);
    for (unsigned i = 0; i < arrivals.n; i++) {
        printf("    %u of %u bytes, flags %llx, tag %u:", mbuf[i].data_len, mbuf[i].pkt_len,
               (unsigned long long)mbuf[i].ol_flags, mbuf[i].vlan_tci);
        for (unsigned k = 0; k < l2 + 40; k++)
            printf(" %02x", arrivals.frame[i][k]);
        printf("\n");
    }
    exit(1);
}

#define SAME(field)                                                                                \
    do {                                                                                           \
        if (memcmp(x->field + before, y->field + before, (x->n - before) * sizeof *x->field))      \
            differ(set[k], #field);                                                                \
    } while (0)

static unsigned before; // packets in the burst already: 0 or 1

static void compare(unsigned k, const struct burst *x, const struct burst *y)
{
    if (x->n != y->n || x->mixed != y->mixed || x->chained != y->chained ||
        x->features != y->features || x->bytes != y->bytes)
        differ(set[k], "n, mixed, chained, features or bytes");
    SAME(pkt);
    SAME(ip);
    SAME(iface);
    if (!below)
        SAME(vr);
    SAME(len);
    SAME(size);
    SAME(hop);
    if (family == IP4)
        SAME(dst4);
    else if (family == IP6)
        SAME(dst6);
}

// Appends the arrivals to *b. Returns the mask of the packets that pass, or do not.
static uint64_t append(const struct lanes *s, struct burst *b)
{
    static struct burst from;

    if (family == LABELS)
        return s->append_labels(&arrivals, &port, b);
    if (!below)
        return (family == IP4 ? s->append_plain4 : s->append_plain6)(&arrivals, &port, tag, b);
    from.n = arrivals.n;
    for (unsigned i = 0; i < from.n; i++) {
        from.pkt[i] = arrivals.pkt[i];
        from.ip[i] = arrivals.frame[i] + ETHER_HDR;
        from.iface[i] = (uint16_t)(1 + i % 3);
        from.size[i] = (uint16_t)mbuf[i].pkt_len;
        from.len[i] = (uint16_t)(mbuf[i].pkt_len - ETHER_HDR);
    }
    const uint64_t of = UINT64_MAX >> (64 - from.n) & ~skipped;
    return (family == IP4 ? s->append_below4 : s->append_below6)(&from, of, b);
}

static void send(void)
{
    uint64_t odd[SETS];

    if (!arrivals.n)
        return;
    for (unsigned k = 0; k < n_sets; k++) {
        struct burst *b = &bursts[k];
        burst_reset(b);
        b->family = family;
        b->n = before;
        b->vr[0] = 1;
        odd[k] = append(set[k], b);
        if (odd[k] != odd[0])
            differ(set[k], "the packets that pass");
        if (k)
            compare(k, &bursts[0], b);
    }
    n_frames += arrivals.n;
    n_plain += bursts[0].n - before;
    arrivals.n = 0;
    before ^= 1;
}

static void add(const struct frame *f)
{
    const unsigned i = arrivals.n++;
    uint8_t *frame = page[i] - (l2 + 40);

    memcpy(frame, f->b, l2 + 40);
    mbuf[i].pkt_len = f->pkt_len;
    mbuf[i].data_len = f->data_len;
    mbuf[i].vlan_tci = f->tci;
    mbuf[i].ol_flags = f->flags;
    arrivals.pkt[i] = &mbuf[i];
    arrivals.frame[i] = frame;
    if (arrivals.n == 8)
        send();
}

// IPv4: also with the port's word that the checksum is right.
static void add_both(struct frame f)
{
    add(&f);
    if (family == IP4) {
        f.flags |= RTE_MBUF_F_RX_IP_CKSUM_GOOD;
        add(&f);
    }
}

// --- what is enumerated ---

static void words(void)
{
    for (unsigned at = 0; at <= l2 + 40; at += 2)
        for (unsigned v = 0; v < 65536; v++) {
            struct frame f = plain;
            if (at < l2 + 40)
                store16(f.b + at, (uint16_t)v);
            else
                f.tci = (uint16_t)v;
            add_both(f);
            if (family == IP4 && at >= l2 && at < l2 + 20 && at != l2 + 10) {
                fix_sum(&f);
                add(&f);
            }
        }
    send();
}

static void lengths(void)
{
    static const uint16_t more[] = {255, 256, 1500, 65534, 65535};

    for (unsigned ip = 0; ip <= 205; ip++) // as the header says
        for (unsigned n = 0; n <= 205; n++)
            for (unsigned first = below ? n : 0; first <= n;
                 first += first > l2 + 64 && first < 124 ? 7 : 1) {
                struct frame f = plain;
                store16(f.b + l2 + (family == IP4 ? 2 : 4),
                        rte_cpu_to_be_16((uint16_t)(ip > 200 ? more[ip - 201] : ip)));
                f.pkt_len = n > 200 ? more[n - 201] : n;
                f.data_len = (uint16_t)(first > 200 ? more[first - 201] : first);
                f.flags |= family == IP4 ? RTE_MBUF_F_RX_IP_CKSUM_GOOD : 0;
                add(&f);
            }
    send();
}

static const uint16_t octets[] = {0x0000, 0x0001, 0x00ff, 0x0100, 0x7e00, 0x7f00,
                                  0x7fff, 0x8000, 0xa9fd, 0xa9fe, 0xa9ff, 0xdfff,
                                  0xe000, 0xfd00, 0xfdff, 0xfe80, 0xff00, 0xff02};
#define EACH(i, table) for (unsigned i = 0; i < sizeof(table) / sizeof *(table); i++)

static void edges_of(struct frame f, unsigned src, unsigned dst)
{
    static const uint16_t first[] = {0x45, 0x46, 0x44, 0x55, 0x60, 0x6f, 0x70};
    static const uint16_t len4[] = {0, 19, 20, 60, 61, 65535},
                          len6[] = {0, 1, 20, 21, 65495, 65535};
    uint8_t *ip = f.b + l2;

    store16(ip + (family == IP4 ? 12 : 8), rte_cpu_to_be_16(octets[src]));
    store16(ip + (family == IP4 ? 16 : 24), rte_cpu_to_be_16(octets[dst]));
    EACH(v, first)
    EACH(n, len4)
    {
        ip[0] = (uint8_t)first[v];
        store16(ip + (family == IP4 ? 2 : 4), rte_cpu_to_be_16(family == IP4 ? len4[n] : len6[n]));
        for (unsigned kind = 0; kind < 2; kind++) { // EtherType of this family, or not
            struct frame g = f;
            g.b[l2 - 1] ^= (uint8_t)(kind ? 0x10 : 0);
            if (family == IP4)
                fix_sum(&g);
            add_both(g);
        }
    }
}

static void edges(void)
{
    static const struct {
        uint32_t pkt;
        uint16_t data;
    } size[] = {{0, 0},     {60, 60},   {60, 59},     {128, 127},    {128, 128},
                {129, 128}, {129, 127}, {65535, 128}, {65600, 65535}};

    EACH(s, octets)
    EACH(d, octets)
    for (unsigned how = 0; how < 16; how++) {
        struct frame f = plain;
        f.b[5] ^= how & 1; // the MAC
        f.flags ^= how & 2 ? RTE_MBUF_F_RX_VLAN_STRIPPED : 0;
        f.flags ^= how & 4 ? RTE_MBUF_F_RX_QINQ_STRIPPED : 0;
        f.flags ^= how & 8 ? RTE_MBUF_F_RX_IP_CKSUM_BAD : 0;
        edges_of(f, s, d);
    }
    EACH(s, octets)
    EACH(z, size)
    for (unsigned in_segments = 0; in_segments < 2; in_segments++) {
        struct frame f = plain;
        f.pkt_len = size[z].pkt + (in_segments ? l2 : 0);
        f.data_len = (uint16_t)(size[z].data + (in_segments && size[z].data < 60000 ? l2 : 0));
        edges_of(f, s, s);
    }
    send();
}

// Sums of all sizes: as many words as possible are large.
static void carries(void)
{
    static const uint16_t value[] = {0, 1, 0x7fff, 0xfffe, 0xffff};
    static const uint8_t at[] = {4, 6, 8, 14, 18};

    for (unsigned k = 0; k < 3125; k++) {
        struct frame f = plain;
        for (unsigned i = 0, of = k; i < 5; i++, of /= 5)
            store16(f.b + l2 + at[i], value[of % 5]);
        for (unsigned sum = 0; sum < 65536; sum += k % 16 ? 257 : 1) {
            store16(f.b + l2 + 10, (uint16_t)sum);
            add(&f);
        }
        fix_sum(&f);
        uint16_t right = load16(f.b + l2 + 10);
        for (int off = -2; off <= 2; off++) {
            store16(f.b + l2 + 10, (uint16_t)(right + off));
            add(&f);
        }
    }
    send();
}

static void sums(void)
{
    for (unsigned at = 0; at < 20; at += 2)
        for (unsigned v = 0; v < 65536 && at != 10; v += 64 + at % 3) {
            struct frame f = plain;
            store16(f.b + l2 + at, (uint16_t)v);
            for (unsigned sum = v % 7; sum < 65536; sum += 7) {
                store16(f.b + l2 + 10, (uint16_t)sum);
                add(&f);
            }
        }
    send();
}

// Bursts of one to seven frames, each odd one at each place, and each left out.
static void tails(void)
{
    for (unsigned n = 1; n < 8; n++)
        for (unsigned odd = 0; odd < 1u << n; odd++)
            for (skipped = 0; skipped < (below ? 1u << n : 1); skipped++) {
                for (unsigned i = 0; i < n; i++) {
                    struct frame f = plain;
                    f.b[family == LABELS ? l2 - 1 : l2] ^= (uint8_t)(odd >> i & 1 ? 0x10 : 0);
                    add(&f);
                }
                send();
            }
    skipped = 0;
}

static void tables(void)
{
    for (unsigned i = 1; i < 4; i++) {
        ifaces[i].id = (uint16_t)i;
        memcpy(ifaces[i].mac, (uint8_t[6]){0x02, 0xfe, 0x80, 0x7f, 0xff, 0x01}, 6);
        iface_put_flags(&ifaces[i], UINT32_MAX,
                        i == 2 ? 0 : IFACE_UP | (i == 3 ? IFACE_ACL_IN : 0));
        ifaces[i].vr = i == 3 ? VR_MAX - 1 : 1;
        ifaces[i].tpid_be = ETHER_TYPE_QINQ;
        inner[1][9 + i] = port.vlan_iface[9 + i] = (uint16_t)i;
    }
    for (unsigned i = 0; i < 8; i++)
        port.outer_row[20 + i] = i < 4;
}

int main(void)
{
    const long bytes = sysconf(_SC_PAGESIZE);
    static const char *const name[SETS] = {"scalar", "avx2", "avx512", "avx512-loads"};

    for (unsigned i = 0; i < SETS; i++)
        if (lanes_by_name(name[i]))
            set[n_sets++] = lanes_by_name(name[i]);
    for (unsigned i = 0; i < 8; i++) {
        uint8_t *two = mmap(NULL, 2 * (size_t)bytes, PROT_READ | PROT_WRITE,
                            MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (two == MAP_FAILED || mprotect(two + bytes, (size_t)bytes, PROT_NONE))
            return 2;
        page[i] = two + bytes;
    }
    tables();
    for (unsigned kind = 0; kind < 2 * TAG_N + 3; kind++) {
        below = kind > 2 * TAG_N;
        tag = kind < 2 * TAG_N ? kind % TAG_N : UNTAGGED;
        family = kind == 2 * TAG_N ? LABELS : kind < TAG_N || kind == 2 * TAG_N + 1 ? IP4 : IP6;
        l2 = lanes_l2(tag) + (below ? LABEL_HDR : 0);
        plain_make();
        for (uint16_t untagged = 1; untagged < (tag == UNTAGGED && !below ? 4 : 2); untagged++) {
            port.untagged = tag == UNTAGGED ? untagged : port.untagged;
            words();
            edges();
            tails();
        }
        if (tag == UNTAGGED)
            port.untagged = 1;
        lengths();
        if (family == IP4) {
            carries();
            if (tag == UNTAGGED && !below)
                sums();
        }
    }
    printf("%u sets, %llu frames, %llu plain\n", n_sets, (unsigned long long)n_frames,
           (unsigned long long)n_plain);
    return n_plain < 1000000;
}
