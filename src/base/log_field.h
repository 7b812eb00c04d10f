// SPDX-License-Identifier: BSD-3-Clause
// log_field.h - a log line as fields: "module: what: key=value key=\"value\""
//
// Any thread; no state.
#ifndef BASE_LOG_FIELD_H
#define BASE_LOG_FIELD_H

#include <stddef.h>

#define LOG_FIELDS_MAX 24

struct log_piece { // of the line, not ended by a NUL
    const char *s;
    size_t n;
};

struct log_fields {
    struct log_piece module, what; // what.n 0: the pairs follow the module
    unsigned n;
    struct log_piece key[LOG_FIELDS_MAX], value[LOG_FIELDS_MAX];
    const char *id; // of log_id.def, NULL: it has none
};
void log_fields_read(const char *line, struct log_fields *f);

// The table itself, for tests and documents.
struct log_id {
    const char *text, *id;
};
extern const struct log_id log_ids[];
extern const unsigned log_ids_n;

#endif
