// SPDX-License-Identifier: BSD-3-Clause
// kernel_state.c - the list of Linux settings that kamueed does not follow (kernel_state.h)
//
// A row is a subject, an attribute and a sentence. Setting a row to the sentence that it has does
// nothing; so callers report the state whenever they see it, and only changes are logged.
#include "interface/kernel_state.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/log.h"
#include "base/vec.h"
#include "core/thread.h"

static VEC(struct kernel_state) list;

static struct kernel_state *find_state(const char *subject, const char *attribute)
{
    vec_foreach (&list, s)
        if (!strcmp(s->subject, subject) && !strcmp(s->attribute, attribute))
            return s;
    return NULL;
}

static void remove_state(struct kernel_state *s)
{
    log_notice("kernel_state: resolved: subject=%s attribute=%s", s->subject, s->attribute);
    memmove(s, s + 1, (size_t)(list.item + list.n - s - 1) * sizeof *s);
    list.n--;
}

void kernel_state_set(const char *subject, const char *attribute, bool is, const char *fmt, ...)
{
    struct kernel_state *s = find_state(subject, attribute);
    char sentence[sizeof s->sentence];
    va_list ap;

    thread_must_be(ROLE_CONTROL);
    if (!is) {
        if (s)
            remove_state(s);
        return;
    }
    va_start(ap, fmt);
    vsnprintf(sentence, sizeof sentence, fmt, ap);
    va_end(ap);
    if (s && !strcmp(s->sentence, sentence))
        return;
    if (!s)
        s = vec_push(&list);
    snprintf(s->subject, sizeof s->subject, "%s", subject);
    snprintf(s->attribute, sizeof s->attribute, "%s", attribute);
    memcpy(s->sentence, sentence, sizeof s->sentence);
    log_warning("kernel_state: not followed: subject=%s attribute=%s what=%s", s->subject,
                s->attribute, LOG_VALUE(s->sentence));
}

void kernel_state_forget(const char *subject)
{
    thread_must_be(ROLE_CONTROL);
    for (size_t i = list.n; i-- > 0;)
        if (!strcmp(list.item[i].subject, subject))
            remove_state(&list.item[i]);
    if (!list.n)
        vec_free(&list);
}

void kernel_state_each(void (*fn)(void *ctx, const struct kernel_state *s), void *ctx)
{
    vec_foreach (&list, s)
        fn(ctx, s);
}
