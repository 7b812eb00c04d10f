// SPDX-License-Identifier: BSD-3-Clause
// jwrite.c - see jwrite.h
//
// A table of a million routes goes through here, so numbers are formatted by hand, and only the
// text is allocated.
#include "base/jwrite.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/plain.h"

static void put_text(struct jwrite *j, const char *s)
{
    text_append(j->t, s, strlen(s));
}

// Comma and key before a value.
static void put_key(struct jwrite *j, const char *key)
{
    if (j->comma)
        text_append(j->t, ",", 1);
    j->comma = true;
    if (!key)
        return;
    text_append(j->t, "\"", 1);
    put_text(j, key);
    text_append(j->t, "\":", 2);
}

void jwrite_begin(struct jwrite *j, const char *key, char bracket)
{
    put_key(j, key);
    text_append(j->t, &bracket, 1);
    j->comma = false;
}

void jwrite_end(struct jwrite *j, char bracket)
{
    text_append(j->t, &bracket, 1);
    j->comma = true;
}

void jwrite_string(struct jwrite *j, const char *key, const char *value)
{
    put_key(j, key);
    text_append(j->t, "\"", 1);
    plain_append_quoted(j->t, value, true);
    text_append(j->t, "\"", 1);
}

static void put_number(struct jwrite *j, uint64_t v, bool negative, const char *quote)
{
    char buf[24], *p = buf + sizeof buf;

    do
        *--p = (char)('0' + v % 10);
    while (v /= 10);
    if (negative)
        *--p = '-';
    put_text(j, quote);
    text_append(j->t, p, (size_t)(buf + sizeof buf - p));
    put_text(j, quote);
}

void jwrite_string_any(struct jwrite *j, const char *key, const char *value)
{
    if (*value)
        jwrite_string(j, key, value);
}

void jwrite_int(struct jwrite *j, const char *key, int64_t value)
{
    put_key(j, key);
    put_number(j, value < 0 ? -(uint64_t)value : (uint64_t)value, value < 0, "");
}

void jwrite_u64(struct jwrite *j, const char *key, uint64_t value)
{
    put_key(j, key);
    put_number(j, value, false, "\"");
}

void jwrite_i64(struct jwrite *j, const char *key, int64_t value)
{
    put_key(j, key);
    put_number(j, value < 0 ? -(uint64_t)value : (uint64_t)value, value < 0, "\"");
}

void jwrite_bool(struct jwrite *j, const char *key, bool value)
{
    put_key(j, key);
    put_text(j, value ? "true" : "false");
}

void jwrite_mac(struct jwrite *j, const char *key, const uint8_t mac[6])
{
    char buf[MAC_TEXT_MAX];

    jwrite_string(j, key, text_format_mac(mac, buf));
}

void jwrite_ip(struct jwrite *j, const char *key, const struct ip_addr *a)
{
    char buf[IP_TEXT_MAX];

    jwrite_string(j, key, ip_format(a, buf));
}

void jwrite_ip_any(struct jwrite *j, const char *key, const struct ip_addr *a)
{
    if (a->family)
        jwrite_ip(j, key, a);
}

void jwrite_prefix(struct jwrite *j, const char *key, const struct prefix *p)
{
    char buf[PREFIX_TEXT_MAX];

    jwrite_string(j, key, prefix_format(p, buf));
}

void jwrite_labels(struct jwrite *j, const char *key, const struct label_stack *s)
{
    if (!s->n)
        return;
    jwrite_begin(j, key, '[');
    for (unsigned i = 0; i < s->n; i++)
        jwrite_int(j, NULL, s->label[i]);
    jwrite_end(j, ']');
}

void jwrite_raw(struct jwrite *j, const char *key, const char *value)
{
    put_key(j, key);
    put_text(j, value);
}

void jwrite_time(struct jwrite *j, const char *key, uint64_t wall_ns)
{
    time_t t = (time_t)(wall_ns / 1000000000);
    char text[40];
    struct tm tm;
    size_t n = strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%S", gmtime_r(&t, &tm));

    snprintf(text + n, sizeof text - n, ".%03uZ", (unsigned)(wall_ns / 1000000 % 1000));
    jwrite_string(j, key, text);
}
