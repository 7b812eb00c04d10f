// SPDX-License-Identifier: BSD-3-Clause
// log_field.h - splits a log line into fields: "module: what: key=value key=\"value\""
//
// Any thread; no state.
#ifndef BASE_LOG_FIELD_H
#define BASE_LOG_FIELD_H

#include <stddef.h>

#define LOG_FIELDS_MAX 24

struct log_piece { // part of the line, not NUL-terminated
    const char *s;
    size_t n;
};

struct log_fields {
    struct log_piece module, what; // what.n is 0 if pairs follow the module directly
    unsigned n;
    struct log_piece key[LOG_FIELDS_MAX], value[LOG_FIELDS_MAX];
    const char *id; // from log_id.def; NULL if the line has none
};
void log_fields_read(const char *line, struct log_fields *f);

// The table of log_id.def, for tests and documents.
struct log_id {
    const char *text, *id;
};
extern const struct log_id log_ids[];
extern const unsigned log_ids_n;

#endif
