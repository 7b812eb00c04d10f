// SPDX-License-Identifier: BSD-3-Clause
// saved_state.c - see saved_state.h; docs/features/restart.md lists the kept state
//
//     {"kamuee-saved-state":1,"version":"…","time":1795341600,"interface":{…},"port":{…},…}
//     # end 9a31c04be2750f66         checksum of the text above, as in a revision
#include "saved/saved_state.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/file.h"
#include "base/hash.h"
#include "base/log.h"
#include "base/text.h"
#include "base/version.h"
#include "core/thread.h"
#include "mgmt/feature.h"

#define FORMAT 1
#define FORMAT_KEY "kamuee-saved-state"
#define BYTES_MAX (16u << 20)
#define END "\n# end "
#define END_LENGTH (sizeof END - 1 + 16 + 1)

static uint64_t digest(const char *s, size_t n)
{
    return hash_bytes(s, n, 1);
}

static void path_in(const char *dir, struct text *path)
{
    text_printf(path, "%s/saved-state", dir);
}

// --- at the stop ---------------------------------------------------------------------------------

static int append(const char *s, size_t n, void *ctx)
{
    struct text *t = ctx;

    if (t->n + n > BYTES_MAX)
        return -1;
    text_append(t, s, n);
    return 0;
}

static json_t *save_features(void)
{
    json_t *all = json_object();

    json_object_set_new(all, FORMAT_KEY, json_integer(FORMAT));
    json_object_set_new(all, "version", json_string(kamuee_version));
    json_object_set_new(all, "time", json_integer((json_int_t)(clock_wall_ns() / NS_PER_SECOND)));
    for (unsigned f = 0; f < FEATURE_N; f++)
        if (features[f]->saved)
            json_object_set_new(all, features[f]->name, features[f]->saved->save());
    return all;
}

int saved_state_text(struct text *t)
{
    thread_must_be(ROLE_CONTROL);
    json_t *all = save_features();
    int r = json_dump_callback(all, append, t, JSON_COMPACT) ? -EFBIG : 0;
    json_decref(all);
    if (!r)
        text_printf(t, END "%016" PRIx64 "\n", digest(t->s, t->n));
    return r;
}

void saved_state_write(const char *dir)
{
    struct text t = {0}, path = {0};

    if (!dir)
        return;
    path_in(dir, &path);
    int r = saved_state_text(&t);
    r = r ? r : file_prepare(path.s, &t);
    r = r ? r : file_keep(path.s);
    if (r)
        log_warning("saved state: not saved, counters begin at 0 at the next start: file=%s "
                    "why=\"%s\"",
                    LOG_VALUE(path.s), strerror(-r));
    else
        log_info("saved state: saved: file=%s bytes=%zu", LOG_VALUE(path.s), t.n);
    text_free(&t);
    text_free(&path);
}

// --- at the start --------------------------------------------------------------------------------

static const char *parse(const struct text *t, json_t **all)
{
    char want[END_LENGTH + 1];
    size_t n = t->n > END_LENGTH ? t->n - END_LENGTH : 0;

    snprintf(want, sizeof want, END "%016" PRIx64 "\n", digest(text_str(t), n));
    if (!n || memcmp(t->s + n, want, END_LENGTH))
        return "truncated, or wrong checksum";
    *all = json_loadb(t->s, n, JSON_REJECT_DUPLICATES, NULL);
    uint64_t format;
    if (!json_is_object(*all) || !saved_number(*all, FORMAT_KEY, &format))
        return "not a saved state";
    return format == FORMAT ? NULL : "of another format: saved by another version of kamueed";
}

// First reason to refuse the state; NULL: accepted.
static const char *restore_features(const json_t *all, bool apply)
{
    static char why[160];

    for (unsigned f = 0; f < FEATURE_N; f++) {
        const json_t *part = features[f]->saved ? json_object_get(all, features[f]->name) : NULL;
        const char *bad = !part                   ? NULL
                          : !json_is_object(part) ? "not an object"
                                                  : features[f]->saved->restore(part, apply);
        if (bad) {
            snprintf(why, sizeof why, "%s: %s", features[f]->name, bad);
            return why;
        }
    }
    return NULL;
}

const char *saved_state_take(const struct text *t)
{
    json_t *all = NULL;
    const char *bad = parse(t, &all);

    bad = bad ? bad : restore_features(all, false);
    if (!bad)
        restore_features(all, true);
    json_decref(all);
    return bad;
}

void saved_state_restore(const char *dir)
{
    struct text t = {0}, path = {0};

    thread_must_be(ROLE_CONTROL);
    if (!dir)
        return;
    path_in(dir, &path);
    int r = file_read(path.s, &t);
    r = r || t.n <= BYTES_MAX + END_LENGTH ? r : -EFBIG;
    const char *bad = r == -ENOENT ? NULL : r ? strerror(-r) : saved_state_take(&t);
    if (bad)
        log_warning("saved state: refused, counters begin at 0: file=%s why=\"%s\"",
                    LOG_VALUE(path.s), bad);
    else if (!r)
        log_info("saved state: restored: file=%s bytes=%zu", LOG_VALUE(path.s), t.n);
    if (r != -ENOENT && unlink(path.s))
        log_warning("saved state: cannot be removed: file=%s why=\"%s\"", LOG_VALUE(path.s),
                    strerror(errno));
    text_free(&t);
    text_free(&path);
}

// --- for features --------------------------------------------------------------------------------

bool saved_number(const json_t *object, const char *key, uint64_t *v)
{
    const json_t *j = json_object_get(object, key);

    *v = json_is_integer(j) ? (uint64_t)json_integer_value(j) : 0;
    return json_is_integer(j) && json_integer_value(j) >= 0;
}

bool saved_numbers(const json_t *object, const char *const *key, unsigned n, uint64_t *v)
{
    bool all = true;

    for (unsigned i = 0; i < n; i++)
        all &= saved_number(object, key[i], &v[i]);
    return all;
}

json_t *saved_object(const char *const *key, unsigned n, const uint64_t *v)
{
    json_t *o = json_object();

    for (unsigned i = 0; i < n; i++)
        json_object_set_new(o, key[i], json_integer((json_int_t)(v[i] & INT64_MAX)));
    return o;
}
