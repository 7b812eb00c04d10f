// SPDX-License-Identifier: BSD-3-Clause
// filter_fuzz.c - any text as an event filter: it is refused with a sentence, or gives a result for
// any event
#include <string.h>

#include "base/log.h"
#include "core/thread.h"
#include "event/filter.h"
#include "yang/yang.h"

int LLVMFuzzerInitialize(int *argc, char ***argv);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
    char err[256];

    thread_adopt(ROLE_CONTROL, THREAD_SLOT_CONTROL);
    log_set_level(LOG_LEVEL_ERROR);
    bug_on(yang_load(err, sizeof err));
    return 0;
}

// A byte below 32 stands for a word.
static void expand(const uint8_t *data, size_t size, struct text *t)
{
    static const char *const word[] = {"/kamuee:",
                                       "link-change",
                                       "[",
                                       "]",
                                       "port",
                                       "status",
                                       "=",
                                       "'",
                                       "\"",
                                       "up",
                                       " and ",
                                       " | ",
                                       "p0",
                                       "route-change",
                                       "alarm-change",
                                       "configuration-change",
                                       "change",
                                       "lines",
                                       "1",
                                       "kamuee:",
                                       "//*",
                                       "count(",
                                       "events-missed"};

    for (size_t i = 0; i < size; i++) {
        if (data[i] < sizeof word / sizeof *word)
            text_append(t, word[data[i]], strlen(word[data[i]]));
        else
            text_append(t, data + i, 1);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct text t = {0}, why = {0};
    json_t *link = json_pack("{s:s, s:s}", "port", "p0", "status", "up"),
           *commit = json_pack("{s:i, s:[s]}", "lines", 1, "change", "p0");

    expand(data, size, &t);
    struct filter *f = filter_parse(text_str(&t), &why);
    bug_on(!f == !why.n);
    if (f) {
        filter_passes(f, "link-change", link);
        filter_passes(f, "configuration-change", commit);
        filter_passes(f, "events-missed", NULL);
    }
    filter_free(f);
    json_decref(link);
    json_decref(commit);
    text_free(&t);
    text_free(&why);
    return 0;
}
