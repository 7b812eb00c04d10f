// SPDX-License-Identifier: BSD-3-Clause
// arrival.c - see arrival.h
#include "throughput/arrival.h"

#include <string.h>

void arrival_begin(struct arrival *a, struct slices *slices)
{
    memset(a, 0, sizeof(*a));
    a->slices = slices;
}

static void note_lost(struct arrival *a, uint64_t number)
{
    struct slices *s = a->slices;

    a->lost++;
    while (s->at + 1 < s->n && s->first[s->at + 1] <= number)
        s->at++;
    s->lost[s->at]++;
}

// Drops the first word of the window; numbers below `end` were sent.
static void retire_word(struct arrival *a, uint64_t end)
{
    uint64_t *word = &a->bit[a->word % ARRIVAL_WORDS], first = a->word * 64, missing = ~*word;

    if (first + 64 > end)
        missing &= end > first ? (1ull << (end - first)) - 1 : 0;
    for (; missing; missing &= missing - 1)
        note_lost(a, first + (uint64_t)__builtin_ctzll(missing));
    *word = 0;
    a->word++;
}

bool arrival_note(struct arrival *a, uint64_t number)
{
    uint64_t word = number / 64, bit = 1ull << (number % 64);

    if (word < a->word) {
        a->late++;
        return false;
    }
    while (word >= a->word + ARRIVAL_WORDS)
        retire_word(a, UINT64_MAX);
    if (a->bit[word % ARRIVAL_WORDS] & bit) {
        a->duplicated++;
        return false;
    }
    a->bit[word % ARRIVAL_WORDS] |= bit;
    a->received++;
    if (number < a->next)
        a->reordered++;
    else
        a->next = number + 1;
    return true;
}

void arrival_end(struct arrival *a, uint64_t sent)
{
    while (a->word * 64 < sent)
        retire_word(a, sent);
}
