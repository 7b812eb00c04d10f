// SPDX-License-Identifier: BSD-3-Clause
// http_stats.h - what the HTTP server refused so far, and what its clients hold; control role
#ifndef HTTP_HTTP_STATS_H
#define HTTP_HTTP_STATS_H

#include <stdint.h>

enum http_refusal {
    REFUSED_MALFORMED,   // no HTTP, or HTTP that others might read otherwise
    REFUSED_UNKNOWN,     // no token or certificate that is known
    REFUSED_PAUSED,      // too many wrong tokens from this address
    REFUSED_ROLE,        // a body that the role does not allow
    REFUSED_LENGTH,      // a header or body that is too long
    REFUSED_BODIES,      // too many bytes of bodies under way
    REFUSED_ANSWERS,     // too many bytes of answers that are not read
    REFUSED_CONNECTIONS, // a connection shut at a bound
    REFUSED_N
};
extern const char *const http_refusal_name[REFUSED_N];

struct http_stats {
    uint64_t refused[REFUSED_N];
    unsigned connections;
    uint64_t body_bytes; // announced by requests that have no answer yet
};
const struct http_stats *http_stats(void);

#endif
