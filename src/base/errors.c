// SPDX-License-Identifier: BSD-3-Clause
// errors.c - see errors.h
#include "base/errors.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"

void errors_add(struct errors *e, unsigned line, const char *fmt, ...)
{
    struct error *slot = &e->item[e->n];
    va_list ap;

    if (e->n == ERRORS_MAX) {
        e->more++;
        return;
    }
    va_start(ap, fmt);
    bug_on(vasprintf(&slot->sentence, fmt, ap) < 0);
    va_end(ap);
    slot->line = line;
    e->n++;
}

void errors_free(struct errors *e)
{
    for (unsigned i = 0; i < e->n; i++)
        free(e->item[i].sentence);
    memset(e, 0, sizeof *e);
}

void errors_one(const struct error *e, const char *file, struct text *t)
{
    if (e->line && file)
        text_printf(t, "%s:%u: ", file, e->line);
    else if (e->line)
        text_printf(t, "line %u: ", e->line);
    else if (file)
        text_printf(t, "%s: ", file);
    text_printf(t, "%s", e->sentence);
}

void errors_text(const struct errors *e, const char *file, struct text *t)
{
    for (unsigned i = 0; i < e->n; i++) {
        if (i)
            text_printf(t, "\n");
        errors_one(&e->item[i], file, t);
    }
    if (e->more)
        text_printf(t, "\nand %u more", e->more);
}
