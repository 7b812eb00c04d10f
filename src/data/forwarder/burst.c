// SPDX-License-Identifier: BSD-3-Clause
// burst.c - closes gaps in a burst, and copies a burst to where it waits (burst.h)
//
// burst_remove() moves the packets behind the first gap in one pass without a branch per packet.
// burst_copy() serves bursts that wait for their lookup, so it leaves out the arrays that are
// filled after it. A new array of a burst must be added to the first function, and to the second if
// a stage before the lookup fills it. Redirected packets are few and listed by index; each index
// falls by the number of removed packets before it.
#include "forwarder/burst.h"

#include <string.h>

#include "forwarder/forbidden.h"

static __attribute__((noinline)) void redirected_remove(struct burst *b, uint64_t gone)
{
    uint8_t left = 0;

    for (unsigned k = 0; k < b->decided.n_redirected; k++) {
        struct redirected r = b->redirected[k];
        if (gone >> r.at & 1)
            continue;
        r.at = (uint8_t)(r.at - __builtin_popcountll(gone & ((1ull << r.at) - 1)));
        b->redirected[left++] = r;
    }
    b->decided.n_redirected = left;
}

void burst_remove(struct burst *b, uint64_t gone)
{
    unsigned k = (unsigned)__builtin_ctzll(gone);

    if (__builtin_expect(b->decided.n_redirected, 0))
        redirected_remove(b, gone);
    if (gone == UINT64_MAX >> (64 - b->n)) { // all
        b->n = 0;
        return;
    }
    for (unsigned i = k; i < b->n; i++) {
        b->pkt[k] = b->pkt[i];
        b->ip[k] = b->ip[i];
        b->word[k] = b->word[i];
        b->header[k] = b->header[i];
        b->out_iface[k] = b->out_iface[i];
        b->out_port[k] = b->out_port[i];
        b->nh[k] = b->nh[i];
        b->hop[k] = b->hop[i];
        b->hop_out[k] = b->hop_out[i];
        b->iface[k] = b->iface[i];
        b->vr[k] = b->vr[i];
        b->len[k] = b->len[i];
        b->size[k] = b->size[i];
        b->why[k] = b->why[i];
        if (b->family == IP4)
            b->dst4[k] = b->dst4[i];
        else
            memmove(b->dst6[k], b->dst6[i], 16);
        k += !(gone >> i & 1);
    }
    b->n = k;
}

void burst_copy(struct burst *to, const struct burst *from)
{
    const size_t n = from->n;

    memcpy(to, from, offsetof(struct burst, pkt));
    memcpy(to->pkt, from->pkt, n * sizeof *to->pkt);
    memcpy(to->ip, from->ip, n * sizeof *to->ip);
    memcpy(to->nh, from->nh, n * sizeof *to->nh);
    memcpy(to->hop, from->hop, n * sizeof *to->hop);
    memcpy(to->iface, from->iface, n * sizeof *to->iface);
    memcpy(to->vr, from->vr, n * sizeof *to->vr);
    memcpy(to->len, from->len, n * sizeof *to->len);
    memcpy(to->size, from->size, n * sizeof *to->size);
    memcpy(to->why, from->why, n * sizeof *to->why);
    if (from->family == IP4)
        memcpy(to->dst4, from->dst4, n * sizeof *to->dst4);
    else
        memcpy(to->dst6, from->dst6, n * sizeof *to->dst6);
    memcpy(to->redirected, from->redirected,
           from->decided.n_redirected * sizeof *to->redirected);
}
