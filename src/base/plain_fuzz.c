// SPDX-License-Identifier: BSD-3-Clause
// plain_fuzz.c - any bytes as a device name or a text: all output is plain
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/plain.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_names(const char *s)
{
    char name[16] = {0}, shown[PLAIN_NAME_SHOWN];

    memcpy(name, s, strnlen(s, 15));
    plain_name_shown(name, shown);
    bug_on(!plain_text(shown, strlen(shown)));
    bug_on(plain_name(name) && strcmp(name, shown));
}

// Copies to a heap block of exactly that size, so that a sanitizer detects an overrun.
static void check_copies(const char *s, size_t size)
{
    char *to = malloc(size);

    bug_on(!to);
    plain_copy(to, size, s);
    bug_on(!plain_text(to, strlen(to)));
    free(to);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct text t = {0}, quoted = {0};
    char *s = malloc(size + 1);

    bug_on(!s);
    memcpy(s, data, size);
    s[size] = 0;
    plain_append(&t, s, false);
    bug_on(!plain_text(text_str(&t), t.n));
    bug_on(plain_text(s, strlen(s)) && strcmp(s, text_str(&t)));
    plain_append_quoted(&quoted, s, size & 1);
    bug_on(!plain_text(text_str(&quoted), quoted.n));
    for (const char *p = text_str(&quoted); *p; p++) {
        bug_on(*p == '"'); // it would end the string
        p += *p == '\\';
        bug_on(!*p);
    }
    check_names(s);
    check_copies(s, size ? (size_t)data[0] % 64 + 1 : 1);
    text_free(&quoted);
    text_free(&t);
    free(s);
    return 0;
}
