// SPDX-License-Identifier: BSD-3-Clause
// jwrite.h - writing JSON (RFC 7951) into a text
//
//     jwrite_begin(&j, "port", '[');
//     jwrite_begin(&j, NULL, '{');
//     jwrite_string(&j, "name", "p0");
//     jwrite_u64(&j, "rx-packets", 7);    // "7": 64-bit numbers are strings
//     jwrite_end(&j, '}');
//     jwrite_end(&j, ']');
//
// A NULL key writes an array element. Any thread; no state but the struct.
#ifndef BASE_JWRITE_H
#define BASE_JWRITE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/ip.h"
#include "base/label_stack.h"
#include "base/text.h"

struct jwrite {
    struct text *t;
    bool comma; // the next value needs a comma
};

void jwrite_begin(struct jwrite *j, const char *key, char bracket);
void jwrite_end(struct jwrite *j, char bracket);
// Keeps line ends and tabs; escapes everything else that plain.h does not allow as \u001b or \xff.
void jwrite_string(struct jwrite *j, const char *key, const char *value);
void jwrite_string_any(struct jwrite *j, const char *key, const char *value); // skips ""
void jwrite_int(struct jwrite *j, const char *key, int64_t value);  // a number: up to 32 bits
void jwrite_u64(struct jwrite *j, const char *key, uint64_t value); // a string
void jwrite_i64(struct jwrite *j, const char *key, int64_t value);  // a string
void jwrite_bool(struct jwrite *j, const char *key, bool value);
void jwrite_mac(struct jwrite *j, const char *key, const uint8_t mac[6]);
void jwrite_ip(struct jwrite *j, const char *key, const struct ip_addr *a);
void jwrite_ip_any(struct jwrite *j, const char *key, const struct ip_addr *a); // if it is set
void jwrite_prefix(struct jwrite *j, const char *key, const struct prefix *p);
// Labels, outermost first; absent if there are none.
void jwrite_labels(struct jwrite *j, const char *key, const struct label_stack *s);
// RFC 3339, UTC, milliseconds.
void jwrite_time(struct jwrite *j, const char *key, uint64_t wall_ns);
void jwrite_raw(struct jwrite *j, const char *key, const char *value); // value is already JSON

#endif
