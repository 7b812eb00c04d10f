// SPDX-License-Identifier: BSD-3-Clause
// complete.h - completion of a set/delete line; control role
#ifndef CONFIG_COMPLETE_H
#define CONFIG_COMPLETE_H

#include <stdbool.h>

#include "base/jwrite.h"
#include "base/text.h"

// Writes the members of the output of the operation `complete`: "candidate": [{word, help}], and
// "expect" where a value is due.
struct lyd_node;
// `tree`: configuration that the line will be added to. `live`: also offers names of existing
// objects of any owner.
void complete_line(const char *line, const struct lyd_node *tree, bool live, struct jwrite *out);

#endif
