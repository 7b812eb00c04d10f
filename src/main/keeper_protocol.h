// SPDX-License-Identifier: BSD-3-Clause
// keeper_protocol.h - what kamueed and kamuee-keeper say to each other
//
// One SOCK_SEQPACKET connection on RUN_DIR/keeper.sock; a message is a letter, a name, and for PUT
// and HAVE one descriptor (SCM_RIGHTS):
//
//     kamueed   PUT name + descriptor     holds it from now on
//               TAKE                      is answered by a HAVE for each, then DONE
//               END                       closes all and ends
//
// A connection that ends without END is a crash or a restart. Then the keeper waits KEEPER_WAIT_S
// for the next kamueed: a router that does not come back must lose its carrier, so that its
// neighbors' protocols and the kernel's routes learn of it.
#ifndef MAIN_KEEPER_PROTOCOL_H
#define MAIN_KEEPER_PROTOCOL_H

#include <stdbool.h>
#include <stddef.h>

#define KEEPER_SOCKET "keeper.sock"
#define KEEPER_LISTEN_FD 3 // what kamueed starts it with
#define KEEPER_WAIT_S 120
#define KEEPER_NAME_MAX 32

enum keeper_word {
    KEEPER_PUT = 'P',
    KEEPER_TAKE = 'T',
    KEEPER_HAVE = 'H',
    KEEPER_DONE = 'D',
    KEEPER_END = 'E'
};

struct keeper_message {
    char word;
    char name[KEEPER_NAME_MAX];
};

// fd: -1 = none. False: the other side is gone.
bool keeper_send(int s, enum keeper_word word, const char *name, int fd);
// *fd, if not -1, is the caller's. False: the other side is gone, or talks nonsense.
bool keeper_receive(int s, struct keeper_message *m, int *fd);
// Is the other side of this user, or root?
bool keeper_is_ours(int s);

#endif
