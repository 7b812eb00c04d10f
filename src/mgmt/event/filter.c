// SPDX-License-Identifier: BSD-3-Clause
// filter.c - selects the events that a client wants: names, and leaves that must have a value
//
//     filter = event { "|" event }
//     event  = "/kamuee:" NAME { "[" test { "and" test } "]" }
//     test   = LEAF "=" ( "'" VALUE "'" | '"' VALUE '"' )
//
// Blanks may separate all tokens. Names and values are checked against the schema when the filter
// is read, so a filter that can never match is refused instead of silently obeyed. A leaf-list
// matches if one of its values is equal.
#include "event/filter.h"

#include <libyang/libyang.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "yang/yang.h"

#define NAME_MAX_BYTES 64

struct test {
    const char *leaf, *value; // name in the schema; inside the filter's text
};

struct wanted { // an event
    const char *name;          // name in the schema
    unsigned first, n;         // index and number of its tests
};

struct filter {
    struct wanted event[FILTER_NAMES_MAX];
    struct test test[FILTER_TESTS_MAX];
    unsigned n_events, n_tests;
    char text[FILTER_BYTES_MAX + 1];
};

struct reader {
    struct filter *f;
    char *at;
    struct text *why;
};

// --- parser -------------------------------------------------------------------------------------

static void skip_blanks(struct reader *r)
{
    r->at += strspn(r->at, " \t\r\n");
}

static bool take_word(struct reader *r, const char *word)
{
    skip_blanks(r);
    if (strncmp(r->at, word, strlen(word)))
        return false;
    r->at += strlen(word);
    return true;
}

static bool take_name(struct reader *r, char name[NAME_MAX_BYTES])
{
    skip_blanks(r);
    size_t n = strspn(r->at, "abcdefghijklmnopqrstuvwxyz0123456789-");

    if (!n || n >= NAME_MAX_BYTES)
        return false;
    memcpy(name, r->at, n);
    name[n] = 0;
    r->at += n;
    return true;
}

// Returns the quoted value and replaces the closing quote by a terminating zero.
static const char *take_value(struct reader *r)
{
    skip_blanks(r);
    const char quote = *r->at, *value = r->at + 1;
    char *end = quote == '\'' || quote == '"' ? strchr(value, quote) : NULL;

    if (!end)
        return NULL;
    *end = 0;
    r->at = end + 1;
    return value;
}

static bool is_text(const struct lysc_node *s)
{
    return s->nodetype & (LYS_LEAF | LYS_LEAFLIST);
}

static const struct lysc_node *leaf_of(const struct lysc_node *event, const char *name)
{
    const struct lysc_node *s = yang_child(event, name, false);

    return s && is_text(s) ? s : NULL;
}

static void say_leaves(const struct lysc_node *event, struct text *why)
{
    const char *gap = "";

    for (const struct lysc_node *s = NULL; (s = yang_next(s, event));)
        if (is_text(s)) {
            text_printf(why, "%s%s", gap, s->name);
            gap = ", ";
        }
}

static void say_events(struct text *why)
{
    const char *gap = "";

    for (const struct lysc_node *s = NULL; (s = lys_getnext(s, NULL, yang_module->compiled, 0));)
        if (s->nodetype == LYS_NOTIF) {
            text_printf(why, "%s%s", gap, s->name);
            gap = ", ";
        }
}

static bool no_grammar(struct reader *r)
{
    if (*r->at)
        text_printf(r->why, "'filter': syntax error at '%s'", r->at);
    else
        text_printf(r->why, "'filter' ends too early");
    text_printf(
        r->why,
        "; expected event names with tests LEAF='VALUE', such as /kamuee:link-change[port='p0'] | "
        "/kamuee:alarm-change");
    return false;
}

static bool read_test(struct reader *r, const struct lysc_node *event)
{
    struct filter *f = r->f;
    char name[NAME_MAX_BYTES];
    const char *value;

    take_word(r, "kamuee:");
    if (!take_name(r, name) || !take_word(r, "=") || !(value = take_value(r)))
        return no_grammar(r);
    const struct lysc_node *leaf = leaf_of(event, name);
    if (!leaf) {
        text_printf(r->why, "'filter': the event %s has no leaf '%s', expected one of ",
                    event->name, name);
        say_leaves(event, r->why);
        return false;
    }
    if (!yang_value_ok(leaf, value)) {
        text_printf(r->why, "'filter': '%s' is '%s', expected ", name, value);
        yang_expected(leaf, r->why);
        return false;
    }
    if (f->n_tests == FILTER_TESTS_MAX) {
        text_printf(r->why, "'filter' compares too many leaves, expected at most %d",
                    FILTER_TESTS_MAX);
        return false;
    }
    f->test[f->n_tests++] = (struct test){leaf->name, value};
    return true;
}

static bool read_tests(struct reader *r, const struct lysc_node *event)
{
    while (take_word(r, "[")) {
        do
            if (!read_test(r, event))
                return false;
        while (take_word(r, "and"));
        if (!take_word(r, "]"))
            return no_grammar(r);
    }
    return true;
}

static bool read_event(struct reader *r)
{
    struct filter *f = r->f;
    char name[NAME_MAX_BYTES];

    if (!take_word(r, "/kamuee:") || !take_name(r, name))
        return no_grammar(r);
    const struct lysc_node *event = lys_find_child(NULL, yang_module, name, 0, LYS_NOTIF, 0);
    if (!event) {
        text_printf(r->why, "'filter': there is no event '%s', expected one of ", name);
        say_events(r->why);
        return false;
    }
    if (f->n_events == FILTER_NAMES_MAX) {
        text_printf(r->why, "'filter' names too many events, expected at most %d",
                    FILTER_NAMES_MAX);
        return false;
    }
    struct wanted *w = &f->event[f->n_events++];
    *w = (struct wanted){.name = event->name, .first = f->n_tests};
    bool ok = read_tests(r, event);
    w->n = f->n_tests - w->first;
    return ok;
}

static bool read_all(struct reader *r)
{
    do
        if (!read_event(r))
            return false;
    while (take_word(r, "|"));
    skip_blanks(r);
    return !*r->at || no_grammar(r);
}

struct filter *filter_parse(const char *text, struct text *why)
{
    struct filter *f;

    if (strlen(text) > FILTER_BYTES_MAX) {
        text_printf(why, "'filter' is too long, expected at most %d bytes", FILTER_BYTES_MAX);
        return NULL;
    }
    f = calloc(1, sizeof *f);
    bug_on(!f);
    strcpy(f->text, text);
    if (read_all(&(struct reader){.f = f, .at = f->text, .why = why}))
        return f;
    filter_free(f);
    return NULL;
}

void filter_free(struct filter *f)
{
    free(f);
}

// --- matching -----------------------------------------------------------------------------------

static bool is_equal(const json_t *v, const char *text)
{
    char number[24];
    const json_t *inner;
    size_t i;

    if (json_is_array(v)) {
        json_array_foreach(v, i, inner)
            if (is_equal(inner, text))
                return true;
        return false;
    }
    if (json_is_integer(v)) {
        snprintf(number, sizeof number, "%lld", (long long)json_integer_value(v));
        return !strcmp(number, text);
    }
    if (json_is_boolean(v))
        return !strcmp(json_is_true(v) ? "true" : "false", text);
    return json_is_string(v) && !strcmp(json_string_value(v), text);
}

static bool all_equal(const struct filter *f, const struct wanted *w, const json_t *body)
{
    for (unsigned i = 0; i < w->n; i++) {
        const struct test *t = &f->test[w->first + i];

        if (!is_equal(json_object_get(body, t->leaf), t->value))
            return false;
    }
    return true;
}

bool filter_passes(const struct filter *f, const char *event, const json_t *body)
{
    for (unsigned i = 0; i < f->n_events; i++)
        if (!strcmp(f->event[i].name, event) && all_equal(f, &f->event[i], body))
            return true;
    return false;
}
