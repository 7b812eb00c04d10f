// SPDX-License-Identifier: BSD-3-Clause
// access.h - identity and rights of a client
//
// A client may be bound to a virtual router: then it sees and changes only the configuration and
// state of that router (yang/owner.h). A user of the UNIX socket is identified by the groups that
// the kernel reports, a client of the proxy (docs/adr/0025) by the common name in its certificate
// or by a bearer token. root and kamueed's own user may do everything. Control role.
#ifndef HTTP_ACCESS_H
#define HTTP_ACCESS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

// Each role includes the rights of those before it.
enum access_level {
    ACCESS_NONE,
    ACCESS_READ,    // "read-only": read everything
    ACCESS_OPERATE, // "operator": operations that do not change the configuration
    ACCESS_ADMIN    // "admin": everything
};
#define ACCESS_N 4
extern const char *const access_name[ACCESS_N]; // "none", "read-only", …
int access_of_name(const char *name);           // or -1

#define ACCESS_VR_SIZE 16 // name of a virtual router
struct access_group { // one for each access except none
    char name[33];
};
#define ACCESS_CLIENT_SIZE 129
struct access_client { // a name in certificates
    char name[ACCESS_CLIENT_SIZE];
    char vr[ACCESS_VR_SIZE]; // virtual router of the client; "" = not bound
    uint8_t access;
};
struct access_vr_group { // its members are bound to a virtual router
    char name[33];
    char vr[ACCESS_VR_SIZE];
    uint8_t access;
};

struct access_config {
    struct access_group group[ACCESS_N];
#define ACCESS_VR_GROUPS_MAX 4096 // as many as tokens
    struct access_vr_group vr_group[ACCESS_VR_GROUPS_MAX];
    unsigned n_vr_groups;
    char tokens[256]; // file of tokens, "" = none
#define ACCESS_CLIENTS_MAX 64
    struct access_client client[ACCESS_CLIENTS_MAX];
    unsigned n_clients;
};

// Reads the file of tokens. 0, or -errno with a sentence; then the old configuration stays.
int access_set(const struct access_config *c, char *err, size_t err_size);
void access_reset(void); // as at the start: groups by their usual names, no other clients
// Gids of the groups that may use the UNIX socket. Returns how many exist.
#define ACCESS_GIDS_MAX (ACCESS_N + ACCESS_VR_GROUPS_MAX)
unsigned access_gids(gid_t gid[ACCESS_GIDS_MAX]);

struct who {
    enum access_level access;
    bool known;    // identified, and verified
    char vr[ACCESS_VR_SIZE]; // virtual router of the client; "" = not bound
    char name[144]; // "alice", "token ansible", "certificate noc.example.net"
};
// AF_UNIX. `sudo_user` is root's claim of its sudo user, or NULL: then the name is "root (alice)".
// The claim is ignored from all other users.
void access_by_socket(int fd, const char *sudo_user, struct who *w);
#define ACCESS_SUDO_HEADER "Kamuee-Sudo-User"
// Subject of a certificate that the proxy has verified, in RFC 2253 format:
// "CN=noc.example.net,O=Example". Its common names count.
void access_by_certificate(const char *subject, size_t n, struct who *w);
// Headers that the proxy adds to each request. It sets all three itself and ignores the client's.
#define ACCESS_VIA_HEADER "Kamuee-Via"                 // enum http_via, by its name
#define ACCESS_CLIENT_HEADER "Kamuee-Client"           // the client's address
#define ACCESS_CERTIFICATE_HEADER "Kamuee-Certificate" // access_by_certificate(); or absent
// "Bearer TOKEN", or "Basic …" with its name and the token as password, for clients that support
// nothing else.
void access_by_token(const char *authorization, struct who *w);
// The decision of access_by_socket, for tests: for a user and all its groups. `vr`: as in struct
// who.
enum access_level access_of_user(uid_t uid, const gid_t *gid, unsigned n, char vr[ACCESS_VR_SIZE]);

#endif
