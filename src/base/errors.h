// SPDX-License-Identifier: BSD-3-Clause
// errors.h - errors of a configuration: up to 20 sentences, each with its line
//
// Reading continues after an error so that an operator sees all of them at once. Each sentence says
// which input was expected. Heap; the caller frees. Control role.
#ifndef BASE_ERRORS_H
#define BASE_ERRORS_H

#include "base/text.h"

#define ERRORS_MAX 20

struct errors {
    struct error {
        unsigned line;  // 0 = none
        char owner[16]; // the only virtual router that it concerns; "" = possibly all
        char *sentence;
    } item[ERRORS_MAX];
    unsigned n;
    unsigned more; // further errors, not stored
};

void errors_add(struct errors *e, unsigned line, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));
// An error about one virtual router: its administrators may read it.
void errors_add_of(struct errors *e, const char *owner, unsigned line, const char *fmt, ...)
    __attribute__((format(printf, 4, 5)));
void errors_free(struct errors *e);
// One per line: "FILE:LINE: sentence", "line N: sentence" without a file name, or just the sentence
// without a line number.
void errors_text(const struct errors *e, const char *file, struct text *t);
void errors_one(const struct error *e, const char *file, struct text *t);

#endif
