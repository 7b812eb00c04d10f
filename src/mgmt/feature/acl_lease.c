// SPDX-License-Identifier: BSD-3-Clause
// acl_lease.c - temporary rules of access lists go when their client no longer renews them
//
// The alarm acl-lease tells before. After the end it stays until the client is back, or the rules
// are cleared. What the client said about its peers' limits holds as long.
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "acl_manager/acl_desired.h"
#include "alarm/alarm.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/vec.h"
#include "core/aside.h"
#include "feature/acl.h"

struct lease {
    char list[ACL_NAME_MAX];
    uint64_t since_ns, span_ns; // CLOCK_MONOTONIC
    bool over;
};

static VEC(struct lease) leases;

struct peer_use {
    char list[ACL_NAME_MAX], address[48];
    unsigned percent; // of the peer's limit
};

static VEC(struct peer_use) peers;

static struct lease *lease_of(const char *list)
{
    vec_foreach (&leases, l)
        if (!strcmp(l->list, list))
            return l;
    return NULL;
}

static void forget_peers(const char *list)
{
    for (size_t i = peers.n; i-- > 0;)
        if (!strcmp(peers.item[i].list, list))
            vec_del_swap(&peers, i);
}

void acl_lease_peer(const char *list, const char *address, unsigned percent)
{
    struct peer_use *p = vec_push(&peers);

    *p = (struct peer_use){.percent = percent};
    snprintf(p->list, sizeof p->list, "%s", list);
    snprintf(p->address, sizeof p->address, "%s", address);
}

static void observe_peers(void)
{
    char subject[ALARM_SUBJECT];

    vec_foreach (&peers, p) {
        const struct lease *l = lease_of(p->list);

        if (!l || l->over)
            continue;
        snprintf(subject, sizeof subject, "%.31s %s", p->list, p->address);
        alarm_observe(ALARM_FLOWSPEC_LIMIT, subject, p->percent);
    }
}

void acl_lease_set(const char *list, uint32_t seconds)
{
    struct lease *l = lease_of(list);

    forget_peers(list);
    if (!seconds && l)
        vec_del_swap(&leases, l - leases.item);
    if (!seconds)
        return;
    if (!l)
        l = vec_push(&leases);
    *l = (struct lease){.since_ns = clock_now_ns(), .span_ns = seconds * NS_PER_SECOND};
    snprintf(l->list, sizeof l->list, "%s", list);
}

static unsigned percent_passed(const struct lease *l)
{
    uint64_t percent = 100 * (clock_now_ns() - l->since_ns) / l->span_ns;

    return percent < 100 ? (unsigned)percent : 100;
}

static void end_lease(struct lease *l)
{
    struct acl_temporary none = {.add = "", .replace = true};
    uint32_t rules = acl_manager_temporary(l->list);
    struct errors e = {0};

    memcpy(none.list, l->list, sizeof none.list);
    bool done = !rules || !acl_temporary_change(&none, &e); // waits
    if ((l = lease_of(none.list)))
        l->over = done;
    if (done)
        log_warning("acl: temporary rules deleted, because their client did not renew them: acl=%s "
                    "rules=%" PRIu32,
                    none.list, rules);
    else
        log_error("acl: temporary rules not deleted; retrying: acl=%s", none.list);
    errors_free(&e);
}

static void end_leases(void *ctx)
{
    for (size_t i = 0; i < leases.n; i++)
        if (!leases.item[i].over && percent_passed(&leases.item[i]) == 100)
            end_lease(&leases.item[i]);
}

static void drop(void *ctx) // kamueed stops
{
}

void acl_lease_look(void)
{
    bool end = false;

    for (size_t i = leases.n; i-- > 0;) {
        struct lease *l = &leases.item[i];

        if (!acl_desired_list_find(acl_manager_desired(), l->list)) {
            forget_peers(l->list);
            vec_del_swap(&leases, i);
            continue;
        }
        alarm_observe(ALARM_ACL_LEASE, l->list, percent_passed(l));
        end |= !l->over && percent_passed(l) == 100;
    }
    observe_peers();
    if (end)
        aside_turn(ASIDE_CHANGE, &(struct turn){end_leases, drop, NULL, NULL});
}

void acl_lease_stop(void)
{
    vec_free(&leases);
    vec_free(&peers);
}
