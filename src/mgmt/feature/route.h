// SPDX-License-Identifier: BSD-3-Clause
// route.h - columns of a next hop, and routes streamed in another model; control role
#ifndef FEATURE_ROUTE_H
#define FEATURE_ROUTE_H

#include "base/jwrite.h"
#include "restconf/column.h"

struct http;
struct rib_row;

extern const struct column route_hop_columns[]; // of a struct rib_hop

struct route_dialect { // output format of a model; static
    const char *head, *tail;
    void (*write)(struct jwrite *j, const struct rib_row *r);
};
// Streams the routes that pass the query's filters, and ends the answer.
void route_stream_as(struct http *h, const char *vr, const char *family,
                     const struct route_dialect *d);

#endif
