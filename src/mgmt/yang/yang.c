// SPDX-License-Identifier: BSD-3-Clause
// yang.c - the schema kamuee.yang, loaded once, and questions about it
//
// libyang compiles the module into a tree of lysc nodes; the functions here walk it so that no
// other file needs to know libyang's type structures. Facts that YANG itself cannot express
// (candidates for TAB, the format of a device string) are in the extensions k:apply, k:expect and
// k:complete, which are read from the compiled nodes.
#include "yang/yang.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/hash.h"
#include "core/thread.h"

struct ly_ctx *yang_ctx;
const struct lys_module *yang_module;

// Recent queries: a line's walker asks about the same word more than once, and thousands of lines
// have the same words.
static _Thread_local struct {
    const struct lysc_node *leaf; // NULL: empty
    char value[48];
    bool ok;
} asked[256];

static const char *schema_dir(void)
{
    const char *dir = getenv("KAMUEE_YANG_DIR");

    if (dir && *dir)
        return dir;
    if (!access(KAMUEE_SOURCE_YANG_DIR "/kamuee.yang", R_OK))
        return KAMUEE_SOURCE_YANG_DIR;
    return KAMUEE_INSTALLED_YANG_DIR;
}

int yang_load(char *err, size_t err_size)
{
    const char *dir = schema_dir();

    thread_must_be(ROLE_CONTROL);
    if (yang_ctx)
        return 0;
    ly_log_options(LY_LOSTORE_LAST); // we print messages; libyang writes nothing to stderr
    if (ly_ctx_new(dir, LY_CTX_DISABLE_SEARCHDIR_CWD, &yang_ctx)) {
        yang_ctx = NULL;
        snprintf(err, err_size,
                 "cannot read the schema directory %s; set KAMUEE_YANG_DIR to the directory of "
                 "kamuee.yang",
                 dir);
        return -ENOENT;
    }
    yang_module = ly_ctx_load_module(yang_ctx, "kamuee", NULL, NULL);
    if (!yang_module) {
        const char *why = ly_errmsg(yang_ctx);

        snprintf(err, err_size,
                 "cannot load %s/kamuee.yang: %s; set KAMUEE_YANG_DIR to its directory", dir,
                 why ? why : "not found");
        yang_unload();
        return -ENOENT;
    }
    return 0;
}

void yang_unload(void)
{
    thread_must_be(ROLE_CONTROL);
    ly_ctx_destroy(yang_ctx);
    yang_ctx = NULL;
    yang_module = NULL;
    memset(asked, 0, sizeof asked);
}

// --- the modules themselves ---------------------------------------------------------------------

static bool read_source(const char *name, struct text *t)
{
    char path[512], block[8192];
    size_t n;

    snprintf(path, sizeof path, "%s/%s.yang", schema_dir(), name);
    FILE *f = fopen(path, "re");
    if (!f)
        return false;
    while ((n = fread(block, 1, sizeof block, f)))
        text_append(t, block, n);
    fclose(f);
    return t->n;
}

// kamuee-routing is read from its file only: the model that it extends, RFC 8349's, is not loaded.
bool yang_source(const char *name, const char *revision, struct text *t)
{
    const struct lys_module *m = revision ? ly_ctx_get_module(yang_ctx, name, revision)
                                          : ly_ctx_get_module_latest(yang_ctx, name);
    bool ours = m == yang_module || !strcmp(name, "kamuee-routing");
    char *s = NULL;

    if (!m && !ours)
        return false;
    if (ours && read_source(name, t))
        return true;
    if (!m || lys_print_mem(&s, m, LYS_OUT_YANG, 0) || !s)
        return false;
    text_append(t, s, strlen(s));
    free(s);
    return true;
}

// --- nodes --------------------------------------------------------------------------------------

const struct lysc_node *yang_next(const struct lysc_node *last, const struct lysc_node *parent)
{
    const struct lysc_node *s = last;

    do
        s = lys_getnext(s, parent, parent ? NULL : yang_module->compiled, 0);
    while (s && (s->nodetype & (LYS_RPC | LYS_NOTIF | LYS_ACTION)));
    return s;
}

const struct lysc_node *yang_child(const struct lysc_node *parent, const char *name, bool config)
{
    for (const struct lysc_node *s = NULL; (s = yang_next(s, parent));)
        if (!strcmp(s->name, name) && (!config || yang_is_config(s)))
            return s;
    return NULL;
}

const struct lysc_node *yang_rpc(const char *name)
{
    return lys_find_child(NULL, yang_module, name, 0, LYS_RPC, 0);
}

const struct lysc_node *yang_next_rpc(const struct lysc_node *last)
{
    const struct lysc_node *s = last;

    do
        s = lys_getnext(s, NULL, yang_module->compiled, 0);
    while (s && s->nodetype != LYS_RPC);
    return s;
}

bool yang_is_config(const struct lysc_node *s)
{
    return s->flags & LYS_CONFIG_W;
}

bool yang_is_presence(const struct lysc_node *s)
{
    return s->nodetype == LYS_CONTAINER && (s->flags & LYS_PRESENCE);
}

const char *yang_extension(const struct lysc_node *s, const char *name)
{
    LY_ARRAY_COUNT_TYPE u;

    LY_ARRAY_FOR(s->exts, u)
    {
        if (s->exts[u].def->module == yang_module && !strcmp(s->exts[u].def->name, name))
            return s->exts[u].argument;
    }
    return NULL;
}

const char *yang_units(const struct lysc_node *s)
{
    if (s->nodetype == LYS_LEAF)
        return ((const struct lysc_node_leaf *)s)->units;
    if (s->nodetype == LYS_LEAFLIST)
        return ((const struct lysc_node_leaflist *)s)->units;
    return NULL;
}

const struct lysc_type *yang_type(const struct lysc_node *s)
{
    return s->nodetype == LYS_LEAF ? ((const struct lysc_node_leaf *)s)->type
                                   : ((const struct lysc_node_leaflist *)s)->type;
}

void yang_each_word(const struct lysc_type *t,
                    void (*fn)(void *ctx, const char *word, const char *help), void *ctx)
{
    LY_ARRAY_COUNT_TYPE u;

    if (t->basetype == LY_TYPE_BOOL) {
        fn(ctx, "true", "");
        fn(ctx, "false", "");
    } else if (t->basetype == LY_TYPE_ENUM) {
        const struct lysc_type_enum *e = (const struct lysc_type_enum *)t;

        LY_ARRAY_FOR(e->enums, u) fn(ctx, e->enums[u].name, e->enums[u].dsc ? e->enums[u].dsc : "");
    } else if (t->basetype == LY_TYPE_UNION) {
        const struct lysc_type_union *n = (const struct lysc_type_union *)t;

        LY_ARRAY_FOR(n->types, u) yang_each_word(n->types[u], fn, ctx);
    }
}

// The leafrefs of this model are absolute paths to the key of a top-level list: "/k:port/k:name".
static const struct lysc_node *reference_target(const struct lysc_type_leafref *r)
{
    const char *path = lyxp_get_expr(r->path);
    char name[64];

    if (sscanf(path, "/%*[a-z]:%63[^/]", name) != 1)
        return NULL;
    const struct lysc_node *s = yang_child(NULL, name, true);
    return s && s->nodetype == LYS_LIST ? s : NULL;
}

const struct lysc_node *yang_reference(const struct lysc_type *t)
{
    const struct lysc_node *s = NULL;
    LY_ARRAY_COUNT_TYPE u;

    if (t->basetype == LY_TYPE_LEAFREF)
        return reference_target((const struct lysc_type_leafref *)t);
    if (t->basetype == LY_TYPE_UNION) {
        const struct lysc_type_union *n = (const struct lysc_type_union *)t;

        LY_ARRAY_FOR(n->types, u)
        {
            if ((s = yang_reference(n->types[u])))
                break;
        }
    }
    return s;
}

bool yang_value_ok(const struct lysc_node *leaf, const char *value)
{
    size_t n = strlen(value),
           i = (hash_bytes(value, n, 1) ^ (uintptr_t)leaf >> 4) % (sizeof asked / sizeof *asked);

    if (asked[i].leaf == leaf && !strcmp(asked[i].value, value))
        return asked[i].ok;
    LY_ERR r = lyd_value_validate(yang_ctx, leaf, value, n, NULL, NULL, NULL);
    bool ok = r == LY_SUCCESS ||
              r == LY_EINCOMPLETE; // incomplete: a reference, checked when all lines are read
    if (n < sizeof asked->value) {
        asked[i].leaf = leaf;
        memcpy(asked[i].value, value, n + 1);
        asked[i].ok = ok;
    }
    return ok;
}
