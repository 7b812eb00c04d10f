// SPDX-License-Identifier: BSD-3-Clause
// text.c - growing buffers, and parsers of numbers, MACs and names (text.h)
//
// A buffer doubles when it is full, and text_printf() tries in place first. natural_compare()
// orders runs of digits by their value, so p2 comes before p10.
#include "base/text.h"

#include <ctype.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"

static void reserve_room(struct text *t, size_t more)
{
    if (t->n + more + 1 <= t->cap)
        return;
    size_t cap = t->cap ? t->cap : 64;
    while (cap < t->n + more + 1)
        cap *= 2;
    t->s = realloc(t->s, cap);
    bug_on(!t->s);
    t->cap = cap;
}

void text_append(struct text *t, const void *p, size_t n)
{
    reserve_room(t, n);
    memcpy(t->s + t->n, p, n);
    t->n += n;
    t->s[t->n] = 0;
}

void text_printf(struct text *t, const char *fmt, ...)
{
    va_list ap, again;

    va_start(ap, fmt);
    va_copy(again, ap);
    int n = vsnprintf(t->s ? t->s + t->n : NULL, t->cap - t->n, fmt, ap);
    va_end(ap);
    bug_on(n < 0);
    if (t->n + (size_t)n >= t->cap) { // it did not fit
        reserve_room(t, (size_t)n);
        vsnprintf(t->s + t->n, (size_t)n + 1, fmt, again);
    }
    va_end(again);
    t->n += (size_t)n;
}

void text_clear(struct text *t)
{
    t->n = 0;
    if (t->s)
        t->s[0] = 0;
}

void text_free(struct text *t)
{
    free(t->s);
    *t = (struct text){0};
}

int text_parse_u64(const char *s, uint64_t min, uint64_t max, uint64_t *value)
{
    char *end;

    if (*s < '0' || *s > '9')
        return -EINVAL;
    errno = 0;
    unsigned long long v = strtoull(s, &end, 0);
    if (*end)
        return -EINVAL;
    if (errno || v < min || v > max)
        return -ERANGE;
    *value = v;
    return 0;
}

int text_parse_mac(const char *s, uint8_t mac[6])
{
    unsigned b[6];
    int used = 0;

    if (sscanf(s, "%2x:%2x:%2x:%2x:%2x:%2x%n", b, b + 1, b + 2, b + 3, b + 4, b + 5, &used) != 6 ||
        s[used])
        return -EINVAL;
    for (int i = 0; i < 6; i++)
        mac[i] = (uint8_t)b[i];
    return 0;
}

const char *text_format_mac(const uint8_t mac[6], char *buf)
{
    snprintf(buf, MAC_TEXT_MAX, "%02x:%02x:%02x:%02x:%02x:%02x", mac[0], mac[1], mac[2], mac[3],
             mac[4], mac[5]);
    return buf;
}

static size_t digits(const char *s)
{
    size_t n = 0;

    while (isdigit((unsigned char)s[n]))
        n++;
    return n;
}

// Compares the numbers at the beginning of both, and advances behind them.
static int compare_numbers(const char **a, const char **b)
{
    size_t n, m;
    int d;

    *a += strspn(*a, "0");
    *b += strspn(*b, "0");
    n = digits(*a);
    m = digits(*b);
    d = n != m ? (n < m ? -1 : 1) : memcmp(*a, *b, n);
    *a += n;
    *b += m;
    return d;
}

int natural_compare(const char *a, const char *b)
{
    while (*a && *b) {
        if (isdigit((unsigned char)*a) && isdigit((unsigned char)*b)) {
            int d = compare_numbers(&a, &b);

            if (d)
                return d < 0 ? -1 : 1;
        } else if (*a != *b) {
            return (unsigned char)*a < (unsigned char)*b ? -1 : 1;
        } else {
            a++;
            b++;
        }
    }
    return *a ? 1 : *b ? -1 : 0;
}
