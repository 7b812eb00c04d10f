// SPDX-License-Identifier: BSD-3-Clause
// plain.h - escapes names and texts that others have written
//
// Tenants name their devices and certificates, and describe their interfaces. A name is plain if it
// conforms to the type `name` in kamuee.yang. A text is plain if it is UTF-8 without control
// characters (C0, DEL, C1), line and paragraph separators (U+2028, U+2029) and bidirectional
// controls. Plain text cannot pass for more than one line, and a terminal only prints it.
//
// Text is checked on input: configuration (yang/config_check.c), input of operations
// (restconf_operation.c), names and aliases of devices (netlink_parse.c, tap_alias.c). It is
// escaped on output: JSON (jwrite.c), metrics (metric.c), log (log.c), error sentences (errors.c).
// The CLI does the same (cli/kamuee/plain.py).
#ifndef BASE_PLAIN_H
#define BASE_PLAIN_H

#include <stdbool.h>
#include <stddef.h>

#include "base/text.h"

bool plain_name(const char *s);           // also for names of Linux devices
bool plain_text(const char *s, size_t n); // n bytes; a NUL among them is not plain

// Bytes of the character at s if plain text may contain it, else 0. [s, end) is not empty.
size_t plain_letter(const char *s, const char *end);

// Writes to `shown`: the character at s if it is plain, \u001b for a character that is not, or \xff
// for a byte that is not UTF-8. Returns the number of bytes of s that it represents.
#define PLAIN_SHOWN 8
size_t plain_show(const char *s, const char *end, char shown[PLAIN_SHOWN]);
// Appends s, escaped as above. `lines`: keeps line ends and tabs, for text of several lines.
void plain_append(struct text *t, const char *s, bool lines);
// The same inside quotes of JSON or Prometheus: adds a backslash before each quote and backslash.
// `lines`: line ends and tabs become \n and \t.
void plain_append_quoted(struct text *t, const char *s, bool lines);
// The same into a buffer: as many whole characters as fit before the NUL.
const char *plain_copy(char *to, size_t size, const char *s);

// Shows a device name that may not be plain: writes a backslash, and any character that a name
// cannot have, as \x5c, so that two names never look alike.
#define PLAIN_NAME_SHOWN 64 // of at most 15 bytes
const char *plain_name_shown(const char *s, char buf[PLAIN_NAME_SHOWN]);

#endif
