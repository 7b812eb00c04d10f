// SPDX-License-Identifier: BSD-3-Clause
// syn-guard.c - a SYN flood stops at its sources: so many SYNs a second of each address
//
// Table `syn`, up to a million sources: by source (IPv4, or a mixture of the IPv6 address) the
// second, and SYNs in it. Table `limit`: entry 0, SYNs a second that each source may send; 0: 10.
// A full table stops nobody who is not in it: the guard then lets new sources pass, and counts.
#include <kamuee/program.h>

KAMUEE_DECLARE("window 64; counter syn; counter dropped; counter table-full; reason syn-flood; "
               "table hash syn 1000000; table array limit 1 read-only");

enum { SYN, DROPPED, TABLE_FULL };
enum { SYN_TABLE, LIMIT_TABLE };

static uint64_t read_word(const uint8_t *b)
{
    uint64_t v;

    __builtin_memcpy(&v, b, 8);
    return v;
}

// Offset of the TCP header; 0: no TCP, a later fragment, or it is not within the window.
static uint32_t find_tcp(const struct kamuee_packet *p)
{
    uint32_t at = p->family == 4 ? (p->data[0] & 15u) * 4 : 40;
    uint32_t next = p->family == 4 ? p->data[9] : p->data[6];

    if (next != 6 || at + 14 > p->readable || at + 14 > 64)
        return 0;
    if (p->family == 4 && ((p->data[6] & 0x1f) | p->data[7]))
        return 0;
    return at;
}

static uint64_t source_of(const struct kamuee_packet *p)
{
    uint32_t v4;

    if (p->family == 6)
        return read_word(p->data + 8) * UINT64_C(0x9e3779b97f4a7c15) + read_word(p->data + 16);
    __builtin_memcpy(&v4, p->data + 12, 4);
    return v4;
}

// A SYN without ACK.
static int is_syn(const struct kamuee_packet *p)
{
    uint32_t tcp = p->family && p->readable >= 40 ? find_tcp(p) : 0;

    return tcp && (p->data[tcp + 13] & 0x12) == 2;
}

static uint32_t count_syn(struct kamuee_packet *p)
{
    uint64_t key = source_of(p), second = p->time >> 30, limit = kamuee_get(LIMIT_TABLE, 0);
    uint64_t seen = kamuee_get(SYN_TABLE, key);

    if (seen >> 32 != (second & 0x7fffffff))
        seen = (second & 0x7fffffff) << 32;
    if (((uint32_t)seen) >= (limit ? limit : 10)) {
        kamuee_count(DROPPED, 1);
        return KAMUEE_VERDICT(KAMUEE_DROP, 0);
    }
    if (kamuee_put(SYN_TABLE, key, seen + 1))
        kamuee_count(TABLE_FULL, 1);
    return KAMUEE_CONTINUE;
}

void prepare(const struct kamuee_packet *p)
{
    if (is_syn(p))
        kamuee_prefetch(SYN_TABLE, source_of(p));
}

uint32_t packet(struct kamuee_packet *p)
{
    if (!is_syn(p))
        return KAMUEE_CONTINUE;
    kamuee_count(SYN, 1);
    return count_syn(p);
}
