// SPDX-License-Identifier: BSD-3-Clause
// config_json.c - a tree as JSON (RFC 7951), as libyang writes it
#include "yang/config_json.h"

#include <stdlib.h>
#include <string.h>

#include "base/log.h"

static uint32_t print_options(const char *defaults)
{
    uint32_t o = LYD_PRINT_SHRINK;

    if (!defaults || !strcmp(defaults, "explicit"))
        return o | LYD_PRINT_WD_EXPLICIT;
    return o | (strcmp(defaults, "trim") ? LYD_PRINT_WD_ALL : LYD_PRINT_WD_TRIM);
}

char *config_json_text(const struct lyd_node *tree)
{
    char *s = NULL;

    bug_on(tree && lyd_print_mem(&s, tree, LYD_JSON, LYD_PRINT_WITHSIBLINGS | LYD_PRINT_WD_EXPLICIT));
    return s ? s : strdup("{}");
}

json_t *config_json(const struct lyd_node *node, const char *defaults, bool siblings)
{
    json_t *j = NULL;
    char *s = NULL;

    if (node &&
        !lyd_print_mem(&s, node, LYD_JSON,
                       print_options(defaults) | (siblings ? LYD_PRINT_WITHSIBLINGS : 0)) &&
        s)
        j = json_loads(s, 0, NULL);
    free(s);
    return j ? j : json_object();
}
