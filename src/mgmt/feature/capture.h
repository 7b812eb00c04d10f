// SPDX-License-Identifier: BSD-3-Clause
// capture.h - captures: frames of a watch, streamed to the client that asked for them
//
// A capture lives as long as its client stays: when the connection ends, for whatever reason, so
// does the watch. Control role.
#ifndef OPERATION_CAPTURE_H
#define OPERATION_CAPTURE_H

#include <stdint.h>

#include "http/http.h"
#include "port/watch_manager.h"

#define CAPTURE_MAX 8
#define CAPTURE_SNAP_DEFAULT WATCH_SNAP_MAX

struct capture {
    unsigned id; // 1, 2, … since kamueed started
    struct watch_spec spec;
    char filter[WATCH_FILTER_MAX + 1]; // as it was given
    uint64_t count;                    // frames wanted, 0 = all
    uint64_t sent;                     // frames given to the client
    uint64_t began_ns;                 // clock_now_ns
    char peer[24];
    int watch; // index, -1 while the filter is compiled
    struct http *http;
};

// Begins a capture as *wish says (spec, filter, count), and answers the request: by an error, or by
// the stream.
void capture_begin(struct http *h, const struct capture *wish);
const struct capture *capture_at(unsigned i); // 0..CAPTURE_MAX-1; NULL: none there


#endif
