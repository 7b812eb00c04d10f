// SPDX-License-Identifier: BSD-3-Clause
// http_stats.h - requests refused by the HTTP server, and resources used by its clients; control
// role
#ifndef HTTP_HTTP_STATS_H
#define HTTP_HTTP_STATS_H

#include <stdint.h>

enum http_refusal {
    REFUSED_MALFORMED,   // not HTTP, or HTTP that others might read differently
    REFUSED_UNKNOWN,     // no known token or certificate
    REFUSED_PAUSED,      // too many wrong tokens from this address
    REFUSED_ROLE,        // a body that the role does not allow
    REFUSED_LENGTH,      // too long a header or body
    REFUSED_BODIES,      // too many bytes of unfinished bodies
    REFUSED_ANSWERS,     // too many bytes of unread answers
    REFUSED_CONNECTIONS, // a connection closed at a limit
    REFUSED_N
};
extern const char *const http_refusal_name[REFUSED_N];

struct http_stats {
    uint64_t refused[REFUSED_N];
    unsigned connections;
    uint64_t body_bytes; // announced by requests without an answer yet
};
const struct http_stats *http_stats(void);

#endif
