// SPDX-License-Identifier: BSD-3-Clause
// lists.c - see lists.h
#include "forward/lists.h"

#include <stdlib.h>
#include <string.h>

#include "acl/acl_bench.h"
#include "core/thread.h"
#include "lib/bench.h"
#include "table/acl.h"

#define MEMBERS 1000000u
#define RULES 10000u
#define SEED 1

static struct rules blocked, wanted;
static uint16_t id[N_LISTS];

static uint16_t list_publish(const char *name, struct acl *a, uint32_t slots)
{
    struct acl_content *c = acl_content_new(a, slots);
    uint16_t list = acl_list_new(name);

    bench_check(c, "no memory for a list");
    acl_publish(list, c);
    return list;
}

static uint16_t list_of(const char *name, struct acl_set *set, const struct acl_rule *r, uint32_t n)
{
    const struct acl_config cfg = {.set = {set}};
    struct acl_rule *all = calloc(n + 1, sizeof *all);
    struct acl *a = acl_new(&cfg);

    acl_rule_init(&all[0], 1, ACL_IP4);
    all[0].src.set = 0;
    for (uint32_t i = 0; i < n; i++) {
        all[i + 1] = r[i];
        all[i + 1].number = i + 2;
    }
    bench_check(a && !acl_load(a, all, n + 1), "a list is refused");
    free(all);
    return list_publish(name, a, n + 1);
}

void lists_make(void)
{
    struct acl_set *set = acl_set_new(0);

    thread_adopt(ROLE_ACL_MANAGER, THREAD_SLOT_ACL_MANAGER);
    rules_make(&blocked, SHAPE_BLOCKLIST, 4, MEMBERS, SEED);
    rules_make(&wanted, SHAPE_ACL, 4, RULES, SEED);
    bench_check(set && !acl_set_change(set, NULL, 0, blocked.prefix, blocked.n, NULL),
                "the set is refused");
    id[LISTS_EMPTY] = list_publish("empty", NULL, 0);
    id[LISTS_BLOCKLIST] = list_of("blocklist", set, NULL, 0);
    id[LISTS_FULL] = list_of("full", set, wanted.rule, (uint32_t)wanted.n);
}

uint16_t lists_id(enum lists_case c)
{
    return id[c];
}

void lists_packet(uint8_t *source, uint8_t *ports)
{
    uint64_t r = bench_random();
    uint32_t any = (uint32_t)bench_random();

    memcpy(source, &any, 4);
    source[0] = (uint8_t)(1 + source[0] % 126); // no martian
    source[0] += source[0] == 10;
    if (r % 20 == 0) {
        const struct prefix *p = &blocked.prefix[(r >> 8) % blocked.n];
        if (p->b[0] < 127 && p->b[0] != 10)
            memcpy(source, p->b, 4);
    }
    memcpy(ports, (uint8_t[4]){(uint8_t)(r >> 40), (uint8_t)(r >> 48), 0x01, 0xbb}, 4);
}
