// SPDX-License-Identifier: BSD-3-Clause
// declared.c - reads a program's declarations (declared.h)
//
// The text is copied first, because it is divided in place: into clauses at ';', then into words at
// blanks. Each clause has a function that checks number, form and range of its words. The first
// error ends the reading with a sentence that names the word and the remedy.
#include "program/declared.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define WORDS_MAX 5

struct clause {
    char text[DECLARED_TEXT_MAX + 1];
    char *word[WORDS_MAX];
    unsigned n;
};

struct reading {
    struct program_declared *d;
    char *why;
    size_t why_size;
};

static int refuse(struct reading *r, const char *what, const char *word, const char *remedy)
{
    snprintf(r->why, r->why_size, "declared: %s '%.40s': %s", what, word, remedy);
    return -EINVAL;
}

static bool name_is_plain(const char *s)
{
    size_t n = strspn(s, "abcdefghijklmnopqrstuvwxyz0123456789-_");

    return *s >= 'a' && *s <= 'z' && !s[n] && n < DECLARED_NAME_MAX;
}

static int read_number(const char *s, uint32_t max, uint32_t *value)
{
    char *end = NULL;

    if (*s < '0' || *s > '9' || strlen(s) > 9)
        return -EINVAL;
    *value = (uint32_t)strtoul(s, &end, 10);
    return *end || *value > max ? -EINVAL : 0;
}

static int read_window(struct reading *r, const struct clause *w)
{
    uint32_t v = 0;

    if (w->n != 2 || read_number(w->word[1], KAMUEE_WINDOW, &v) || v % 64)
        return refuse(r, "window", w->n > 1 ? w->word[1] : "", "0, 64 or 128");
    r->d->window = v;
    return 0;
}

// Appends a name to the n entries at `names`, of `size` bytes each, which begin with their name.
static int read_name(struct reading *r, const struct clause *w, void *names, size_t size,
                     unsigned n, unsigned max)
{
    const char *name = w->word[w->n > 1 ? 1 : 0];

    if (w->n != 2 || !name_is_plain(name))
        return refuse(r, w->word[0], w->n > 1 ? name : "",
                      "one name of a-z, 0-9, - and _, at most 31, a letter first");
    if (n == max)
        return refuse(r, w->word[0], name, "one more than a program may have");
    for (unsigned i = 0; i < n; i++)
        if (!strcmp((const char *)names + i * size, name))
            return refuse(r, w->word[0], name, "declared twice");
    snprintf((char *)names + n * size, DECLARED_NAME_MAX, "%s", name);
    return 0;
}

// table hash|array NAME ENTRIES [read-only]
static int read_table(struct reading *r, struct clause *w)
{
    struct program_declared *d = r->d;
    struct declared_table *t = &d->table[d->n_tables < KAMUEE_TABLES ? d->n_tables : 0];
    struct clause name = {.word = {w->word[0], w->n > 2 ? w->word[2] : NULL},
                          .n = w->n > 2 ? 2 : 1};
    bool array = w->n > 1 && !strcmp(w->word[1], "array");
    uint32_t entries = 0;

    if (w->n < 4 || (!array && strcmp(w->word[1], "hash")) ||
        (w->n == 5 && strcmp(w->word[4], "read-only")))
        return refuse(r, "table", w->n > 1 ? w->word[1] : "",
                      "table hash|array NAME ENTRIES [read-only]");
    if (read_number(w->word[3], DECLARED_ENTRIES_MAX, &entries) || !entries)
        return refuse(r, "entries of a table", w->word[3], "1 to 1000000");
    int e = read_name(r, &name, d->table, sizeof *d->table, d->n_tables, KAMUEE_TABLES);
    if (e)
        return e;
    t->entries = entries;
    t->array = array;
    t->read_only = w->n == 5;
    d->n_tables++;
    return 0;
}

static int read_clause(struct reading *r, struct clause *w)
{
    struct program_declared *d = r->d;
    int e = 0;

    if (!strcmp(w->word[0], "window"))
        return read_window(r, w);
    if (!strcmp(w->word[0], "hash") && w->n == 1) {
        d->hash = true;
        return 0;
    }
    if (!strcmp(w->word[0], "table"))
        return read_table(r, w);
    if (!strcmp(w->word[0], "counter")) {
        e = read_name(r, w, d->counter, DECLARED_NAME_MAX, d->n_counters, KAMUEE_COUNTERS);
        d->n_counters += !e;
        return e;
    }
    if (!strcmp(w->word[0], "reason")) {
        e = read_name(r, w, d->reason, DECLARED_NAME_MAX, d->n_reasons, KAMUEE_REASONS);
        d->n_reasons += !e;
        return e;
    }
    return refuse(r, "word", w->word[0], "window, hash, counter, reason or table");
}

static int split_words(struct reading *r, char *clause, struct clause *w)
{
    char *keep = NULL;

    w->n = 0;
    for (char *s = strtok_r(clause, " \t\n", &keep); s; s = strtok_r(NULL, " \t\n", &keep)) {
        if (w->n == WORDS_MAX)
            return refuse(r, "too many words after", w->word[0], "clauses are divided by ';'");
        w->word[w->n++] = s;
    }
    return 0;
}

int program_declared_read(const char *text, struct program_declared *d, char *why, size_t n)
{
    struct reading r = {.d = d, .why = why, .why_size = n};
    struct clause w = {0};
    char *keep = NULL;
    size_t len = strnlen(text, DECLARED_TEXT_MAX + 1);
    int e = 0;

    memset(d, 0, sizeof *d);
    d->window = KAMUEE_WINDOW;
    if (len > DECLARED_TEXT_MAX)
        return refuse(&r, "text", "", "at most 4096 bytes");
    memcpy(w.text, text, len + 1);
    for (char *c = strtok_r(w.text, ";", &keep); c && !e; c = strtok_r(NULL, ";", &keep)) {
        e = split_words(&r, c, &w);
        if (!e && w.n)
            e = read_clause(&r, &w);
    }
    return e;
}
