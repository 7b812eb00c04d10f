// SPDX-License-Identifier: BSD-3-Clause
// text.h - growing text buffers and small parsers
//
// A struct text is a NUL-terminated heap string that grows. Free it with text_free().
#ifndef BASE_TEXT_H
#define BASE_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct text {
    char *s; // NULL while empty
    size_t n, cap;
};

void text_printf(struct text *t, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
void text_append(struct text *t, const void *p, size_t n);
void text_clear(struct text *t);
void text_free(struct text *t);
static inline const char *text_str(const struct text *t)
{
    return t->s ? t->s : "";
}

// Parses the whole string as an unsigned number in [min, max]; 0, -EINVAL or -ERANGE.
int text_parse_u64(const char *s, uint64_t min, uint64_t max, uint64_t *value);
static inline int text_hex_digit(char c) // -1: none
{
    return c >= '0' && c <= '9'   ? c - '0'
           : c >= 'a' && c <= 'f' ? c - 'a' + 10
           : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                  : -1;
}
// Parses "02:00:00:00:00:01"; 0 or -EINVAL.
int text_parse_mac(const char *s, uint8_t mac[6]);
#define MAC_TEXT_MAX 18
const char *text_format_mac(const uint8_t mac[6], char *buf);

int natural_compare(const char *a, const char *b); // numbers by value: p2 before p10

#endif
