// SPDX-License-Identifier: BSD-3-Clause
// log.c - the log line: level, time, rate limit per call site
//
// A call site counts its lines per second in its static struct log_site, so that one noisy site
// cannot hide the others. Control characters and invalid UTF-8 are replaced, so an event is always
// one line. The last lines are also kept in a ring for the crash note. Sites are atomic counters,
// and the ring may mix lines, so any thread may log without a lock.
#include "base/log.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/plain.h"

#define LINE_MAX_BYTES 1024

static _Atomic int level_now = LOG_LEVEL_INFO;
static log_sink_fn *sink_now;
static char recent[LOG_RECENT][LOG_RECENT_BYTES];
static _Atomic uint32_t n_recent;

void log_set_level(enum log_level level)
{
    atomic_store(&level_now, level);
}

enum log_level log_get_level(void)
{
    return (enum log_level)atomic_load(&level_now);
}

// May the site print now? *suppressed: number of lines suppressed before.
static bool site_admit(struct log_site *site, uint32_t *suppressed)
{
    uint64_t second = clock_now_ns() / NS_PER_SECOND + 1;
    uint64_t seen = atomic_load_explicit(&site->second, memory_order_relaxed);

    if (seen != second &&
        atomic_compare_exchange_strong_explicit(&site->second, &seen, second, memory_order_relaxed,
                                                memory_order_relaxed))
        atomic_store_explicit(&site->n, 0, memory_order_relaxed);
    if (atomic_fetch_add_explicit(&site->n, 1, memory_order_relaxed) >= LOG_SITE_PER_S) {
        atomic_fetch_add_explicit(&site->suppressed, 1, memory_order_relaxed);
        return false;
    }
    *suppressed = atomic_exchange_explicit(&site->suppressed, 0, memory_order_relaxed);
    return true;
}

static void write_stderr(enum log_level level, const char *text)
{
    static const char *const names[] = {"", "", "", "error", "warning", "notice", "info", "debug"};
    char line[LINE_MAX_BYTES + 64];
    struct timespec t;
    struct tm tm;
    int n;

    if (getenv("JOURNAL_STREAM")) {
        n = snprintf(line, sizeof line, "<%d>%s\n", level, text);
    } else {
        clock_gettime(CLOCK_REALTIME, &t);
        localtime_r(&t.tv_sec, &tm);
        n = snprintf(line, sizeof line, "%02d:%02d:%02d.%03ld %s %s\n", tm.tm_hour, tm.tm_min,
                     tm.tm_sec, t.tv_nsec / 1000000, names[level], text);
    }
    if (write(STDERR_FILENO, line, (size_t)n) < 0)
        return; // nowhere left to report it
}

const char *log_value(const char *s, char buf[LOG_VALUE_MAX])
{
    size_t n = 0;

    if (*s && !s[strcspn(s, "\"= \t\r\n")])
        buf[n++] = '\0'; // no quotes
    else
        buf[n++] = '"';
    for (; *s && n < LOG_VALUE_MAX - 2; s++)
        buf[n++] = *s == '"' ? '\'' : (unsigned char)*s < ' ' || *s == 0x7f ? ' ' : *s;
    if (buf[0])
        buf[n++] = '"';
    buf[n] = '\0';
    return buf[0] ? buf : buf + 1;
}

static void keep_recent(const char *text)
{
    uint32_t i = atomic_fetch_add_explicit(&n_recent, 1, memory_order_relaxed) % LOG_RECENT;
    size_t n = strnlen(text, LOG_RECENT_BYTES - 1);

    memcpy(recent[i], text, n);
    recent[i][n] = '\0';
}

const char *log_recent(unsigned i)
{
    return recent[(atomic_load_explicit(&n_recent, memory_order_relaxed) + i) % LOG_RECENT];
}

void log_set_sink(log_sink_fn *sink)
{
    sink_now = sink;
}

// An event is one line, and the journal treats a line that is not UTF-8 as binary.
static void make_plain(char *s, char *end)
{
    while (s < end) {
        size_t n = plain_letter(s, end);
        if (!n)
            *s = (unsigned char)*s < ' ' || *s == 0x7f ? ' ' : '?';
        s += n ? n : 1;
    }
}

void log_line(struct log_site *site, enum log_level level, const char *fmt, ...)
{
    char text[LINE_MAX_BYTES];
    uint32_t suppressed;
    va_list ap;

    if ((int)level > atomic_load_explicit(&level_now, memory_order_relaxed) ||
        !site_admit(site, &suppressed))
        return;
    va_start(ap, fmt);
    int n = vsnprintf(text, sizeof text - 32, fmt, ap);
    va_end(ap);
    n = n < 0 ? 0 : n < (int)sizeof text - 32 ? n : (int)sizeof text - 33;
    text[n] = '\0';
    make_plain(text, text + n);
    if (suppressed)
        snprintf(text + n, sizeof text - (size_t)n, " suppressed=%u", suppressed);
    keep_recent(text);
    if (!sink_now || !sink_now(level, text))
        write_stderr(level, text);
}

_Noreturn void log_bug(const char *file, int line, const char *cond)
{
    fprintf(stderr, "bug: %s:%d: %s\n", file, line, cond);
    abort();
}
