// SPDX-License-Identifier: BSD-3-Clause
// http_peer.c - counts the connections, requests, bodies and wrong tokens of each peer
// (http_peer.h)
//
// GUESSES_MAX wrong tokens within a window pause a peer, except for the token that was right
// before: a guesser behind the same address does not lock its user out. Idle peers are forgotten,
// those with recent tokens later, and at most REMEMBERED_MAX of them are kept.
#include "http/http_peer.h"

#include <arpa/inet.h>
#include <inttypes.h>
#include <openssl/crypto.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"

#define REMEMBERED_MAX 256 // peers without a connection, with wrong tokens

static struct http_peer *peers;
static struct http_stats stats;

const char *const http_refusal_name[REFUSED_N] = {"malformed", "unknown", "paused",  "role",
                                                  "length",    "bodies",  "answers", "connections"};

const struct http_stats *http_stats(void)
{
    return &stats;
}

void http_refused(enum http_refusal why)
{
    stats.refused[why]++;
}

// --- identity -----------------------------------------------------------------------------------

static struct http_peer key_of_address(const struct ip_addr *a)
{
    struct http_peer p = {.uid = a ? a->family : 0};

    if (a)
        memcpy(p.address, a->b, a->family == IP4 ? 4 : 8); // an IPv6 host has a whole /64
    return p;
}

static struct http_peer key_of_user(int fd)
{
    struct http_peer p = {.local = true, .uid = UINT32_MAX};
    struct ucred peer;
    socklen_t size = sizeof peer;

    if (!getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &size)) {
        p.uid = peer.uid;
        p.root = !peer.uid || peer.uid == geteuid();
    }
    return p;
}

static bool is_same(const struct http_peer *a, const struct http_peer *b)
{
    return a->local == b->local && a->uid == b->uid &&
           !memcmp(a->address, b->address, sizeof a->address);
}

static bool is_idle(const struct http_peer *p)
{
    return !p->live && !p->requests;
}

static bool is_within(uint64_t then_ns, unsigned seconds)
{
    return then_ns && clock_now_ns() - then_ns < seconds * NS_PER_SECOND;
}

static bool is_paused(const struct http_peer *p)
{
    return p->guesses >= GUESSES_MAX && is_within(p->guess_ns, GUESS_PAUSE_S);
}

static bool is_remembered(const struct http_peer *p)
{
    return is_paused(p) || (p->guesses && is_within(p->first_guess_ns, GUESS_WINDOW_S)) ||
           is_within(p->proof_ns, PROVED_FORGET_S);
}

static uint64_t last_token_ns(const struct http_peer *p)
{
    return p->guess_ns > p->proof_ns ? p->guess_ns : p->proof_ns;
}

// Frees idle peers without recorded tokens, and the oldest one when there are too many.
static void forget(void)
{
    struct http_peer **oldest = NULL, *gone;
    unsigned n = 0;

    for (struct http_peer **link = &peers; *link;) {
        if (is_idle(*link) && !is_remembered(*link)) {
            gone = *link;
            *link = gone->next;
            free(gone);
            continue;
        }
        if (is_idle(*link) && ++n && (!oldest || last_token_ns(*link) < last_token_ns(*oldest)))
            oldest = link;
        link = &(*link)->next;
    }
    if (n <= REMEMBERED_MAX)
        return;
    gone = *oldest;
    *oldest = gone->next;
    free(gone);
}

bool http_peer_is(const struct http_peer *p, const struct ip_addr *address)
{
    struct http_peer key = key_of_address(address);

    return is_same(p, &key);
}

struct http_peer *http_peer_of(int fd, bool local, const struct ip_addr *address)
{
    struct http_peer key = local ? key_of_user(fd) : key_of_address(address), *p;

    for (p = peers; p && !is_same(p, &key); p = p->next)
        ;
    if (!p) {
        p = malloc(sizeof *p);
        bug_on(!p);
        *p = key;
        p->next = peers;
        peers = p;
    }
    p->live++;
    stats.connections++;
    return p;
}

static void give_back(struct http_peer *p, uint64_t body_bytes)
{
    p->body_bytes -= body_bytes;
    stats.body_bytes -= body_bytes;
    if (is_idle(p))
        forget();
}

void http_peer_left(struct http_peer *p, uint64_t body_bytes)
{
    p->live--;
    stats.connections--;
    give_back(p, body_bytes);
}

void http_peer_done(struct http_peer *p, uint64_t body_bytes)
{
    p->requests--;
    give_back(p, body_bytes);
}

void http_peer_name(const struct http_peer *p, char name[64])
{
    char text[INET6_ADDRSTRLEN] = "?";

    if (p->local) {
        snprintf(name, 64, "uid %" PRIu32, p->uid);
        return;
    }
    if (p->uid)
        inet_ntop(p->uid == IP6 ? AF_INET6 : AF_INET, p->address, text, sizeof text);
    snprintf(name, 64, "%s%s", text, p->uid == IP6 ? "/64" : "");
}

// Peers with requests that wait for a manager's answer are freed with these.
void http_peers_end(void)
{
    for (struct http_peer *p = peers; p; p = p->next)
        p->guesses = 0, p->proof_ns = 0;
    forget();
    memset(stats.refused, 0, sizeof stats.refused);
}

// --- bodies -------------------------------------------------------------------------------------

bool http_peer_body(struct http_peer *p, uint64_t bytes, uint64_t longest)
{
    uint64_t all = p->root ? BODIES_MAX : BODIES_MAX - BODIES_RESERVE;

    if (p->body_bytes + bytes > PEER_BODIES * longest || stats.body_bytes + bytes > all)
        return false;
    p->body_bytes += bytes;
    stats.body_bytes += bytes;
    return true;
}

// --- wrong tokens -------------------------------------------------------------------------------

bool http_peer_paused(const struct http_peer *p, const uint8_t proof[PEER_PROOF])
{
    bool was_right = is_within(p->proof_ns, PROVED_FORGET_S) &&
                     !CRYPTO_memcmp(p->proof, proof, PEER_PROOF);

    return is_paused(p) && !was_right;
}

// Logs at most one line a second, for the first such peer; the metric has the total.
static void tell_guess(const struct http_peer *p)
{
    static uint64_t told_ns;
    char name[64];

    if (told_ns && clock_now_ns() - told_ns < NS_PER_SECOND)
        return;
    told_ns = clock_now_ns();
    http_peer_name(p, name);
    log_warning("api: wrong token or password: peer=%s count=%u total=%" PRIu64 "%s",
                LOG_VALUE(name), p->guesses, stats.refused[REFUSED_UNKNOWN],
                p->guesses >= GUESSES_MAX ? " paused=true" : "");
}

void http_peer_guessed(struct http_peer *p)
{
    uint64_t now_ns = clock_now_ns();

    if (!p->guesses || !is_within(p->first_guess_ns, GUESS_WINDOW_S) ||
        (p->guesses >= GUESSES_MAX && !is_paused(p))) { // a pause is over
        p->guesses = 0;
        p->first_guess_ns = now_ns;
    }
    p->guesses++;
    p->guess_ns = now_ns;
    tell_guess(p);
}

void http_peer_proved(struct http_peer *p, const uint8_t proof[PEER_PROOF])
{
    memcpy(p->proof, proof, PEER_PROOF);
    p->proof_ns = clock_now_ns();
}
