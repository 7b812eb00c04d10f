// SPDX-License-Identifier: BSD-3-Clause
// complete.c - completion of a set/delete line
//
// Walks all words but the last over the schema, like the real line, and over the running
// configuration as far as it contains them. The schema then gives the candidates: names of
// children, or a value: the words of its type, live names (k:complete), names in use, its form.
// `delete` offers only existing entries and values. A line that is already wrong gets nothing.
#include "config/complete.h"

#include <libyang/libyang.h>
#include <stdlib.h>
#include <string.h>

#include "base/vec.h"
#include "config/config.h"
#include "config/feature_config.h"
#include "yang/config_tree.h"
#include "yang/yang.h"

#define CANDIDATES_MAX 200
#define KEYS_MAX 4

struct candidate {
    char *word, *help;
};

struct completion {
    bool deleting;
    const char *part;              // word under the cursor, may be ""
    const struct lysc_node *place; // its children may follow
    const struct lysc_node *value; // leaf whose value may follow, or NULL
    const struct lyd_node *first;  // instances there, NULL if none
    const struct lyd_node *tree;   // the whole configuration
    bool live;                     // offers names of existing objects, configured or not
    VEC(struct candidate) found;
    struct config_given given;
};

// First sentence of a description, on one line.
static char *first_sentence(const char *text)
{
    size_t n = 0;
    char *s;

    while (text[n] &&
           !(text[n] == '.' && (!text[n + 1] || text[n + 1] == ' ' || text[n + 1] == '\n')))
        n++;
    s = strndup(text, n);
    bug_on(!s);
    for (char *p = s; *p; p++)
        if (*p == '\n')
            *p = ' ';
    return s;
}

static void offer(void *ctx, const char *word, const char *help)
{
    struct completion *c = ctx;

    if (strncmp(word, c->part, strlen(c->part)) || c->found.n == CANDIDATES_MAX)
        return;
    vec_foreach (&c->found, f)
        if (!strcmp(f->word, word))
            return;
    struct candidate *new = vec_push(&c->found);
    new->word = strdup(word);
    new->help = first_sentence(help);
    bug_on(!new->word);
}

// --- walking the words before the cursor --------------------------------------------------------

static const struct lysc_node *key_number(const struct lysc_node *list, unsigned i)
{
    const struct lysc_node *k = lysc_node_child(list);

    while (i-- && k)
        k = k->next;
    return k && lysc_is_key(k) ? k : NULL;
}

// Enters `s` with the words behind its name; false: wrong. c->value is set where the words end
// inside its value.
static bool walk_into(struct completion *c, const struct lysc_node *s, const struct words *w,
                 unsigned *i, unsigned n)
{
    const char *key[KEYS_MAX] = {0};
    unsigned k = 0;

    if (s->nodetype & (LYS_LEAF | LYS_LEAFLIST)) {
        c->value = *i == n ? s : NULL;
        return *i == n || yang_value_ok(s, w->word[(*i)++]);
    }
    for (const struct lysc_node *leaf; s->nodetype == LYS_LIST && (leaf = key_number(s, k)); k++) {
        if (*i == n) {
            c->value = leaf;
            return true;
        }
        key[k] = w->word[(*i)++];
        if (!yang_value_ok(leaf, key[k]))
            return false;
    }
    struct lyd_node *node = c->first ? config_find(c->first, s, key) : NULL;
    c->first = node ? lyd_child(node) : NULL;
    c->place = s;
    return true;
}

// Like config_line.c: the meaning of the word here or, in a one-line entry, above.
static const struct lysc_node *find_word(struct completion *c, const char *word)
{
    for (const struct lysc_node *place = c->place; place || !c->place;
         place = yang_line_above(place)) {
        const struct lysc_node *s = config_word(place, NULL, &c->given, word);

        if (s)
            config_give(&c->given, s);
        if (s && place != c->place) {
            c->place = place;
            c->first = NULL;
        }
        if (s || !place)
            return s;
    }
    return NULL;
}

static bool walk_words(struct completion *c, const struct words *w, unsigned n)
{
    unsigned i = 1;

    while (i < n) {
        const struct lysc_node *s = find_word(c, w->word[i++]);

        if (!s)
            return false;
        if (!yang_is_keywordless(s) && !yang_is_flag(s) && !walk_into(c, s, w, &i, n))
            return false;
    }
    return true;
}

// --- candidates ---------------------------------------------------------------------------------

static bool is_there(const struct completion *c, const struct lysc_node *s)
{
    struct lyd_nodes v = {0};

    config_children(c->first, s, &v);
    free(v.item);
    return v.n;
}

// Live names of a source (extension k:complete).
static void each_name(const char *source, name_fn *fn, void *ctx)
{
    for (unsigned i = 0; i < FEATURE_N; i++) {
        const struct feature_config *f = features[i]->config;

        for (const struct feature_names *n = f ? f->names : NULL; n && n->source; n++)
            if (!strcmp(source, n->source))
                n->each(fn, ctx);
    }
}

// Offers values of keywordless leaves. False: one of them must come first.
static bool offer_values_alone(struct completion *c, const struct lysc_node *place)
{
    for (const struct lysc_node *s = NULL; (s = yang_keywordless(s, place));) {
        const char *source = yang_extension(s, "complete");

        if (config_is_given(&c->given, s))
            continue;
        yang_each_word(yang_type(s), offer, c);
        if (source && c->live)
            each_name(source, offer, c);
        if (s->flags & LYS_MAND_TRUE)
            return false;
    }
    return true;
}

static void offer_children(struct completion *c)
{
    for (const struct lysc_node *place = c->place;; place = yang_line_above(place)) {
        if (!c->deleting && !offer_values_alone(c, place))
            return;
        for (const struct lysc_node *s = NULL; (s = yang_next(s, place));)
            if (yang_is_config(s) && !lysc_is_key(s) && !yang_is_keywordless(s) &&
                (!c->deleting || is_there(c, s)))
                offer(c, s->name, s->dsc ? s->dsc : "");
        if (c->deleting || !place || !yang_line_above(place))
            return;
    }
}

// Help to recognize an entry: the value of another leaf, e.g. the devargs of a port.
static const char *entry_help(const struct lyd_node *entry)
{
    for (const struct lyd_node *n = lyd_child(entry); n; n = n->next)
        if (n->schema->nodetype == LYS_LEAF && !lysc_is_key(n->schema))
            return lyd_get_value(n);
    return "";
}

static void offer_entries(struct completion *c, const struct lysc_node *list,
                          const struct lyd_node *first)
{
    struct lyd_nodes v = {0};

    config_children(first, list, &v);
    for (size_t i = 0; i < v.n && c->found.n < CANDIDATES_MAX; i++)
        offer(c, lyd_get_value(lyd_child(v.item[i])), entry_help(v.item[i]));
    free(v.item);
}

static void offer_present_values(struct completion *c, const struct lysc_node *leaf)
{
    struct lyd_nodes v = {0};

    config_children(c->first, leaf, &v);
    for (size_t i = 0; i < v.n && c->found.n < CANDIDATES_MAX; i++)
        offer(c, lyd_get_value(v.item[i]), "");
    free(v.item);
}

static void offer_values(struct completion *c)
{
    const struct lysc_node *leaf = c->value;
    const char *source = yang_extension(leaf, "complete");
    const struct lysc_node *list = yang_reference(yang_type(leaf));

    if (lysc_is_key(leaf))
        offer_entries(c, leaf->parent, c->first);
    if (c->deleting) {
        if (!lysc_is_key(leaf))
            offer_present_values(c, leaf);
        return;
    }
    yang_each_word(yang_type(leaf), offer, c);
    if (list)
        offer_entries(c, list, c->tree);
    if (source && c->live)
        each_name(source, offer, c);
}

static int compare_candidates(const void *a, const void *b)
{
    return natural_compare(((const struct candidate *)a)->word,
                           ((const struct candidate *)b)->word);
}

static void write_found(struct completion *c, struct jwrite *out)
{
    if (c->value && c->found.n) // children keep the order of the schema
        qsort(c->found.item, c->found.n, sizeof *c->found.item, compare_candidates);
    jwrite_begin(out, "candidate", '[');
    vec_foreach (&c->found, f) {
        jwrite_begin(out, NULL, '{');
        jwrite_string(out, "word", f->word);
        jwrite_string(out, "help", f->help);
        jwrite_end(out, '}');
        free(f->word);
        free(f->help);
    }
    jwrite_end(out, ']');
    vec_free(&c->found);
}

void complete_line(const char *line, const struct lyd_node *tree, bool live, struct jwrite *out)
{
    struct completion c = {.part = "", .first = tree, .tree = tree, .live = live};
    struct words w;
    const char *why;
    unsigned n;

    if (words_split(line, true, &w, &why)) {
        words_free(&w);
        w.n = 0;
    }
    n = w.n && w.open ? w.n - 1 : w.n; // complete words
    c.part = n < w.n ? w.word[n] : "";
    c.deleting = n && !strcmp(w.word[0], "delete");
    if (!n) {
        offer(&c, "set", "Set a value");
        offer(&c, "delete", "Delete a value or an entry");
    } else if ((c.deleting || !strcmp(w.word[0], "set")) && walk_words(&c, &w, n)) {
        if (c.value)
            offer_values(&c);
        else
            offer_children(&c);
    } else {
        c.value = NULL;
    }
    const struct lysc_node *value = c.value;
    write_found(&c, out);
    if (value) {
        struct text expect = {0};

        yang_expected(value, &expect);
        jwrite_string(out, "expect", text_str(&expect));
        text_free(&expect);
    }
    words_free(&w);
}
