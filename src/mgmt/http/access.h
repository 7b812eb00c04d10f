// SPDX-License-Identifier: BSD-3-Clause
// access.h - who a client is, and what it may do
//
// On the UNIX socket by the groups of the peer, which the kernel tells; on TCP by the names in the
// client's certificate or by a bearer token. root and kamueed's own user may do everything. Control
// role.
#ifndef HTTP_ACCESS_H
#define HTTP_ACCESS_H

#include <openssl/ossl_typ.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "http/role.h"

struct access_group { // one for each access but none
    char name[33];
};
struct access_client { // a name in certificates
    char name[129];
    uint8_t access;
};

struct access_config {
    struct access_group group[ACCESS_N];
    char tokens[256]; // file of tokens, "" = none
#define ACCESS_CLIENTS_MAX 64
    struct access_client client[ACCESS_CLIENTS_MAX];
    unsigned n_clients;
};

// Reads the file of tokens. 0, or -errno with a sentence and the old configuration stays.
int access_set(const struct access_config *c, char *err, size_t err_size);
void access_reset(void); // as at the start: groups by their usual names, nobody else
// The groups that may use the UNIX socket: gids, at most ACCESS_N. Returns how many exist.
unsigned access_gids(gid_t gid[ACCESS_N]);

struct who {
    enum access access;
    bool known;    // it said who it is, and that is true
    char name[144]; // "alice", "token ansible", "certificate noc.example.net"
};
// AF_UNIX. `sudo_user` is whom root says he is by sudo, or NULL: then the name is "root (alice)".
// Nobody else is believed.
void access_by_socket(int fd, const char *sudo_user, struct who *w);
#define ACCESS_SUDO_HEADER "Kamuee-Sudo-User"
void access_by_certificate(const X509 *certificate, struct who *w); // that TLS has verified
// "Bearer TOKEN", or "Basic …" of its name and the token as password, for clients that know nothing
// else.
void access_by_token(const char *authorization, struct who *w);
// What access_by_socket decides, for tests: of a user and all its groups.
enum access access_of_user(uid_t uid, const gid_t *gid, unsigned n);

#endif
