// SPDX-License-Identifier: BSD-3-Clause
// yang_say.c - the schema in an operator's words: expected input, nearest word
//
// libyang's messages name types and schema paths; yang_expected() says the same for an operator, so
// that every refusal ends with "expected …", and yang_say_error() translates errors that only
// libyang finds into the words of a set line.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "yang/yang.h"

struct word_list {
    struct text *t;
    unsigned n, total;
};

static void count_word(void *ctx, const char *word, const char *help)
{
    ((struct word_list *)ctx)->total++;
}

static void append_word(void *ctx, const char *word, const char *help)
{
    struct word_list *w = ctx;

    text_printf(w->t, "%s%s", w->n == 0 ? "" : w->n + 1 == w->total ? " or " : ", ", word);
    w->n++;
}

static void append_words(const struct lysc_type *type, struct text *t)
{
    struct word_list w = {.t = t};

    yang_each_word(type, count_word, &w);
    yang_each_word(type, append_word, &w);
}

static bool is_signed(LY_DATA_TYPE b)
{
    return b == LY_TYPE_INT8 || b == LY_TYPE_INT16 || b == LY_TYPE_INT32 || b == LY_TYPE_INT64;
}

static void append_range(const struct lysc_range *r, bool with_sign, struct text *t)
{
    LY_ARRAY_COUNT_TYPE u;

    LY_ARRAY_FOR(r->parts, u)
    {
        if (u)
            text_printf(t, " or ");
        if (with_sign)
            text_printf(t, "%lld..%lld", (long long)r->parts[u].min_64,
                        (long long)r->parts[u].max_64);
        else
            text_printf(t, "%llu..%llu", (unsigned long long)r->parts[u].min_u64,
                        (unsigned long long)r->parts[u].max_u64);
    }
}

static void append_integer(const struct lysc_type *type, struct text *t)
{
    static const char *const whole[] = {[LY_TYPE_UINT8] = "0..255",
                                        [LY_TYPE_UINT16] = "0..65535",
                                        [LY_TYPE_UINT32] = "0..4294967295",
                                        [LY_TYPE_UINT64] = "0..18446744073709551615",
                                        [LY_TYPE_INT8] = "-128..127",
                                        [LY_TYPE_INT16] = "-32768..32767",
                                        [LY_TYPE_INT32] = "-2147483648..2147483647",
                                        [LY_TYPE_INT64] = "a 64-bit number"};
    const struct lysc_range *r = ((const struct lysc_type_num *)type)->range;

    if (r)
        append_range(r, is_signed(type->basetype), t);
    else
        text_printf(t, "%s", whole[type->basetype]);
}

static const char *form_of(const struct lysc_type_str *type)
{
    LY_ARRAY_COUNT_TYPE u;

    LY_ARRAY_FOR(type->patterns, u)
    {
        if (type->patterns[u]->emsg)
            return type->patterns[u]->emsg;
    }
    return "text";
}

static void append_string(const struct lysc_type_str *type, struct text *t)
{
    const char *form = form_of(type);

    text_printf(t, "%s", form);
    if (type->length && !strncmp(form, "text", 4)) { // the others tell their lengths themselves
        text_printf(t, " of ");
        append_range(type->length, false, t);
        text_printf(t, " characters");
    }
}

static const char *article(const char *noun)
{
    return strchr("aeiou", *noun) ? "an" : "a";
}

static void append_type(const struct lysc_type *type, struct text *t)
{
    const struct lysc_node *list = yang_reference(type);

    switch (type->basetype) {
    case LY_TYPE_ENUM:
    case LY_TYPE_BOOL:
    case LY_TYPE_UNION:
        append_words(type, t);
        if (list)
            text_printf(t, " or the name of %s %s", article(list->name), list->name);
        break;
    case LY_TYPE_LEAFREF:
        text_printf(t, "the name of %s %s", list ? article(list->name) : "a",
                    list ? list->name : "list entry");
        break;
    case LY_TYPE_STRING:
        append_string((const struct lysc_type_str *)type, t);
        break;
    default:
        append_integer(type, t);
    }
}

uint64_t yang_longest(const struct lysc_node *leaf)
{
    const struct lysc_type *type = yang_type(leaf);
    const struct lysc_range *length =
        type->basetype == LY_TYPE_STRING ? ((const struct lysc_type_str *)type)->length : NULL;
    LY_ARRAY_COUNT_TYPE n = length ? LY_ARRAY_COUNT(length->parts) : 0;

    return n ? length->parts[n - 1].max_u64 : UINT64_MAX;
}

void yang_expected(const struct lysc_node *leaf, struct text *t)
{
    const char *say = yang_extension(leaf, "expect");
    const char *units = yang_units(leaf);

    if (say)
        text_printf(t, "%s", say);
    else
        append_type(yang_type(leaf), t);
    if (units)
        text_printf(t, " (%s)", units);
}

// "/kamuee:port[name='p0']/mtu" as "port p0 mtu" in `words` and "/kamuee:port/mtu" in `schema`.
static void split_path(const char *path, const char *end, struct text *words, struct text *schema)
{
    char quote = 0;

    for (const char *p = path; p < end; p++) {
        if (quote) {
            if (*p == quote)
                quote = 0;
            else
                text_append(words, p, 1);
        } else if (*p == '[') {
            const char *value = strpbrk(p, "'\"");
            if (!value || value >= end)
                return;
            quote = *value;
            p = value;
            text_append(words, " ", 1);
        } else if (*p != ']') {
            text_append(schema, p, 1);
            if (*p == '/')
                text_append(words, " ", words->n ? 1 : 0);
            else if (!strncmp(p, "kamuee:", 7))
                text_append(schema, p + 1, 6), p += 6;
            else
                text_append(words, p, 1);
        }
    }
}

// The quoted text in libyang's message about a value: 'Value "99999" is out of type uint16 min/max
// bounds.'
static bool find_value(const char *msg, char value[128])
{
    static const char *const before[] = {"alue \"", "- \"", "tring \""};

    for (unsigned i = 0; msg && i < sizeof before / sizeof *before; i++) {
        const char *at = strstr(msg, before[i]), *end;

        if (!at)
            continue;
        at += strlen(before[i]);
        end = strchr(at, '"');
        snprintf(value, 128, "%.*s", (int)(end ? end - at : 0), at);
        return end;
    }
    return false;
}

// "port p0: 'mtu' is '99999', expected 68..9600 (bytes)"
static void say_value(const struct lysc_node *leaf, const struct text *words, const char *value,
                      struct text *t)
{
    size_t above = words->n > strlen(leaf->name) ? words->n - strlen(leaf->name) - 1
                                                 : 0; // without the leaf itself

    text_printf(t, "%.*s%s'%s' is '%s', expected ", (int)above, text_str(words), above ? ": " : "",
                leaf->name, value);
    yang_expected(leaf, t);
}

// The path in libyang's error: version 3 has the path alone, version 2 quotes it in a sentence.
static const char *find_path(const char *where, const char **end)
{
    const char *quoted = where ? strstr(where, "\"/kamuee:") : NULL,
               *path = quoted ? quoted + 1 : where;

    *end = quoted ? strchr(path, '"') : path ? path + strlen(path) : NULL;
    return *end && !strncmp(path, "/kamuee:", 8) ? path : NULL;
}

void yang_say_error(struct text *t)
{
    const char *msg = ly_errmsg(yang_ctx), *end, *path = find_path(ly_errpath(yang_ctx), &end);
    struct text words = {0}, schema = {0}, expect = {0};

    if (path)
        split_path(path, end, &words, &schema);
    const struct lysc_node *s = schema.n ? lys_find_path(yang_ctx, NULL, schema.s, 0) : NULL;
    int n = msg ? (int)strlen(msg) : 0; // without its full stop
    bool leaf = s && s->nodetype & (LYS_LEAF | LYS_LEAFLIST);
    char value[128];
    if (leaf && find_value(msg, value)) {
        say_value(s, &words, value, t);
    } else {
        if (leaf)
            yang_expected(s, &expect);
        text_printf(t, "%s%s", text_str(&words), words.n ? ": " : "");
        n -= n && msg[n - 1] == '.';
        // Not the message of a pattern; a leaf without a value has no expected form.
        if (!expect.n || strncmp(expect.s, msg ? msg : "", (size_t)n))
            text_printf(t, "%.*s%s", n, msg ? msg : "", expect.n ? "; " : "");
        if (expect.n)
            text_printf(t, "expected %s", expect.s);
    }
    text_free(&expect);
    text_free(&words);
    text_free(&schema);
}

#define DISTANCE_WORD 48

// Optimal string alignment distance: the textbook table, three rows of it.
unsigned yang_distance(const char *a, const char *b)
{
    unsigned row[3][DISTANCE_WORD + 1], *before = row[0], *last = row[1], *now = row[2];
    size_t na = strnlen(a, DISTANCE_WORD), nb = strnlen(b, DISTANCE_WORD);

    for (size_t j = 0; j <= nb; j++)
        last[j] = (unsigned)j;
    for (size_t i = 1; i <= na; i++) {
        now[0] = (unsigned)i;
        for (size_t j = 1; j <= nb; j++) {
            unsigned d = last[j - 1] + (a[i - 1] != b[j - 1]);

            if (last[j] + 1 < d)
                d = last[j] + 1;
            if (now[j - 1] + 1 < d)
                d = now[j - 1] + 1;
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] &&
                before[j - 2] + 1 < d)
                d = before[j - 2] + 1;
            now[j] = d;
        }
        unsigned *spare = before;
        before = last;
        last = now;
        now = spare;
    }
    return last[nb];
}

const char *yang_nearest(const struct lysc_node *parent, const char *word, bool config)
{
    size_t n = strlen(word);
    const char *best = NULL;
    unsigned best_distance = n < 4   ? 2
                             : n < 8 ? 3
                                     : 4; // exclusive: one wrong letter in three is a typo

    for (const struct lysc_node *s = NULL; (s = yang_next(s, parent));) {
        if (lysc_is_key(s) || (config && (!yang_is_config(s) || yang_is_keywordless(s))))
            continue;
        unsigned d = n >= 2 && !strncmp(s->name, word, n) ? 1 : yang_distance(word, s->name);
        if (d < best_distance) {
            best = s->name;
            best_distance = d;
        }
    }
    return best;
}
