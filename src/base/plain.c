// SPDX-License-Identifier: BSD-3-Clause
// plain.c - decodes UTF-8, and escapes all that is not plain (plain.h)
//
// The decoder accepts only the shortest form of each character and no surrogates (RFC 3629). A
// character that is not plain is shown as \uNNNN, a byte that is no UTF-8 as \xNN. All functions
// for output are built on plain_show(), which shows one character.
#include "base/plain.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>

#define NAME_LETTERS "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.-"
#define NAME_LONGEST 15

bool plain_name(const char *s)
{
    size_t n = strspn(s, NAME_LETTERS);

    return n && n <= NAME_LONGEST && !s[n];
}

// --- characters ---------------------------------------------------------------------------------

// Length of the UTF-8 sequence at s, 0 if it is invalid (RFC 3629: no overlong forms, no
// surrogates).
static size_t read_letter(const uint8_t *s, size_t room, uint32_t *letter)
{
    static const uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
    size_t n = *s < 0x80 ? 1 : *s < 0xc2 ? 0 : *s < 0xe0 ? 2 : *s < 0xf0 ? 3 : *s < 0xf5 ? 4 : 0;
    uint32_t c = n < 2 ? *s : *s & (0x7fu >> n);

    if (n > room)
        return 0;
    for (size_t i = 1; i < n; i++) {
        if ((s[i] & 0xc0) != 0x80)
            return 0;
        c = c << 6 | (s[i] & 0x3f);
    }
    *letter = c;
    return n && c >= least[n] && c <= 0x10ffff && (c < 0xd800 || c > 0xdfff) ? n : 0;
}

static bool is_plain(uint32_t c)
{
    bool control = c < 0x20 || (c >= 0x7f && c < 0xa0), separator = c == 0x2028 || c == 0x2029,
         direction = c == 0x061c || c == 0x200e || c == 0x200f || (c >= 0x202a && c <= 0x202e) ||
                     (c >= 0x2066 && c <= 0x2069);

    return !control && !separator && !direction;
}

size_t plain_letter(const char *s, const char *end)
{
    uint32_t c = 0;
    size_t n = read_letter((const uint8_t *)s, (size_t)(end - s), &c);

    return is_plain(c) ? n : 0;
}

bool plain_text(const char *s, size_t n)
{
    const char *end = s + n;

    for (size_t k; s < end; s += k)
        if (!(k = plain_letter(s, end)))
            return false;
    return true;
}

// --- escaping -----------------------------------------------------------------------------------

size_t plain_show(const char *s, const char *end, char shown[PLAIN_SHOWN])
{
    size_t n = plain_letter(s, end);
    uint32_t c;

    if (n) {
        memcpy(shown, s, n);
        shown[n] = 0;
    } else if ((n = read_letter((const uint8_t *)s, (size_t)(end - s), &c))) {
        snprintf(shown, PLAIN_SHOWN, "\\u%04x", c & 0xffff); // all of them fit
    } else {
        snprintf(shown, PLAIN_SHOWN, "\\x%02x", (uint8_t)*s);
        n = 1;
    }
    return n;
}

static bool is_layout(char c) // allowed in a text of several lines
{
    return c == '\n' || c == '\t';
}

void plain_append(struct text *t, const char *s, bool lines)
{
    const char *end = s + strlen(s);
    char shown[PLAIN_SHOWN];

    while (s < end) {
        if (lines && is_layout(*s)) {
            text_append(t, s++, 1);
            continue;
        }
        s += plain_show(s, end, shown);
        text_append(t, shown, strlen(shown));
    }
}

static size_t simple_letters(const char *s) // printable ASCII that needs no escape
{
    size_t n = 0;

    while (s[n] >= ' ' && s[n] < 0x7f && s[n] != '"' && s[n] != '\\')
        n++;
    return n;
}

void plain_append_quoted(struct text *t, const char *s, bool lines)
{
    const char *end = s + strlen(s);
    char shown[PLAIN_SHOWN];

    for (;;) {
        size_t n = simple_letters(s);
        text_append(t, s, n);
        s += n;
        if (s == end)
            return;
        if (lines && is_layout(*s)) {
            text_append(t, *s++ == '\n' ? "\\n" : "\\t", 2);
            continue;
        }
        s += plain_show(s, end, shown);
        if (*shown == '"' || *shown == '\\')
            text_append(t, "\\", 1);
        text_append(t, shown, strlen(shown));
    }
}

const char *plain_copy(char *to, size_t size, const char *s)
{
    const char *end = s + strlen(s);
    size_t used = 0;
    char shown[PLAIN_SHOWN];

    while (s < end) {
        s += plain_show(s, end, shown);
        size_t n = strlen(shown);
        if (used + n >= size)
            break;
        memcpy(to + used, shown, n);
        used += n;
    }
    to[used] = 0;
    return to;
}

const char *plain_name_shown(const char *s, char buf[PLAIN_NAME_SHOWN])
{
    size_t used = 0;

    for (; *s && used + 4 < PLAIN_NAME_SHOWN; s++) {
        bool visible = *s > ' ' && *s < 0x7f && *s != '\\';
        used += (size_t)snprintf(buf + used, PLAIN_NAME_SHOWN - used, visible ? "%c" : "\\x%02x",
                                 (uint8_t)*s);
    }
    buf[used] = 0;
    return buf;
}
