// SPDX-License-Identifier: BSD-3-Clause
// config_line.c - reads "set …" and "delete …" lines, walking over the schema
//
// A line is a path: containers and leaves by their names, the keys of a list positional behind its
// name, a leaf's value behind its name, and optionally more leaves of the same place:
//
//     set port p0 devargs net_af_packet0,iface=eth1 mtu 9000
//     set thread 1 forwarder port p0 rx-queue 0
//     delete port p0 mtu
//
// A keywordless leaf is only its value, a leaf of type empty only its name, and of a choice the
// last word wins. For the entry of a one-line list (yang_line.c), a line that begins with its first
// value replaces the entry; any other line changes it:
//
//     set acl edge rule 100 permit tcp from set customers to any port 443
//     set acl edge rule 100 log
//
// The walker has no code for single features: the schema determines the next words. Each refusal
// tells the expected input and the nearest word. Rules about the whole configuration (required
// values, references) are in config_check.c.
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/progress.h"
#include "yang/config_index.h"
#include "yang/config_tree.h"
#include "yang/yang.h"

#define SAID_MAX 32
#define VALUE_SHOWN 120 // letters of a wrong value

struct kept { // a text whose retired settings are ignored
    const char *file;          // for the log; NULL: not logged
    bool told[CONFIG_RETIRED]; // warned; once each
};

struct walk {
    struct config_index *top;
    struct lyd_node *place;         // parent of the next word, NULL = top
    const struct lysc_node *schema; // its schema node, NULL = top
    const struct words *w;
    unsigned i; // next word
    unsigned line;
    struct errors *e;
    struct config_given given; // in the entry
    bool too_many;
    struct kept *kept; // NULL: retired settings are refused
    struct { // leaves set by this line so far, and their parents
        const struct lyd_node *place;
        const struct lysc_node *leaf;
    } said[SAID_MAX];
    unsigned n_said;
};

static struct lyd_node *siblings(const struct walk *k)
{
    return k->place ? lyd_child(k->place) : *k->top->tree;
}

static struct lyd_node *find_node(const struct walk *k, const struct lysc_node *s,
                             const char *const *key)
{
    if (k->place || s->nodetype == LYS_LEAFLIST)
        return config_find(siblings(k), s, key);
    return config_index_find(k->top, s, key);
}

static void drop(const struct walk *k, struct lyd_node *n)
{
    if (lyd_parent(n) || n->schema->nodetype == LYS_LEAFLIST)
        config_delete_node(k->top->tree, n);
    else
        config_index_del(k->top, n);
}

// "port p0: " as a prefix of a sentence; nothing at the top. From words rather than nodes, because
// a bad line has no node yet.
static const char *subject_of(const struct walk *k, unsigned n_words, struct text *t)
{
    for (unsigned j = 1; j < n_words; j++) {
        text_printf(t, "%s", j > 1 ? " " : "");
        words_quote(k->w->word[j], t);
    }
    if (t->n)
        text_printf(t, ": ");
    return text_str(t);
}

// Adds a sentence about the first words of the line; returns false.
__attribute__((format(printf, 3, 4))) static bool refuse(const struct walk *k, unsigned n_words,
                                                         const char *fmt, ...)
{
    struct text where = {0};
    char *sentence;
    va_list ap;

    va_start(ap, fmt);
    bug_on(vasprintf(&sentence, fmt, ap) < 0);
    va_end(ap);
    errors_add(k->e, k->line, "%s%s", subject_of(k, n_words, &where), sentence);
    text_free(&where);
    free(sentence);
    return false;
}

static void list_children(const struct lysc_node *parent, struct text *t)
{
    unsigned n = 0;

    for (; parent || !n; parent = yang_line_above(parent)) {
        for (const struct lysc_node *s = NULL; (s = yang_next(s, parent));) {
            if (!yang_is_config(s) || lysc_is_key(s))
                continue;
            text_printf(t, "%s", n++ ? ", " : "");
            if (yang_is_keywordless(s))
                yang_expected(s, t);
            else
                text_printf(t, "%s", s->name);
        }
        if (!parent)
            break;
    }
}

static void remember_line(const struct walk *k, struct lyd_node *n)
{
    n->priv = (void *)(uintptr_t)k->line;
}

static void warn_retired(const char *file, unsigned line, const struct config_retired *r,
                         const char *what)
{
    if (file)
        log_warning("config: setting passed over, it no longer exists: file=%s line=%u "
                    "setting=\"%s\" instead=%s",
                    LOG_VALUE(file), line, what, LOG_VALUE(r->instead));
}

// Until the text has been read, an entry that a retired leaf drops remembers that line negative. As
// for all leaves, the last line decides.
static intptr_t line_that_drops(const struct lyd_node *n)
{
    return -(intptr_t)n->priv;
}

static void drop_or_keep(const struct walk *k, bool drop)
{
    if (drop)
        k->place->priv = (void *)-(intptr_t)k->line;
    else if (line_that_drops(k->place) > 0)
        remember_line(k, k->place);
}

static void delete_dropped(struct lyd_node **tree, const char *file)
{
    for (struct lyd_node *n = *tree, *next; n; n = next) {
        const struct config_retired *r = config_retired;
        struct text name = {0};

        next = n->next;
        if (line_that_drops(n) <= 0)
            continue;
        while (!r->drops || strcmp(r->parent, n->schema->name))
            r++;
        config_path(n, &name);
        warn_retired(file, (unsigned)line_that_drops(n), r, text_str(&name));
        text_free(&name);
        config_delete_node(tree, n);
    }
}

// False: it is refused. True: the words that belong to it are skipped.
static bool retired_word(struct walk *k, const struct config_retired *r)
{
    const char *value = k->i + 1 < k->w->n ? k->w->word[k->i + 1] : "";
    char name[CONFIG_RETIRED_NAME];

    if (!k->kept) {
        config_retired_refuse(r, k->line, k->e);
        return false;
    }
    bool drops = r->drops && !strcmp(value, r->drops), *told = &k->kept->told[r - config_retired];
    if (r->drops)
        drop_or_keep(k, drops);
    if (!drops && !*told)
        warn_retired(k->kept->file, k->line, r, config_retired_name(r, name));
    *told = *told || !drops;
    k->i = r->is_leaf && *value ? k->i + 2 : k->w->n;
    return true;
}

static bool unknown_word(struct walk *k)
{
    const struct config_retired *r = config_retired_find(k->schema, k->w->word[k->i]);

    if (r)
        return retired_word(k, r);
    const char *word = k->w->word[k->i];
    const char *near = yang_nearest(k->schema, word, true);
    struct text words = {0};

    list_children(k->schema, &words);
    refuse(k, k->i, "unknown word '%s', %s%s%sexpected one of %s", word,
           near ? "did you mean '" : "", near ? near : "", near ? "'? " : "", text_str(&words));
    text_free(&words);
    return false;
}

static bool missing_word(struct walk *k, const char *what)
{
    return refuse(k, k->w->n, "the line is incomplete, expected %s", what);
}

static bool missing_child(struct walk *k)
{
    struct text words = {0};

    text_printf(&words, "one of ");
    list_children(k->schema, &words);
    missing_word(k, text_str(&words));
    text_free(&words);
    return false;
}

static bool missing_value(struct walk *k, const struct lysc_node *leaf)
{
    struct text t = {0};

    yang_expected(leaf, &t);
    missing_word(k, text_str(&t));
    text_free(&t);
    return false;
}

static bool bad_value(struct walk *k, const struct lysc_node *leaf, const char *value,
                      unsigned n_words)
{
    struct text expect = {0};

    uint64_t longest = yang_longest(leaf);
    size_t n = strlen(value);
    if (n > VALUE_SHOWN && n > longest)
        text_printf(&expect, "at most %" PRIu64 " characters, found %zu", longest, n);
    else
        yang_expected(leaf, &expect);
    refuse(k, n_words, "'%s' is '%.*s%s', expected %s", leaf->name, VALUE_SHOWN, value,
           n > VALUE_SHOWN ? "…" : "", text_str(&expect));
    text_free(&expect);
    return false;
}

#define KEYS_MAX 4

// Reads the key values behind a list's name; k->i goes from the name to behind the last key.
static bool take_keys(struct walk *k, const struct lysc_node *list, const char *key[KEYS_MAX])
{
    unsigned n = 0, name_at = k->i++;

    for (const struct lysc_node *s = lysc_node_child(list); s && lysc_is_key(s); s = s->next, n++) {
        bug_on(n == KEYS_MAX);
        if (k->i == k->w->n)
            return missing_value(k, s);
        key[n] = k->w->word[k->i++];
        if (!yang_value_ok(s, key[n]))
            return bad_value(k, s, key[n], name_at + 1 + n);
    }
    for (; n < KEYS_MAX; n++)
        key[n] = NULL;
    return true;
}

static struct lyd_node *attach(struct walk *k, struct lyd_node *node)
{
    if (!k->place && node->schema->nodetype == LYS_LEAFLIST)
        lyd_insert_sibling(*k->top->tree, node, k->top->tree);
    else if (!k->place)
        config_index_add(k->top, node);
    remember_line(k, node);
    return node;
}

static const struct lys_module *module_at(const struct walk *k)
{
    return k->place ? NULL : yang_module;
}

// --- set ----------------------------------------------------------------------------------------

// A line that begins with the value of the first keywordless leaf replaces the whole entry.
static void forget_entry(struct walk *k, struct lyd_node *entry)
{
    const struct lysc_node *first = yang_keywordless(NULL, entry->schema);
    struct lyd_node *next;

    if (!first || k->i == k->w->n || yang_child(entry->schema, k->w->word[k->i], true) ||
        !yang_value_ok(first, k->w->word[k->i]))
        return;
    for (struct lyd_node *n = lyd_child(entry); n; n = next) {
        next = n->next;
        if (!lysc_is_key(n->schema))
            lyd_free_tree(n);
    }
    remember_line(k, entry);
}

// Far more than the schema allows: refused without reading all. config_check counts exactly, at the
// end: later lines may delete some.
static bool far_too_many(struct walk *k, const struct lysc_node *s)
{
    unsigned max = k->place ? UINT32_MAX : ((const struct lysc_node_list *)s)->max;

    if (max > UINT32_MAX / 2 || config_index_count(k->top, s) < 2 * max)
        return false;
    errors_add(k->e, k->line, "more than %u '%s', expected at most %u; the rest is not read",
               2 * max, s->name, max);
    return true;
}

static bool set_list(struct walk *k, const struct lysc_node *s)
{
    const char *key[KEYS_MAX];
    struct lyd_node *n;

    if (!take_keys(k, s, key))
        return false;
    n = find_node(k, s, key);
    if (!n && far_too_many(k, s)) {
        k->too_many = true;
        return false;
    }
    if (n && yang_is_one_line(s))
        forget_entry(k, n);
    if (!n) {
        bug_on(
            lyd_new_list(k->place, module_at(k), s->name, 0, &n, key[0], key[1], key[2], key[3]));
        attach(k, n);
    }
    k->place = n;
    k->schema = s;
    k->given.n = 0;
    return true;
}

static bool set_container(struct walk *k, const struct lysc_node *s)
{
    struct lyd_node *n = find_node(k, s, NULL);

    if (!n) {
        bug_on(lyd_new_inner(k->place, module_at(k), s->name, 0, &n));
        attach(k, n);
    }
    k->i++;
    k->place = n;
    k->schema = s;
    return yang_is_presence(s) || k->i < k->w->n || missing_child(k);
}

// Of the cases of a choice, the last one in the line stays.
static void forget_other_cases(struct walk *k, const struct lysc_node *s)
{
    const struct lysc_node *mine = yang_case(s);
    struct lyd_node *next;

    for (struct lyd_node *n = mine ? siblings(k) : NULL; n; n = next) {
        const struct lysc_node *other = yang_case(n->schema);
        next = n->next;
        if (other && other != mine && other->parent == mine->parent)
            drop(k, n);
    }
}

// A line that sets a leaf twice is ambiguous.
static bool is_said_twice(struct walk *k, const struct lysc_node *s)
{
    for (unsigned i = 0; i < k->n_said; i++)
        if (k->said[i].leaf == s && k->said[i].place == k->place)
            return !refuse(k, k->i, "'%s' appears twice", s->name);
    if (k->n_said < SAID_MAX) {
        k->said[k->n_said].place = k->place;
        k->said[k->n_said++].leaf = s;
    }
    return false;
}

static bool set_value(struct walk *k, const struct lysc_node *s)
{
    bool many = s->nodetype == LYS_LEAFLIST, flag = yang_is_flag(s);
    struct lyd_node *n;

    if (!many && is_said_twice(k, s))
        return false;
    if (!flag && !yang_is_keywordless(s) && ++k->i == k->w->n)
        return missing_value(k, s);
    const char *value = flag ? "" : k->w->word[k->i];
    if (!yang_value_ok(s, value))
        return bad_value(k, s, value, k->i - 1);
    forget_other_cases(k, s);
    n = find_node(k, s, &value);
    if (n && !many)
        lyd_change_term(n, value);
    else if (!n) {
        bug_on(lyd_new_term(k->place, module_at(k), s->name, value, 0, &n));
        attach(k, n);
    }
    remember_line(k, n);
    config_give(&k->given, s);
    k->i++;
    return true;
}

void config_give(struct config_given *g, const struct lysc_node *s)
{
    if (yang_is_keywordless(s) && g->n < CONFIG_GIVEN_MAX)
        g->leaf[g->n++] = s;
}

bool config_is_given(const struct config_given *g, const struct lysc_node *s)
{
    for (unsigned i = 0; i < g->n; i++)
        if (g->leaf[i] == s)
            return true;
    return false;
}

const struct lysc_node *config_word(const struct lysc_node *parent, const struct lyd_node *first,
                                    const struct config_given *given, const char *word)
{
    const struct lysc_node *s = yang_child(parent, word, true);

    if (s && !lysc_is_key(s) && !yang_is_keywordless(s))
        return s;
    for (s = NULL; (s = yang_keywordless(s, parent));) {
        if (config_is_given(given, s))
            continue;
        if (yang_value_ok(s, word))
            return s;
        if (s->flags & LYS_MAND_TRUE && !config_find(first, s, NULL)) // must come first
            return NULL;
    }
    return NULL;
}

// Meaning of the next word here; in a one-line entry also searches the nodes above the place, and
// moves the place there.
static const struct lysc_node *find_word(struct walk *k)
{
    const struct lysc_node *was = k->schema, *s;
    struct lyd_node *place = k->place;

    while (!(s = config_word(k->schema, siblings(k), &k->given, k->w->word[k->i]))) {
        const struct lysc_node *up = yang_line_above(k->schema);
        if (!up) {
            k->schema = was;
            k->place = place;
            return NULL;
        }
        k->schema = up;
        k->place = lyd_parent(k->place);
    }
    return s;
}

static bool set_line(struct walk *k)
{
    if (k->i == k->w->n)
        return missing_child(k);
    while (k->i < k->w->n) {
        const struct lysc_node *s = find_word(k);
        bool ok;

        if (!s)
            ok = unknown_word(k);
        else if (s->nodetype == LYS_LIST)
            ok = set_list(k, s);
        else if (s->nodetype == LYS_CONTAINER)
            ok = set_container(k, s);
        else
            ok = set_value(k, s);
        if (!ok)
            return false;
    }
    return true;
}

// --- delete -------------------------------------------------------------------------------------

static bool not_there(struct walk *k, unsigned n_words)
{
    struct text where = {0};

    subject_of(k, n_words, &where);
    where.s[where.n - 2] = 0; // without ": "
    errors_add(k->e, k->line, "%s is not configured, so there is nothing to delete", where.s);
    text_free(&where);
    return false;
}

static struct lyd_node *delete_list(struct walk *k, const struct lysc_node *s)
{
    const char *key[KEYS_MAX];

    if (!take_keys(k, s, key))
        return NULL;
    struct lyd_node *n = find_node(k, s, key);
    if (!n)
        not_there(k, k->i);
    return n;
}

// Node for a word: a child, or the leaf that is written as this value.
static const struct lysc_node *delete_word(const struct walk *k)
{
    const char *word = k->w->word[k->i];
    const struct lysc_node *s = yang_child(k->schema, word, true);

    if (s && !lysc_is_key(s))
        return s;
    for (s = NULL; (s = yang_keywordless(s, k->schema));)
        if (yang_value_ok(s, word))
            return s;
    return NULL;
}

// The leaf, or the value of a leaf-list that the line names, or its first value if none is named.
static struct lyd_node *delete_value(struct walk *k, const struct lysc_node *s)
{
    bool bare = yang_is_keywordless(s) && strcmp(k->w->word[k->i], s->name);
    const char *value = bare                  ? k->w->word[k->i]
                        : k->i + 1 < k->w->n ? k->w->word[k->i + 1]
                                             : NULL;
    struct lyd_nodes all = {0};
    struct lyd_node *found = NULL;

    if (yang_is_flag(s))
        value = NULL;
    k->i += value && !bare ? 2 : 1;
    config_children(siblings(k), s, &all);
    for (size_t j = 0; j < all.n && !found; j++)
        if (!value ||
            !lyd_value_compare((const struct lyd_node_term *)all.item[j], value, strlen(value)))
            found = (struct lyd_node *)(uintptr_t)all.item[j];
    free(all.item);
    if (!found)
        not_there(k, k->i);
    return found;
}

static void delete_target(struct walk *k, struct lyd_node *n, bool all_values)
{
    struct lyd_node *next;

    if (!all_values) {
        drop(k, n);
        return;
    }
    for (const struct lysc_node *s = n->schema; n; n = next) {
        next = n->next;
        if (n->schema == s)
            drop(k, n);
    }
}

static bool delete_line(struct walk *k)
{
    struct lyd_node *n = NULL;
    bool all_values = false;

    if (k->i == k->w->n)
        return missing_child(k);
    while (k->i < k->w->n) {
        const struct lysc_node *s = delete_word(k);

        if (!s)
            return unknown_word(k);
        if (s->nodetype == LYS_LIST) {
            n = delete_list(k, s);
        } else if (s->nodetype == LYS_CONTAINER) {
            n = find_node(k, s, NULL);
            k->i++;
            if (!n || !config_is_explicit(n))
                return not_there(k, k->i);
        } else {
            all_values = s->nodetype == LYS_LEAFLIST && k->i + 1 == k->w->n;
            n = delete_value(k, s);
            if (n && k->i < k->w->n)
                return refuse(k, k->i, "unexpected '%s', expected the end of the line",
                              k->w->word[k->i]);
        }
        if (!n)
            return false;
        k->place = n;
        k->schema = s;
    }
    delete_target(k, n, all_values);
    return true;
}

// False: stop reading.
static bool read_line(struct config_index *top, const char *line, unsigned number,
                      struct kept *kept, struct errors *e)
{
    struct words w;
    const char *why = "";

    if (words_split(line, false, &w, &why)) {
        errors_add(e, number, "%s", why);
        words_free(&w);
        return true;
    }
    struct walk k = {.top = top, .w = &w, .i = 1, .line = number, .e = e, .kept = kept};
    if (w.n && !strcmp(w.word[0], "set"))
        set_line(&k);
    else if (w.n && !strcmp(w.word[0], "delete"))
        delete_line(&k);
    else if (w.n)
        errors_add(e, number, "unknown word '%s', expected set or delete", w.word[0]);
    words_free(&w);
    return !k.too_many;
}

void config_read_lines(struct lyd_node **tree, const char *const *line, unsigned n,
                       struct errors *e)
{
    struct config_index top = {.tree = tree};

    for (unsigned i = 0; i < n && read_line(&top, line[i], i + 1, NULL, e); i++)
        ;
    config_index_free(&top);
}

static void read_text(struct lyd_node **tree, const char *text, bool numbered, struct kept *kept,
                      struct errors *e)
{
    struct config_index top = {.tree = tree};
    unsigned number = 0;
    char *copy = strdup(text), *next = copy;
    size_t length = strlen(text) + 1;
    struct progress w = {0};

    bug_on(!copy);
    for (char *line; (line = strsep(&next, "\n")) &&
                     read_line(&top, line, numbered ? ++number : 0, kept, e);)
        progress_at(&w, next ? (size_t)(next - copy) : length, length);
    free(copy);
    config_index_free(&top);
}

void config_read_text(struct lyd_node **tree, const char *text, struct errors *e)
{
    read_text(tree, text, true, NULL, e);
}

void config_read_change(struct lyd_node **tree, const char *text)
{
    struct errors none = {0};

    read_text(tree, text, false, NULL, &none);
    errors_free(&none);
}

void config_read_kept(struct lyd_node **tree, const char *text, const char *file,
                      struct errors *e)
{
    struct kept kept = {.file = file};

    read_text(tree, text, true, &kept, e);
    delete_dropped(tree, file);
}
