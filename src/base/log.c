// SPDX-License-Identifier: BSD-3-Clause
// log.c - the log line: level, time, rate limit per call site
#include "base/log.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"

static _Atomic int level_now = LOG_LEVEL_INFO;

void log_set_level(enum log_level level)
{
    atomic_store(&level_now, level);
}

enum log_level log_get_level(void)
{
    return (enum log_level)atomic_load(&level_now);
}

// True when the site may print now; *suppressed is what it held back before.
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

static int head_format(char *buf, size_t size, enum log_level level)
{
    static const char *const names[] = {"", "", "", "error", "warning", "notice", "info", "debug"};

    if (getenv("JOURNAL_STREAM"))
        return snprintf(buf, size, "<%d>", level);
    struct timespec t;
    struct tm tm;
    clock_gettime(CLOCK_REALTIME, &t);
    localtime_r(&t.tv_sec, &tm);
    return snprintf(buf, size, "%02d:%02d:%02d.%03ld %s ", tm.tm_hour, tm.tm_min, tm.tm_sec,
                    t.tv_nsec / 1000000, names[level]);
}

void log_line(struct log_site *site, enum log_level level, const char *fmt, ...)
{
    char line[1024];
    uint32_t suppressed;
    va_list ap;

    if ((int)level > atomic_load_explicit(&level_now, memory_order_relaxed) ||
        !site_admit(site, &suppressed))
        return;
    size_t n = (size_t)head_format(line, sizeof line, level);
    va_start(ap, fmt);
    int k = vsnprintf(line + n, sizeof line - n - 32, fmt, ap);
    va_end(ap);
    if (k > 0)
        n += (size_t)k < sizeof line - n - 32 ? (size_t)k : sizeof line - n - 33;
    if (suppressed)
        n += (size_t)snprintf(line + n, sizeof line - n - 1, " suppressed=%u", suppressed);
    line[n++] = '\n';
    if (write(STDERR_FILENO, line, n) < 0)
        return; // nowhere left to say it
}

_Noreturn void log_bug(const char *file, int line, const char *cond)
{
    fprintf(stderr, "bug: %s:%d: %s\n", file, line, cond);
    abort();
}
