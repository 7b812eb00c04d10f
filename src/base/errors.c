// SPDX-License-Identifier: BSD-3-Clause
// errors.c - collects the errors of a configuration (errors.h)
//
// Sentences quote words of the operator, so each is escaped (plain.h) when it is added. After
// ERRORS_MAX only the number of further errors grows.
#include "base/errors.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/plain.h"

static void add_sentence(struct errors *e, const char *owner, unsigned line, const char *fmt,
                         va_list ap)
{
    struct error *slot = &e->item[e->n];
    struct text plain = {0};
    char *sentence;

    if (e->n == ERRORS_MAX) {
        e->more++;
        return;
    }
    bug_on(vasprintf(&sentence, fmt, ap) < 0);
    plain_append(&plain, sentence, true);
    free(sentence);
    slot->sentence = plain.s ? plain.s : strdup("");
    slot->line = line;
    snprintf(slot->owner, sizeof slot->owner, "%s", owner);
    e->n++;
}

void errors_add(struct errors *e, unsigned line, const char *fmt, ...)
{
    va_list ap;

    va_start(ap, fmt);
    add_sentence(e, "", line, fmt, ap);
    va_end(ap);
}

void errors_add_of(struct errors *e, const char *owner, unsigned line, const char *fmt, ...)
{
    va_list ap;

    va_start(ap, fmt);
    add_sentence(e, owner, line, fmt, ap);
    va_end(ap);
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
