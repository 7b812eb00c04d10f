// SPDX-License-Identifier: BSD-3-Clause
// acl_target.c - mirror sessions and redirect addresses, by id (acl_target.h)
//
// An id is reserved as long as a list or a program holds it, or, for a session, as long as it leads
// to a watch. Each forwarder counts redirects in a row of its own and nobody clears them: the first
// holder of an address notes the sum so far, and readers subtract it.
#include "table/acl_target.h"

#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/log.h"
#include "core/thread.h"
#include "table/sum.h"

// Lists belong to acl_manager, packet programs to control.
static void must_be_holder(void)
{
    if (thread_role() != ROLE_CONTROL)
        thread_must_be(ROLE_ACL_MANAGER);
}

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static struct session {
    char name[ACL_NAME_SIZE]; // while it has holders or a watch
    uint32_t holders;
    uint16_t watch; // 1 + index; 0 = none
} session[ACL_MIRROR_MAX];

static struct redirect {
    struct ip_addr to;
    uint32_t holders;
    uint64_t began[2]; // sum of all forwarders when the first holder came
} redirect[ACL_REDIRECT_MAX];

// [unreachable, sent]; each forwarder writes its own row.
static uint64_t redirected[FORWARDER_MAX][ACL_REDIRECT_MAX][2] __attribute__((aligned(128)));

// --- mirror sessions ---

// Finds or creates a session; 0: none free.
static uint16_t session_id(const char *name)
{
    uint16_t free = 0;

    for (uint16_t id = 1; id < ACL_MIRROR_MAX; id++) {
        bool used = session[id].holders || session[id].watch;
        if (used && !strcmp(session[id].name, name))
            return id;
        if (!used && !free)
            free = id;
    }
    if (free)
        snprintf(session[free].name, sizeof session[free].name, "%s", name);
    return free;
}

uint16_t acl_mirror_get(const char *name)
{
    must_be_holder();
    pthread_mutex_lock(&lock);
    uint16_t id = session_id(name);
    session[id].holders += id != 0;
    pthread_mutex_unlock(&lock);
    return id;
}

void acl_mirror_put(uint16_t id)
{
    must_be_holder();
    pthread_mutex_lock(&lock);
    bug_on(!session[id].holders--);
    pthread_mutex_unlock(&lock);
}

int acl_mirror_lead(const char *name, unsigned watch)
{
    thread_must_be(ROLE_CONTROL);
    pthread_mutex_lock(&lock);
    uint16_t id = session_id(name);
    if (id)
        __atomic_store_n(&session[id].watch, (uint16_t)(watch < WATCH_MAX ? watch + 1 : 0),
                         __ATOMIC_RELEASE); // partner: acl_mirror_watch
    pthread_mutex_unlock(&lock);
    return id ? 0 : -ENOSPC;
}

unsigned acl_mirror_watch(uint16_t id)
{
    uint16_t watch = __atomic_load_n(&session[id].watch, __ATOMIC_ACQUIRE);

    return watch ? watch - 1u : WATCH_MAX;
}

// --- redirects ---

static bool same_address(const struct ip_addr *a, const struct ip_addr *b)
{
    return a->family == b->family && !memcmp(a->b, b->b, sizeof a->b);
}

static uint64_t redirected_sum(unsigned id, bool sent)
{
    uint64_t sum;

    sum_rows(&sum, &redirected[0][id][sent], sizeof *redirected, FORWARDER_MAX, sizeof sum);
    return sum;
}

uint16_t acl_redirect_get(const struct ip_addr *to)
{
    uint16_t free = 0, id = 1;

    must_be_holder();
    pthread_mutex_lock(&lock);
    for (; id < ACL_REDIRECT_MAX && !(redirect[id].holders && same_address(&redirect[id].to, to));
         id++)
        if (!redirect[id].holders && !free)
            free = id;
    if (id == ACL_REDIRECT_MAX)
        id = free;
    if (id && !redirect[id].holders++) {
        redirect[id].to = *to;
        for (unsigned sent = 0; sent < 2; sent++)
            redirect[id].began[sent] = redirected_sum(id, sent);
    }
    pthread_mutex_unlock(&lock);
    return id;
}

void acl_redirect_put(uint16_t id)
{
    must_be_holder();
    pthread_mutex_lock(&lock);
    bug_on(!redirect[id].holders--);
    pthread_mutex_unlock(&lock);
}

unsigned acl_redirect_all(struct ip_addr *to)
{
    unsigned n = 0;

    pthread_mutex_lock(&lock);
    for (unsigned id = 1; id < ACL_REDIRECT_MAX; id++)
        if (redirect[id].holders)
            to[n++] = redirect[id].to;
    pthread_mutex_unlock(&lock);
    return n;
}

unsigned acl_redirect_rows(struct acl_redirect_row *row)
{
    unsigned n = 0;

    pthread_mutex_lock(&lock);
    for (unsigned id = 1; id < ACL_REDIRECT_MAX; id++)
        if (redirect[id].holders)
            row[n++] = (struct acl_redirect_row){
                .to = redirect[id].to,
                .sent = redirected_sum(id, true) - redirect[id].began[true],
                .no_way = redirected_sum(id, false) - redirect[id].began[false]};
    pthread_mutex_unlock(&lock);
    return n;
}

void acl_redirect_counted(uint16_t id, unsigned forwarder, bool sent)
{
    uint64_t *n = &redirected[forwarder][id][sent];

    __atomic_store_n(n, *n + 1, __ATOMIC_RELAXED);
}

const struct ip_addr *acl_redirect_to(uint16_t id)
{
    return &redirect[id].to;
}
