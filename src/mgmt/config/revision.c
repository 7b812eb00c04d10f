// SPDX-License-Identifier: BSD-3-Clause
// revision.c - committed configurations, kept on disk
//
//     # kamuee revision 118          header, a line each, in this order
//     # time 1795341600123456789
//     # by alice
//     # changes 2
//     # file 3f09a6c2d81e5b77
//     # comment the new uplink
//     # first set port p0 mtu 9000  may be missing
//     set port p0 …
//     # end 9a31c04be2750f66         of everything above
#include "config/revision.h"

#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/file.h"
#include "base/hash.h"
#include "base/log.h"
#include "base/vec.h"
#include "core/crash.h"
#include "core/thread.h"

#define END "# end "
#define FIRST "# first "
#define END_LENGTH (sizeof END - 1 + 16 + 1)

static struct {
    char *dir;
    uint64_t last_id;
    VEC(struct revision) item; // oldest first
} store;

const char *revision_path(const struct revision *r, char path[REVISION_PATH_MAX])
{
    snprintf(path, REVISION_PATH_MAX, "%s/revision-%" PRIu64 ".%s", store.dir, r->id,
             r->confirmed ? "conf" : "unconfirmed");
    return path;
}

// --- one file -----------------------------------------------------------------------------------

static void write_header(const struct revision *r, struct text *t)
{
    text_printf(t,
                "# kamuee revision %" PRIu64 "\n# time %" PRIu64
                "\n# by %s\n# changes %u\n# file %016" PRIx64 "\n# comment %s\n",
                r->id, r->time_ns, r->by, r->n_changes, r->file_digest, r->comment);
    if (*r->first_change) // after the comment, where an earlier kamueed reads it as another comment
        text_printf(t, FIRST "%s\n", r->first_change);
}

static uint64_t digest(const char *s, size_t n)
{
    return hash_bytes(s, n, 1);
}

// Does the text end with its own checksum?
static bool is_whole(const struct text *t)
{
    char want[END_LENGTH + 1];
    size_t n = t->n > END_LENGTH ? t->n - END_LENGTH : 0;

    snprintf(want, sizeof want, END "%016" PRIx64 "\n", digest(text_str(t), n));
    return n && !memcmp(t->s + n, want, END_LENGTH);
}

static bool read_header(const char *s, struct revision *r)
{
    int by = 0, comment = 0;

    if (sscanf(s,
               "# kamuee revision %" SCNu64 "\n# time %" SCNu64
               "\n# by %n%*[^\n]\n# changes %u\n# file %" SCNx64 "\n# comment%n",
               &r->id, &r->time_ns, &by, &r->n_changes, &r->file_digest, &comment) != 4 ||
        !comment)
        return false;
    snprintf(r->by, sizeof r->by, "%.*s", (int)strcspn(s + by, "\n"), s + by);
    comment += s[comment] == ' ';
    snprintf(r->comment, sizeof r->comment, "%.*s", (int)strcspn(s + comment, "\n"), s + comment);
    s += comment + strcspn(s + comment, "\n");
    s += *s == '\n';
    r->first_change[0] = 0;
    if (!strncmp(s, FIRST, sizeof FIRST - 1)) {
        s += sizeof FIRST - 1;
        snprintf(r->first_change, sizeof r->first_change, "%.*s", (int)strcspn(s, "\n"), s);
    }
    return true;
}

// 0, -errno, or -EBADMSG for a damaged one.
static int read_file(const char *path, struct text *t, struct revision *r)
{
    int e = file_read(path, t);

    return e ? e : is_whole(t) && read_header(text_str(t), r) ? 0 : -EBADMSG;
}

int revision_read(const struct revision *r, struct text *t, char *err, size_t err_size)
{
    char path[REVISION_PATH_MAX];
    struct revision same;
    int e = read_file(revision_path(r, path), t, &same);

    if (e)
        snprintf(err, err_size, "%s: %s", path,
                 e == -EBADMSG ? "damaged: wrong checksum; use another revision" : strerror(-e));
    return e;
}

const char *revision_config(const struct text *t)
{
    const char *comment = strstr(text_str(t), "\n# comment"),
               *at = comment ? strchr(comment + 1, '\n') : NULL;

    if (at && !strncmp(at + 1, FIRST, sizeof FIRST - 1))
        at = strchr(at + 1, '\n');
    return at ? at + 1 : NULL;
}

// --- the directory ------------------------------------------------------------------------------

static int by_id(const void *a, const void *b)
{
    uint64_t x = ((const struct revision *)a)->id, y = ((const struct revision *)b)->id;

    return x < y ? -1 : x > y;
}

static const char *why_aside(int e)
{
    return e == -EINVAL  ? "not a regular file"
           : e == -ERANGE ? "not a revision number; remove it"
           : e && e != -EBADMSG ? strerror(-e) : "damaged: truncated, or wrong checksum";
}

#define ID_MAX 1000000000000000000u // a commit per nanosecond for thirty years: never a real number

static void look_at(const char *name)
{
    struct revision r = {0};
    struct text t = {0}, path = {0};
    uint64_t id;
    int end = 0;

    if (sscanf(name, "revision-%" SCNu64 ".%n", &id, &end) != 1 || !end)
        return;
    text_printf(&path, "%s/%s", store.dir, name);
    r.confirmed = !strcmp(name + end, "conf");
    if (!strcmp(name + end, "conf.new") || !strcmp(name + end, "unconfirmed.new")) {
        unlink(path.s); // of an unfinished commit
    } else if (r.confirmed || !strcmp(name + end, "unconfirmed")) {
        int e = id > ID_MAX ? -ERANGE : read_file(path.s, &t, &r);

        if (id <= ID_MAX && id > store.last_id)
            store.last_id = id;
        if (!e && r.id == id)
            *vec_push(&store.item) = r;
        else
            log_warning("revision: ignored: file=%s why=\"%s\"", LOG_VALUE(path.s), why_aside(e));
    }
    text_free(&path);
    text_free(&t);
}

// Opens the directory; makes it and missing parents, as at the first start in a private run
// directory.
static DIR *open_or_make(const char *dir)
{
    struct text above = {0};

    for (const char *slash = dir; (slash = strchr(slash + 1, '/'));) {
        text_clear(&above);
        text_printf(&above, "%.*s", (int)(slash - dir), dir);
        mkdir(above.s, 0755); // exists already, or opendir reports the error
    }
    text_free(&above);
    mkdir(dir, 0750);
    return opendir(dir);
}

void revision_open(const char *dir)
{
    struct dirent *entry;

    thread_must_be(ROLE_CONTROL);
    revision_close();
    if (!dir)
        return;
    store.dir = strdup(dir);
    bug_on(!store.dir);
    DIR *d = open_or_make(dir);
    if (!d) {
        log_error("revision: cannot use the state directory, so nothing can be committed: dir=%s "
                  "error=\"%s\"",
                  dir, strerror(errno));
        return;
    }
    while ((entry = readdir(d)))
        look_at(entry->d_name);
    closedir(d);
    if (store.item.n)
        qsort(store.item.item, store.item.n, sizeof *store.item.item, by_id);
    if (revision_confirmed())
        crash_set_revision(revision_confirmed()->id);
}

void revision_close(void)
{
    vec_free(&store.item);
    free(store.dir);
    memset(&store, 0, sizeof store);
}

const char *revision_dir(void)
{
    return store.dir;
}

const struct revision *revision_at(unsigned i)
{
    return i < store.item.n ? &store.item.item[store.item.n - 1 - i] : NULL;
}

const struct revision *revision_confirmed(void)
{
    for (size_t i = store.item.n; i--;)
        if (store.item.item[i].confirmed)
            return &store.item.item[i];
    return NULL;
}

// --- a new one ----------------------------------------------------------------------------------

static const char *remedy(int e)
{
    switch (-e) {
    case ENOSPC:
    case EDQUOT:
        return "free disk space, then try again";
    case EROFS:
        return "make the file system writable (disk errors turn it read-only: see dmesg), then try "
               "again";
    default:
        return "check the state directory";
    }
}

static int cannot(const char *path, int e, char *err, size_t err_size)
{
    snprintf(err, err_size, "cannot store the revision: %s: %s; %s", path, strerror(-e), remedy(e));
    return e;
}

static void one_line(char *s)
{
    for (; *s; s++)
        if ((unsigned char)*s < ' ')
            *s = ' ';
}

int revision_prepare(struct revision *r, const struct text *config, char *err, size_t err_size)
{
    char path[REVISION_PATH_MAX];
    struct text t = {0};

    if (!store.dir)
        return 0;
    r->id = ++store.last_id;
    r->time_ns = clock_wall_ns();
    one_line(r->by);
    one_line(r->comment);
    one_line(r->first_change);
    write_header(r, &t);
    text_append(&t, text_str(config), config->n);
    text_printf(&t, END "%016" PRIx64 "\n", digest(t.s, t.n));
    int e = file_prepare(revision_path(r, path), &t);
    if (e)
        cannot(path, e, err, err_size);
    text_free(&t);
    return e;
}

// Removes the oldest revision, except the one needed for a restart.
static void forget_oldest(void)
{
    size_t i = &store.item.item[0] == revision_confirmed();
    char path[REVISION_PATH_MAX];

    unlink(revision_path(&store.item.item[i], path));
    memmove(&store.item.item[i], &store.item.item[i + 1],
            (--store.item.n - i) * sizeof *store.item.item);
}

int revision_keep(const struct revision *r, char *err, size_t err_size)
{
    char path[REVISION_PATH_MAX];

    if (!store.dir)
        return 0;
    int e = file_keep(revision_path(r, path));
    if (e)
        return cannot(path, e, err, err_size);
    *vec_push(&store.item) = *r;
    crash_set_revision(r->id);
    while (store.item.n > REVISIONS_MAX)
        forget_oldest();
    return 0;
}

void revision_drop(const struct revision *r)
{
    char path[REVISION_PATH_MAX];

    if (store.dir)
        file_drop(revision_path(r, path));
}

int revision_confirm(uint64_t id, char *err, size_t err_size)
{
    if (!store.dir)
        return 0;
    char from[REVISION_PATH_MAX], to[REVISION_PATH_MAX];
    revision_path(&(struct revision){.id = id}, from);
    revision_path(&(struct revision){.id = id, .confirmed = true}, to);
    int e = rename(from, to) ? -errno : 0;

    if (e)
        snprintf(err, err_size, "cannot store the confirmation: %s: %s; %s", from, strerror(-e),
                 remedy(e));
    else
        file_sync_directory(to);
    for (size_t i = store.item.n; !e && i--;)
        if (store.item.item[i].id == id)
            store.item.item[i].confirmed = true;
    return e;
}
