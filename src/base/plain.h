// SPDX-License-Identifier: BSD-3-Clause
// plain.h - names and texts of others: which are plain, and how any other is shown
//
// A tenant names its devices and certificates, and describes its interfaces. A name is plain if it
// is one of the type `name` in kamuee.yang; a text is, if it is UTF-8 without control characters
// (C0, DEL, C1), line and paragraph separators (U+2028, U+2029) and controls of the writing
// direction. A reader of plain text cannot take it for more than one line, and a terminal only
// prints it.
//
// Text is checked where it enters: configuration (yang/config_check.c), input of operations
// (restconf_operation.c), names and aliases of devices (netlink_parse.c, tap_alias.c). It is
// escaped where it leaves: JSON (jwrite.c, error_body.c), metrics (metric.c), log (log.c), error
// sentences (errors.c); the CLI does the same (cli/kamuee/plain.py).
#ifndef BASE_PLAIN_H
#define BASE_PLAIN_H

#include <stdbool.h>
#include <stddef.h>

#include "base/text.h"

bool plain_name(const char *s);           // also the name of a Linux device
bool plain_text(const char *s, size_t n); // n bytes; a NUL among them is not plain

// Bytes of the character at s if a plain text may have it, else 0. [s, end) is not empty.
size_t plain_letter(const char *s, const char *end);

// Into `shown`: the character at s, or \u001b for one that a plain text cannot have, or \xff for a
// byte that is not UTF-8. Returns how many bytes of s it stands for.
#define PLAIN_SHOWN 8
size_t plain_show(const char *s, const char *end, char shown[PLAIN_SHOWN]);
// Appends s, shown so. `lines`: line ends and tabs stay, because it may be a text of several lines.
void plain_append(struct text *t, const char *s, bool lines);
// The same for between quotes of JSON or Prometheus: a backslash before each quote and backslash.
// `lines`: line ends and tabs become \n and \t.
void plain_append_quoted(struct text *t, const char *s, bool lines);
// The same into a buffer: whole characters, as many as fit before the NUL.
const char *plain_copy(char *to, size_t size, const char *s);

// A name that is not plain, for a person: what no name can have, and the backslash, is written as
// \x5c, so that two names never look alike.
#define PLAIN_NAME_SHOWN 64 // of at most 15 bytes
const char *plain_name_shown(const char *s, char buf[PLAIN_NAME_SHOWN]);

// For MIBs: length of the longest beginning of at most `max` bytes that ends with a whole
// character (SnmpAdminString), and a copy in which '?' stands for each character that is not ASCII
// (DisplayString, RFC 2579).
size_t plain_cut(const char *s, size_t max);
const char *plain_ascii(char *to, size_t size, const char *s);

#endif
