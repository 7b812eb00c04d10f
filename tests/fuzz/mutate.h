// SPDX-License-Identifier: BSD-3-Clause
// mutate.h - a frame becomes another one that a router may meet
//
// Structure-aware: it finds the headers and changes fields, lengths, options, extension headers and
// tags, as well as single bits; most results have a right checksum, so that they get past the first
// check.
#ifndef FUZZ_MUTATE_H
#define FUZZ_MUTATE_H

#include "random.h"

#define MUTATED_MAX 9200u // bytes: jumbo frames

// Changes the frame `times` times.
void mutate(struct random *r, struct frame *f, unsigned times);

#endif
