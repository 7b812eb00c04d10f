// SPDX-License-Identifier: BSD-3-Clause
// progress.c - reports long work to the log, systemd and the watchdog (progress.h)
//
// The listeners are set by main/, so base knows neither systemd nor the watchdog. Advances are
// passed on at most once a second and thread.
#include "base/progress.h"

#include <stdarg.h>
#include <stdio.h>

#include "base/log.h"

#define LINE 512

static void (*status)(const char *text);
static void (*progress)(void);

void progress_set_status(void (*tell)(const char *text))
{
    status = tell;
}

void progress_set_listener(void (*heard)(void))
{
    progress = heard;
}

void progress_at(struct progress *w, uint64_t done, uint64_t of)
{
    static _Thread_local uint64_t heard_ns;

    if (done <= w->station || done > of)
        return;
    w->station = done;
    if (!progress || (heard_ns && clock_now_ns() - heard_ns < NS_PER_SECOND))
        return;
    heard_ns = clock_now_ns();
    progress();
}

static void report(const char *text)
{
    log_notice("%s", text);
    if (status)
        status(text);
}

void progress_begin(struct progress *w, uint64_t expected_ns, const char *fmt, ...)
{
    char text[LINE];
    va_list ap;

    *w = (struct progress){.since_ns = clock_now_ns(), .told = expected_ns >= PROGRESS_LONG_NS};
    if (!w->told)
        return;
    va_start(ap, fmt);
    vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    report(text);
}

void progress_end(struct progress *w, const char *fmt, ...)
{
    uint64_t took = clock_now_ns() - w->since_ns;
    char text[LINE];
    va_list ap;

    if (!w->told && took < PROGRESS_LONG_NS)
        return;
    va_start(ap, fmt);
    int n = vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    if (n >= 0 && (size_t)n < sizeof text)
        snprintf(text + n, sizeof text - (size_t)n, " ms=%u", (unsigned)(took / NS_PER_MS));
    report(text);
}
