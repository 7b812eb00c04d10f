// SPDX-License-Identifier: BSD-3-Clause
// crash.c - reports crash notes of earlier processes at the start, and shows them
//
//     crash-TIME-PID.untold    written by core/crash.c
//     crash-TIME-PID.note      reported in the log; the newest NOTES_MAX are kept
//
// An incomplete note is reported but not shown. The wall clock gives the age of a note only at the
// start: an unreported note, and a note with a future time, have age 0. After that the monotonic
// clock counts.
#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "alarm/alarm.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/log.h"
#include "base/vec.h"
#include "config/revision.h"
#include "mgmt/feature.h"
#include "restconf/state.h"

#define NOTES_MAX 8
#define DAY_NS (86400 * NS_PER_SECOND)
#define NOTE_BYTES_MAX (1u << 20)
#define HEAD "# kamuee crash note 1\n"
#define END "# end\n"

struct note {
    uint64_t time_s, pid; // from the file name; time_s by the wall clock
    uint64_t age_ns;      // at the start
    char *path, *text;
};

static VEC(struct note) notes; // newest first
static uint64_t start_ns;      // monotonic time of reading them

// "stage ip4_fwd" -> "ip4_fwd", from the lines before the first backtrace; "" if there is none.
static const char *note_value(const struct note *n, const char *key, char buf[128])
{
    size_t length = strlen(key);
    const char *end = strstr(n->text, "\nbacktrace "), *at = n->text;

    *buf = '\0';
    for (; at && (!end || at < end); at = strchr(at, '\n') ? strchr(at, '\n') + 1 : NULL)
        if (!strncmp(at, key, length) && at[length] == ' ') {
            at += length + 1;
            snprintf(buf, 128, "%.*s", (int)strcspn(at, "\n"), at);
            break;
        }
    return buf;
}

static bool is_whole(const struct text *t)
{
    size_t end = sizeof END - 1;

    return t->n > sizeof HEAD + end && t->n <= NOTE_BYTES_MAX &&
           !memcmp(t->s, HEAD, sizeof HEAD - 1) && !memcmp(t->s + t->n - end, END, end) &&
           !memchr(t->s, '\0', t->n);
}

static int read_note(const char *path, struct text *t)
{
    int r = file_read(path, t);

    return r ? r : is_whole(t) ? 0 : -EBADMSG;
}

static void tell_of_note(const struct note *n)
{
    char signal[128], thread[128], stage[128], version[128], id[128];

    log_error("crash: kamueed crashed; please report it with the archive of 'kamuee show "
              "tech-support': signal=%s thread=%s stage=%s version=%s build-id=%s note=%s",
              LOG_VALUE(note_value(n, "signal", signal)),
              LOG_VALUE(note_value(n, "thread", thread)), LOG_VALUE(note_value(n, "stage", stage)),
              LOG_VALUE(note_value(n, "version", version)),
              LOG_VALUE(note_value(n, "build-id", id)), LOG_VALUE(n->path));
}

static void note_free(struct note *n)
{
    free(n->path);
    free(n->text);
}

static char *join_path(const char *dir, const char *name, size_t length, const char *end)
{
    struct text t = {0};

    text_printf(&t, "%s/%.*s%s", dir, (int)length, name, end);
    return t.s;
}

static void take_note(const char *dir, const char *name)
{
    struct note n = {0};
    struct text t = {0};
    int stem = 0, r;

    if (sscanf(name, "crash-%" SCNu64 "-%" SCNu64 "%n", &n.time_s, &n.pid, &stem) != 2)
        return;
    bool untold = !strcmp(name + stem, ".untold");
    if ((!untold && strcmp(name + stem, ".note")) || n.time_s > UINT32_MAX || n.pid > INT32_MAX)
        return;
    char *found = join_path(dir, name, (size_t)stem, untold ? ".untold" : ".note");
    n.path = join_path(dir, name, (size_t)stem, ".note");
    r = read_note(found, &t);
    if (r) {
        log_warning("crash: incomplete note removed: file=%s", LOG_VALUE(found));
        unlink(found);
        note_free(&n);
        text_free(&t);
    } else {
        uint64_t wall_s = clock_wall_ns() / NS_PER_SECOND;
        n.text = t.s;
        n.age_ns = untold || n.time_s > wall_s ? 0 : (wall_s - n.time_s) * NS_PER_SECOND;
        if (untold && !rename(found, n.path))
            tell_of_note(&n);
        *vec_push(&notes) = n;
    }
    free(found);
}

static int newest_first(const void *a, const void *b)
{
    const struct note *x = a, *y = b;

    return x->time_s < y->time_s ? 1 : x->time_s > y->time_s ? -1 : 0;
}

static void start_crash(struct event_base *loop)
{
    const char *dir = revision_dir();
    DIR *d = dir ? opendir(dir) : NULL;
    struct dirent *entry;

    start_ns = clock_now_ns();
    while (d && (entry = readdir(d)))
        take_note(dir, entry->d_name);
    if (d)
        closedir(d);
    if (notes.n)
        qsort(notes.item, notes.n, sizeof *notes.item, newest_first);
    while (notes.n > NOTES_MAX) {
        struct note *oldest = &notes.item[--notes.n];
        unlink(oldest->path);
        note_free(oldest);
    }
}

static void stop_crash(void)
{
    vec_foreach (&notes, n)
        note_free(n);
    vec_free(&notes);
}

static void observe_crashes(void)
{
    uint64_t now_ns = clock_now_ns();
    unsigned n = 0;

    vec_foreach (&notes, note)
        n += now_ns - start_ns + note->age_ns < DAY_NS;
    alarm_observe(ALARM_CRASH, "", n);
}

// --- state ---------------------------------------------------------------------------------------

static void write_note(struct jwrite *j, const struct note *n)
{
    static const char *const key[] = {"version", "build-id", "signal", "thread", "stage"};
    char value[128];

    jwrite_begin(j, NULL, '{');
    jwrite_time(j, "time", n->time_s * NS_PER_SECOND);
    jwrite_int(j, "pid", (int64_t)n->pid);
    for (unsigned i = 0; i < sizeof key / sizeof *key; i++)
        jwrite_string_any(j, key[i], note_value(n, key[i], value));
    jwrite_u64(j, "revision", strtoull(note_value(n, "revision", value), NULL, 10));
    jwrite_string(j, "file", n->path);
    jwrite_string(j, "note", n->text);
    jwrite_end(j, '}');
}

static void list_crashes(struct show *s)
{
    vec_foreach (&notes, n)
        write_note(&s->out, n);
}

const struct feature crash_feature = {
    "crash",
    .state = (const struct feature_state[]){{"crash", .list = list_crashes}, {0}},
    .observe = observe_crashes,
    .start = start_crash,
    .stop = stop_crash,
};
