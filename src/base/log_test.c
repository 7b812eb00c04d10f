// SPDX-License-Identifier: BSD-3-Clause
// log_test.c - log lines in fields, message ids, and where lines go
#include "base/log.h"
#include "base/log_field.h"
#include "base/progress.h"
#include "tests/unit.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>
#include <stdlib.h>
#include <unistd.h>

static void assert_piece(const struct log_piece *p, const char *wanted)
{
    assert_int_equal(p->n, strlen(wanted));
    assert_memory_equal(p->s, wanted, p->n);
}

unit_test(a_line_is_read_as_module_what_and_pairs)
{
    struct log_fields f;

    log_fields_read(
        "config: changed: by=uid lines=3 rx-offloads=0x1 comment=\"a \"b\" = c\" confirm=0", &f);
    assert_piece(&f.module, "config");
    assert_piece(&f.what, "changed");
    assert_int_equal(f.n, 5);
    assert_piece(&f.key[0], "by");
    assert_piece(&f.value[0], "uid");
    assert_piece(&f.key[2], "rx-offloads");
    assert_piece(&f.value[3], "a \"b\" = c");
    assert_piece(&f.value[4], "0");
    assert_non_null(f.id);
}

unit_test(what_others_wrote_is_one_value)
{
    static const char *const row[][2] = {{"alice", "alice"},
                                         {"uid 0", "\"uid 0\""},
                                         {"", "\"\""},
                                         {"a\nb\x01", "\"a b \""},
                                         {"x\" by=\"root", "\"x' by='root\""},
                                         {"a=b", "\"a=b\""},
                                         {"tab\there", "\"tab here\""}};
    char longer[2 * LOG_VALUE_MAX], line[3 * LOG_VALUE_MAX];
    struct log_fields f;

    for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
        assert_string_equal(LOG_VALUE(row[i][0]), row[i][1]);
        snprintf(line, sizeof line, "m: w: a=%s by=uid", LOG_VALUE(row[i][0]));
        log_fields_read(line, &f);
        assert_int_equal(f.n, 2);
        assert_piece(&f.value[1], "uid");
    }
    memset(longer, ' ', sizeof longer - 1);
    longer[sizeof longer - 1] = '\0';
    assert_int_equal(strlen(LOG_VALUE(longer)), LOG_VALUE_MAX - 1);
    memset(longer, 'x', sizeof longer - 1);
    assert_int_equal(strlen(LOG_VALUE(longer)), LOG_VALUE_MAX - 3);
}

unit_test(odd_lines_are_read_as_far_as_they_go)
{
    struct log_fields f;

    log_fields_read("rib: audit: FIB differed from the kernel, repaired: vr=0 fib_divergence=2",
                    &f);
    assert_piece(&f.what, "audit: FIB differed from the kernel, repaired");
    assert_int_equal(f.n, 2);
    assert_non_null(f.id);
    log_fields_read("iface_manager: interface=p0 admin=up", &f);
    assert_piece(&f.what, "");
    assert_int_equal(f.n, 2);
    assert_null(f.id);
    log_fields_read("main: configuration reloaded", &f);
    assert_piece(&f.what, "configuration reloaded");
    assert_true(f.n == 0 && f.id);
    log_fields_read("neigh: full: entries=1: give it room: sysctl -w net.x=2", &f);
    assert_piece(&f.value[0], "1:");
    log_fields_read("no colon", &f);
    assert_true(f.module.n == 0 && f.n == 0 && !f.id);
    log_fields_read("x: y: open=\"never closed", &f);
    assert_piece(&f.value[0], "never closed");
    log_fields_read("", &f);
    assert_true(f.module.n == 0 && f.what.n == 0 && f.n == 0);
}

unit_test(there_are_so_many_pairs_and_no_more)
{
    char line[400] = "m: w:";
    struct log_fields f;

    for (unsigned i = 0; i < LOG_FIELDS_MAX + 10; i++)
        strcat(line, " a=1");
    log_fields_read(line, &f);
    assert_int_equal(f.n, LOG_FIELDS_MAX);
}

unit_test(message_ids_are_128_bits_and_each_is_one_line_s)
{
    for (unsigned i = 0; i < log_ids_n; i++) {
        assert_int_equal(strlen(log_ids[i].id), 32);
        for (unsigned k = 0; k < 32; k++)
            assert_true(isdigit((unsigned char)log_ids[i].id[k]) ||
                        (log_ids[i].id[k] >= 'a' && log_ids[i].id[k] <= 'f'));
        for (unsigned k = 0; k < i; k++) {
            assert_string_not_equal(log_ids[i].id, log_ids[k].id);
            assert_string_not_equal(log_ids[i].text, log_ids[k].text);
        }
        struct log_fields f;
        log_fields_read(log_ids[i].text, &f); // and is found again
        assert_ptr_equal(f.id, log_ids[i].id);
    }
}

static char seen[1100];
static enum log_level seen_level;
static bool sink_takes;

static bool sink(enum log_level level, const char *text)
{
    seen_level = level;
    strcpy(seen, text);
    return sink_takes;
}

// Collects stderr while fn runs.
static void stderr_of(void (*fn)(void), char *buf, size_t n)
{
    int p[2], keep = dup(STDERR_FILENO);

    assert_int_equal(pipe(p), 0);
    dup2(p[1], STDERR_FILENO);
    fn();
    dup2(keep, STDERR_FILENO);
    close(p[1]);
    close(keep);
    ssize_t got = read(p[0], buf, n - 1);
    buf[got > 0 ? got : 0] = '\0';
    close(p[0]);
}

static void say(void)
{
    log_warning("test: said: n=%d", 7);
}

unit_test(lines_go_to_the_sink_or_where_they_went_before)
{
    char buf[200];

    unsetenv("JOURNAL_STREAM");
    log_set_sink(sink);
    sink_takes = true;
    stderr_of(say, buf, sizeof buf);
    assert_string_equal(buf, "");
    assert_string_equal(seen, "test: said: n=7");
    assert_int_equal(seen_level, LOG_LEVEL_WARNING);
    sink_takes = false;
    stderr_of(say, buf, sizeof buf);
    assert_string_equal(buf + strlen("12:34:56.789 "), "warning test: said: n=7\n");
    log_set_sink(NULL);
    stderr_of(say, buf, sizeof buf);
    assert_string_equal(buf + strlen("12:34:56.789 "), "warning test: said: n=7\n");
    setenv("JOURNAL_STREAM", "1:2", 1);
    stderr_of(say, buf, sizeof buf);
    assert_string_equal(buf, "<4>test: said: n=7\n");
    unsetenv("JOURNAL_STREAM");
}

static char worked[4][600];
static unsigned n_worked;

static void hear(const char *text)
{
    snprintf(worked[n_worked++ % 4], sizeof worked[0], "%s", text);
}

static bool nowhere(enum log_level level, const char *text)
{
    return true;
}

unit_test(work_is_told_when_it_looks_long_and_when_it_was)
{
    struct progress w;

    log_set_sink(nowhere);
    progress_set_status(hear);
    progress_begin(&w, PROGRESS_LONG_NS - 1, "m: doing: n=%d", 1);
    progress_end(&w, "m: done: n=%d", 1);
    assert_int_equal(n_worked, 0);
    progress_begin(&w, PROGRESS_LONG_NS, "m: doing: n=%d", 2);
    assert_string_equal(worked[0], "m: doing: n=2");
    progress_end(&w, "m: done: n=%d", 2);
    assert_int_equal(n_worked, 2);
    assert_int_equal(strncmp(worked[1], "m: done: n=2 ms=", 16), 0);
    progress_begin(&w, 0, "m: doing");
    w.since_ns -= 2 * PROGRESS_LONG_NS;
    progress_end(&w, "m: done: n=%d", 3);
    assert_int_equal(n_worked, 3);
    assert_int_equal(strncmp(worked[2], "m: done: n=3 ms=20", 18), 0);
    progress_set_status(NULL);
    log_set_sink(NULL);
}

static unsigned n_stations;

static void hear_station(void)
{
    n_stations++;
}

unit_test(a_station_counts_once_and_within_the_work)
{
    struct progress w = {0};

    progress_set_listener(hear_station);
    progress_at(&w, 1, 3);
    assert_int_equal(n_stations, 1);
    progress_at(&w, 2, 3); // within the same second
    assert_int_equal(n_stations, 1);
    assert_int_equal(w.station, 2);
    progress_set_listener(NULL);
    for (unsigned i = 0; i < 3; i++) // a loop that does not advance, or beyond its end
        progress_at(&w, i, 3), progress_at(&w, 3 + i, 2);
    assert_int_equal(w.station, 2);
}
