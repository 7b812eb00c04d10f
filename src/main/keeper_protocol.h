// SPDX-License-Identifier: BSD-3-Clause
// keeper_protocol.h - messages between kamueed and kamuee-keeper
//
// One SOCK_SEQPACKET connection on RUN_DIR/keeper.sock. A message is a letter, a name, and for PUT
// and HAVE one descriptor (SCM_RIGHTS):
//
//     kamueed   PUT name + descriptor     the keeper holds it from now on
//               TAKE                      the keeper answers HAVE for each, then DONE
//               END                       the keeper closes all and ends
//
// A connection that ends without END is a crash or a restart. Then the keeper waits KEEPER_WAIT_S
// for the next kamueed: a router that does not come back must lose its carrier, so that its
// neighbors' protocols and the kernel's routes notice.
#ifndef MAIN_KEEPER_PROTOCOL_H
#define MAIN_KEEPER_PROTOCOL_H

#include <stdbool.h>

#define KEEPER_SOCKET "keeper.sock"
#define KEEPER_LISTEN_FD 3 // listening socket at the keeper's start
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

// fd: -1 = none. False: the peer is gone.
bool keeper_send(int s, enum keeper_word word, const char *name, int fd);
// The caller owns *fd unless it is -1. False: the peer is gone or the message is invalid.
bool keeper_receive(int s, struct keeper_message *m, int *fd);
// Is the peer this user or root?
bool keeper_is_ours(int s);

#endif
