// SPDX-License-Identifier: BSD-3-Clause
// upgrade_protocol.h - messages between two kamueeds in an upgrade (docs/adr/0020)
//
// The old one starts the new one with a connected SOCK_SEQPACKET socket as its descriptor 3. A
// message is a letter, a text, and at most one descriptor (SCM_RIGHTS):
//
//     new                                     old
//     HELLO "PROTOCOL VERSION"
//                                             HELLO "PROTOCOL VERSION SECOND HUGE DIGEST"
//                                             FILE "tap", "listener" or "lock" + descriptor
//                                             PORT "NAME MAC UP"
//                                             DONE: end of the list
//     PHASE, for the state of the old one
//     LOOKUPS + file of addresses             LOOKUPS: its results are in the file
//     GO
//                                             LEFT "PORT N": frames that it leaves unread
//                                             HALTED "TIME": it no longer receives
//     BEGUN: it forwards
//                                             CLOSED: its devices
//                                             STATE + file: counters, history (saved_state.h)
//                                             END: it exits, and is no longer the service's process
//
// After FAILED and a sentence, or an end of the connection, before BEGUN, the old one continues and
// the new one exits. A peer with another PROTOCOL is refused with a sentence that names both
// versions; everything after HELLO may differ then, and so may the saved state, which has its own
// format number.
#ifndef MAIN_UPGRADE_PROTOCOL_H
#define MAIN_UPGRADE_PROTOCOL_H

#include <stdbool.h>

#define UPGRADE_PROTOCOL 1
#define UPGRADE_FD 3 // in the new one
#define UPGRADE_TEXT_MAX 1024

enum upgrade_word {
    UPGRADE_HELLO = 'H',
    UPGRADE_FILE = 'F',
    UPGRADE_PORT = 'P',
    UPGRADE_DONE = 'D',
    UPGRADE_PHASE = 'p',
    UPGRADE_LOOKUPS = 'L',
    UPGRADE_GO = 'G',
    UPGRADE_LEFT = 'l',
    UPGRADE_HALTED = 'h',
    UPGRADE_BEGUN = 'B',
    UPGRADE_CLOSED = 'C',
    UPGRADE_STATE = 'S',
    UPGRADE_END = 'E',
    UPGRADE_FAILED = 'X',
};

struct upgrade_message {
    char word;
    char text[UPGRADE_TEXT_MAX];
};

// fd: -1 = none. False: the peer is gone.
bool upgrade_send(int s, enum upgrade_word word, const char *text, int fd);
// The caller owns *fd unless it is -1. False: the peer is gone, the message is invalid, or none
// arrives before the socket's timeout (SO_RCVTIMEO).
bool upgrade_receive(int s, struct upgrade_message *m, int *fd);

#endif
