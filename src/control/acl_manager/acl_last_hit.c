// SPDX-License-Identifier: BSD-3-Clause
// acl_last_hit.c - time of the last hit of each rule
//
// Forwarders only count. acl_manager samples the counters: a counter that changed was hit since the
// last sample. New content takes over the last hits of the content it replaces, together with its
// counters (acl_build.c: counters_absorb); until then nothing is sampled.
#include "acl_manager/acl_build.h"

#include "base/clock.h"

uint32_t acl_last_hit_now_s(void)
{
    return (uint32_t)(clock_now_ns() / NS_PER_SECOND) + 1;
}

static void sample_counter(struct acl_build *b, uint32_t slot, uint32_t now_s)
{
    struct acl_last_hit *s = acl_build_last_hit(b, slot);
    uint32_t packets = (uint32_t)acl_hits_read(b->content, slot).packets;

    // 0: the counters were cleared
    if (packets != s->packets)
        *s = (struct acl_last_hit){packets, packets ? now_s : 0};
}

struct acl_last_hit *acl_build_last_hit(struct acl_build *b, uint32_t slot)
{
    return &b->seen[acl_place(b->content, slot)];
}

void acl_build_sample_hits(struct acl_build *b, size_t from, size_t n, uint32_t now_s)
{
    const struct acl *a = b->content->rules;

    if (b->before)
        return;
    sample_counter(b, ACL_MISS, now_s);
    for (size_t i = from; i < b->number.n && i - from < n; i++)
        sample_counter(b, acl_slot_of(a, b->number.item[i]), now_s);
}
