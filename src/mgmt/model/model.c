// SPDX-License-Identifier: BSD-3-Clause
// model.c - a configuration as plain structs: finding things in it
#include "model/model.h"

#include <stdlib.h>
#include <string.h>

#include "base/text.h"

#define FIND(vec, member, wanted)                                                                  \
    ({                                                                                             \
        size_t lo = 0, hi = (vec).n;                                                               \
        while (lo < hi) {                                                                          \
            size_t mid = (lo + hi) / 2;                                                            \
            int d = natural_compare((vec).item[mid].member, wanted);                               \
            d = d ? d : strcmp((vec).item[mid].member, wanted);                                    \
            if (!d) {                                                                              \
                lo = mid;                                                                          \
                break;                                                                             \
            }                                                                                      \
            if (d < 0)                                                                             \
                lo = mid + 1;                                                                      \
            else                                                                                   \
                hi = mid;                                                                          \
        }                                                                                          \
        lo < hi ? &(vec).item[lo] : NULL;                                                          \
    })

struct model_vr *model_find_vr(const struct model *m, const char *name)
{
    return FIND(m->vr, name, name);
}

struct model_port *model_find_port(const struct model *m, const char *name)
{
    return FIND(m->port, config.name, name);
}

struct model_vport *model_find_vport(const struct model *m, const char *name)
{
    return FIND(m->vport, name, name);
}

struct model_multicast *model_find_multicast(const struct model *m, const char *vr,
                                             const struct multicast_key *k)
{
    size_t lo = 0, hi = m->multicast_by_key.n;

    while (lo < hi) {
        size_t mid = (lo + hi) / 2;
        struct model_multicast *r = m->multicast_by_key.item[mid];
        int d = memcmp(&r->route.key, k, sizeof *k);

        d = d ? d : strcmp(r->vr, vr);
        if (!d)
            return r;
        if (d < 0)
            lo = mid + 1;
        else
            hi = mid;
    }
    return NULL;
}

static int compare_multicast(const void *pa, const void *pb)
{
    const struct model_multicast *a = *(struct model_multicast *const *)pa,
                                 *b = *(struct model_multicast *const *)pb;
    int d = memcmp(&a->route.key, &b->route.key, sizeof a->route.key);

    return d ? d : strcmp(a->vr, b->vr);
}

void model_sort_multicast(struct model *m)
{
    vec_foreach (&m->multicast, r)
        *vec_push(&m->multicast_by_key) = r;
    if (m->multicast.n)
        qsort(m->multicast_by_key.item, m->multicast_by_key.n, sizeof *m->multicast_by_key.item,
              compare_multicast);
}

bool model_has_counted(const struct model *m, const struct model_counted *wanted)
{
    vec_foreach (&m->counted, c)
        if (prefix_equal(&c->prefix, &wanted->prefix) && !strcmp(c->vr, wanted->vr))
            return true;
    return false;
}

bool model_has_listen(const struct model *m, const struct model_listen *wanted)
{
    vec_foreach (&m->listen, l)
        if (!memcmp(&l->listen, &wanted->listen, sizeof l->listen)) // of memory that was all zero
            return true;
    return false;
}

bool model_has_mirror(const struct model *m, const struct model_mirror *wanted)
{
    vec_foreach (&m->mirror, i)
        if (!memcmp(&i->mirror, &wanted->mirror, sizeof i->mirror)) // of memory that was all zero
            return true;
    return false;
}

void model_free(struct model *m)
{
    if (!m)
        return;
    acl_wanted_put(m->acl);
    vec_free(&m->vr);
    vec_free(&m->port);
    vec_free(&m->vport);
    vec_free(&m->interface);
    vec_free(&m->mirror);
    vec_free(&m->multicast);
    vec_free(&m->multicast_by_key);
    vec_free(&m->counted);
    vec_free(&m->listen);
    vec_free(&m->thread);
    vec_free(&m->thread_line);
    free(m);
}
