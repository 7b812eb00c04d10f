// SPDX-License-Identifier: BSD-3-Clause
// errors.h - what is wrong with a configuration: up to 20 sentences, each with its line
//
// Reading goes on after an error so that an operator sees all of them at once.
// Each sentence says what was expected. Heap; the caller frees. Control role.
#ifndef BASE_ERRORS_H
#define BASE_ERRORS_H

#include "base/text.h"

#define ERRORS_MAX 20

struct errors {
    struct error {
        unsigned line;  // 0 = none
        char owner[16]; // virtual router about which it is, and no other; "" = it may be about all
        char *sentence;
    } item[ERRORS_MAX];
    unsigned n;
    unsigned more; // further errors that are not kept
};

void errors_add(struct errors *e, unsigned line, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));
// About what belongs to one virtual router: its administrators may read it.
void errors_add_of(struct errors *e, const char *owner, unsigned line, const char *fmt, ...)
    __attribute__((format(printf, 4, 5)));
void errors_free(struct errors *e);
// One per line: "FILE:LINE: sentence", or "line N: sentence" without a file name, or the sentence
// alone when there is no line.
void errors_text(const struct errors *e, const char *file, struct text *t);
void errors_one(const struct error *e, const char *file, struct text *t);

#endif
