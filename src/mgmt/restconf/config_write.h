// SPDX-License-Identifier: BSD-3-Clause
// config_write.h - a part of a configuration as JSON (RFC 7951), in slices
//
// Printing a configuration of 10,000 rules takes longer than another client should wait. So the
// caller writes it in pieces and checks the clock in between; the tree must not change meanwhile
// (hold a snapshot). Control role.
#ifndef RESTCONF_CONFIG_WRITE_H
#define RESTCONF_CONFIG_WRITE_H

#include <libyang/libyang.h>
#include <stdbool.h>

#include "base/jwrite.h"
#include "restconf/fields.h"

#define CONFIG_ALL_LEVELS UINT32_MAX

struct config_part {
    const struct lyd_node *first;    // siblings; NULL: none
    const struct lysc_node *only;    // only siblings of this schema node; NULL: all
    bool one;                        // only `first`
    const char *defaults;            // as in ?with-defaults=, NULL: explicit
    const struct field *fields;      // selected fields; NULL: everything
    bool fields_of_parent;           // `fields` apply to the parent of the siblings
    uint32_t levels;                 // of containers and list entries within each
    struct page page;                // of the siblings
};

struct config_writer;
// Writes members into the open object of `out`. The data in `p` must live until the writer is
// freed.
struct config_writer *config_writer_new(const struct config_part *p, struct jwrite *out);
bool config_writer_step(
    struct config_writer *w); // writes another piece; false: done
void config_writer_free(struct config_writer *w);

#endif
