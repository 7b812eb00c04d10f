// SPDX-License-Identifier: BSD-3-Clause
// http_peer.h - resource limits of a user of the socket, or an address behind the proxy
//
// A peer is a uid, an IPv4 address or the /64 of an IPv6 address. It is remembered while it has
// connections or requests, and for a while after it has shown wrong tokens. Root and kamueed's own
// user have a reserve of every resource, so that others cannot lock them out. Control role.
#ifndef HTTP_HTTP_PEER_H
#define HTTP_HTTP_PEER_H

#include <stdbool.h>
#include <stdint.h>

#include "base/ip.h"

#define PEER_LIVE_LOCAL 256u          // connections of a uid
#define PEER_LIVE_PROXY 64u           // of an address
#define PEER_BODIES 4u                // bodies of the greatest length, together
#define BODIES_MAX (256u << 20)       // bytes of bodies, of all peers
#define BODIES_RESERVE (64u << 20)    // of these, root's
#define PEER_ANSWERS_MAX (16u << 20)  // bytes of answers that a peer has not read
#define ANSWERS_MAX (64u << 20)       // of all peers
#define ANSWERS_RESERVE (16u << 20)   // of these, root's
#define GUESSES_MAX 10                // wrong tokens in GUESS_WINDOW_S until a pause
#define GUESS_WINDOW_S 60             // from the first one; then the count restarts
#define GUESS_PAUSE_S 10
#define PROVED_FORGET_S 600           // how long a right token is accepted in pauses, too
#define PEER_PROOF 32                 // bytes of a token's hash

struct http_peer {
    uint8_t address[16];
    uint32_t uid;
    bool local, root;
    unsigned live;       // connections
    unsigned requests;   // not answered yet
    uint64_t body_bytes; // of these requests
    unsigned guesses;    // wrong tokens, regardless of right ones in between
    uint64_t first_guess_ns, guess_ns; // of these: the first, the last one
    uint8_t proof[PEER_PROOF];         // hash of the last right one
    uint64_t proof_ns;                 // time of the last right one; 0: none
    struct http_peer *next;
};

// Peer of a connection, referenced through `live`: a user of the socket, or the address given by
// the proxy (NULL: none yet).
struct http_peer *http_peer_of(int fd, bool local, const struct ip_addr *address);
bool http_peer_is(const struct http_peer *p, const struct ip_addr *address);
void http_peer_left(
    struct http_peer *p,
    uint64_t body_bytes); // a connection ended, with an incomplete body
void http_peer_done(struct http_peer *p, uint64_t body_bytes); // a request was answered
void http_peer_name(const struct http_peer *p, char name[64]); // "uid 1000", "192.0.2.1"
void http_peers_end(void);

// Reserves room for a body of so many bytes, of at most `longest` each: true, or false if refused.
bool http_peer_body(struct http_peer *p, uint64_t bytes, uint64_t longest);

// --- wrong tokens ---
// True during a pause, when tokens are not checked; false for its last right token.
bool http_peer_paused(const struct http_peer *p, const uint8_t proof[PEER_PROOF]);
void http_peer_guessed(struct http_peer *p);      // it sent a wrong one
void http_peer_proved(struct http_peer *p, const uint8_t proof[PEER_PROOF]); // it sent a right one

// --- refused requests, and resources in use ---
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
void http_refused(enum http_refusal why);

#endif
