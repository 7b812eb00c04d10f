// SPDX-License-Identifier: BSD-3-Clause
// log_field.c - splits a log line into fields (log_field.h)
//
// Lines are free text, so the split is careful: pairs begin at the first key behind a ": ", and a
// quote ends a value only at the end of the line or before the next pair. The text before the pairs
// selects the message id in log.def's table, by an exact match.
#include "base/log_field.h"

#include <string.h>

const struct log_id log_ids[] = {
#define LOG_ID(text, id) {text, id},
#include "base/log_id.def"
#undef LOG_ID
};
const unsigned log_ids_n = sizeof log_ids / sizeof *log_ids;

static size_t key_length(const char *s)
{
    size_t n = 0;

    if (*s < 'a' || *s > 'z')
        return 0;
    while ((s[n] >= 'a' && s[n] <= 'z') || (s[n] >= '0' && s[n] <= '9') || s[n] == '_' ||
           s[n] == '-')
        n++;
    return s[n] == '=' ? n : 0;
}

// Reads the value at s into *v, without its quotes, and returns the end of it.
static const char *read_value(const char *s, struct log_piece *v)
{
    const char *end;

    if (*s != '"') {
        *v = (struct log_piece){s, strcspn(s, " ")};
        return s + v->n;
    }
    for (end = s + 1; *end && !(*end == '"' && (!end[1] || (end[1] == ' ' && key_length(end + 2))));
         end++)
        ; // only a quote before the line's end or the next pair closes the value
    *v = (struct log_piece){s + 1, (size_t)(end - s - 1)};
    return *end ? end + 1 : end;
}

static void read_pairs(const char *s, struct log_fields *f)
{
    while (*s && f->n < LOG_FIELDS_MAX) {
        size_t n = key_length(s);
        if (n) {
            f->key[f->n] = (struct log_piece){s, n};
            s = read_value(s + n + 1, &f->value[f->n++]);
        }
        s += strcspn(s, " ");
        s += strspn(s, " ");
    }
}

static const char *find_id(const char *line, size_t n)
{
    for (unsigned i = 0; i < log_ids_n; i++)
        if (strlen(log_ids[i].text) == n && !memcmp(log_ids[i].text, line, n))
            return log_ids[i].id;
    return NULL;
}

void log_fields_read(const char *line, struct log_fields *f)
{
    const char *colon = strstr(line, ": "), *what = colon ? colon + 2 : line, *pairs = NULL;

    memset(f, 0, sizeof *f);
    f->module = (struct log_piece){line, colon ? (size_t)(colon - line) : 0};
    for (const char *at = colon; at && !pairs; at = strstr(at + 2, ": "))
        if (key_length(at + 2))
            pairs = at + 2;
    if (pairs && pairs <= what)
        f->what = (struct log_piece){what, 0};
    else
        f->what = (struct log_piece){what, pairs ? (size_t)(pairs - 2 - what) : strlen(what)};
    if (pairs)
        read_pairs(pairs, f);
    f->id = find_id(line, f->what.n ? (size_t)(f->what.s + f->what.n - line) : f->module.n);
}
