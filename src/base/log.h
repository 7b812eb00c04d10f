// SPDX-License-Identifier: BSD-3-Clause
// log.h - one line per event: "module: what: key=value"
//
// Managers log; forwarders count instead. Lines go to stderr: with a level mark of sd-daemon(3)
// ("<3>") if the journal reads them, with a time stamp otherwise. With log_set_sink, lines go to
// its function instead: main sends them to the journal as fields (base/log_field.h). Each call site
// is limited to LOG_SITE_PER_S lines a second; its next line says how many were suppressed.
#ifndef BASE_LOG_H
#define BASE_LOG_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

enum log_level {
    LOG_LEVEL_ERROR = 3,
    LOG_LEVEL_WARNING = 4,
    LOG_LEVEL_NOTICE = 5,
    LOG_LEVEL_INFO = 6,
    LOG_LEVEL_DEBUG = 7
};

#define LOG_SITE_PER_S 20

struct log_site {
    _Atomic uint64_t second; // the second being counted
    _Atomic uint32_t n;      // lines in it
    _Atomic uint32_t suppressed;
};

void log_set_level(enum log_level level); // default INFO
enum log_level log_get_level(void);
void log_line(struct log_site *site, enum log_level level, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));

// Receives lines instead of stderr: `text` without time, level and line end. Returns false on
// failure; then the line goes to stderr.
typedef bool log_sink_fn(enum log_level level, const char *text);
void log_set_sink(log_sink_fn *sink); // NULL: stderr only; call before other threads log

#define LOG_RECENT 24
#define LOG_RECENT_BYTES 256 // a longer line is cut
// The i-th recent line, oldest first, for the crash note (core/crash.h); "" if there are fewer. Any
// thread, also in a signal handler. While threads log, it may mix parts of two lines.
const char *log_recent(unsigned i);

#define log_at(level, ...)                                                                         \
    do {                                                                                           \
        static struct log_site log_site_here;                                                      \
        log_line(&log_site_here, level, __VA_ARGS__);                                              \
    } while (0)
#define log_error(...) log_at(LOG_LEVEL_ERROR, __VA_ARGS__)
#define log_warning(...) log_at(LOG_LEVEL_WARNING, __VA_ARGS__)
#define log_notice(...) log_at(LOG_LEVEL_NOTICE, __VA_ARGS__)
#define log_info(...) log_at(LOG_LEVEL_INFO, __VA_ARGS__)
#define log_debug(...) log_at(LOG_LEVEL_DEBUG, __VA_ARGS__)

// Formats external text as the value behind "key=": unchanged, or in quotes if it is empty or
// contains blanks, quotes or '='. Quotes in it become ' and control characters become blanks, so it
// cannot forge a field or a line. Cut at LOG_VALUE_MAX - 3 bytes.
#define LOG_VALUE_MAX 256
const char *log_value(const char *s, char buf[LOG_VALUE_MAX]);
#define LOG_VALUE(s) log_value(s, (char[LOG_VALUE_MAX]){""})

// Checks an invariant of our own: prints the place and aborts. Never for outside input.
#define bug_on(cond)                                                                               \
    do {                                                                                           \
        if (__builtin_expect(!!(cond), 0))                                                         \
            log_bug(__FILE__, __LINE__, #cond);                                                    \
    } while (0)
_Noreturn void log_bug(const char *file, int line, const char *cond);

#endif
