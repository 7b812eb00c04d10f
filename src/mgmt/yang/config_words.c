// SPDX-License-Identifier: BSD-3-Clause
// config_words.c - the words of a configuration line, and their quoting
//
// Words are separated by spaces or tabs. "…" keeps spaces in a word; inside,
// \" \\ \n \t stand for themselves. A '#' at the beginning of a word starts a
// comment that ends the line: a '#' inside a word is a letter like any other.
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "yang/config_tree.h"

static bool is_space(char c)
{
    return c == ' ' || c == '\t' || c == '\r';
}

static char unescape(char c)
{
    return c == 'n' ? '\n' : c == 't' ? '\t' : c;
}

// Copies one word from p to out; returns its end in the line, or NULL if a quote is not closed.
static const char *take_word(const char *p, char **out)
{
    bool quoted = false;

    for (; *p && (quoted || !is_space(*p)); p++) {
        if (*p == '"')
            quoted = !quoted;
        else if (quoted && *p == '\\' && p[1])
            *(*out)++ = unescape(*++p);
        else
            *(*out)++ = *p;
    }
    *(*out)++ = 0;
    return quoted ? NULL : p;
}

int words_split(const char *line, bool lenient, struct words *w, const char **why)
{
    const char *p = line;
    char *out = malloc(strlen(line) + WORDS_MAX + 2);

    bug_on(!out);
    memset(w, 0, sizeof *w);
    w->buffer = out;
    for (;;) {
        while (is_space(*p))
            p++;
        if (!*p || *p == '#')
            return 0;
        if (w->n == WORDS_MAX) {
            *why = "the line has more than 128 words";
            return -EINVAL;
        }
        w->word[w->n++] = out;
        p = take_word(p, &out);
        if (!p && !lenient) {
            *why = "a quote \" is not closed";
            return -EINVAL;
        }
        w->open = !p || !*p;
        if (!p)
            return 0;
    }
}

void words_free(struct words *w)
{
    free(w->buffer);
    w->buffer = NULL;
    w->n = 0;
}

void words_quote(const char *word, struct text *t)
{
    if (*word && *word != '#' && !strpbrk(word, " \t\r\n\"\\")) {
        text_append(t, word, strlen(word));
        return;
    }
    text_append(t, "\"", 1);
    for (const char *p = word; *p; p++) {
        if (*p == '"' || *p == '\\')
            text_printf(t, "\\%c", *p);
        else if (*p == '\n')
            text_append(t, "\\n", 2);
        else if (*p == '\t')
            text_append(t, "\\t", 2);
        else
            text_append(t, p, 1);
    }
    text_append(t, "\"", 1);
}
