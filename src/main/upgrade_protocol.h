// SPDX-License-Identifier: BSD-3-Clause
// upgrade_protocol.h - what two kamueeds say to each other in an upgrade (docs/adr/0020)
//
// The old one starts the new one with a connected SOCK_SEQPACKET socket as its descriptor 3. A
// message is a letter, a text, and at most one descriptor (SCM_RIGHTS):
//
//     new                                     old
//     HELLO "PROTOCOL VERSION"
//                                             HELLO "PROTOCOL VERSION SECOND HUGE DIGEST"
//                                             FILE "tap", "listener" or "lock" + descriptor
//                                             PORT "NAME MAC UP"
//                                             DONE: that was all
//     PHASE, for those who ask the old one
//     LOOKUPS + file of addresses             LOOKUPS: its answers stand in the file
//     GO
//                                             LEFT "PORT N": frames that it leaves unread
//                                             HALTED "TIME": it receives nothing any more
//     BEGUN: it forwards
//                                             CLOSED: its devices
//                                             STATE + file: counters, history (saved_state.h)
//                                             END: it exits, and is no longer the service's process
//
// FAILED and a sentence, or an end of the connection, before BEGUN: the old one goes on, the new
// one exits. Whoever speaks another PROTOCOL is refused with both versions' names; everything
// behind HELLO may differ then, and so may the saved state, which has its own format number.
#ifndef MAIN_UPGRADE_PROTOCOL_H
#define MAIN_UPGRADE_PROTOCOL_H

#include <stdbool.h>

#define UPGRADE_PROTOCOL 1
#define UPGRADE_FD 3 // the new one's
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

// fd: -1 = none. False: the other side is gone.
bool upgrade_send(int s, enum upgrade_word word, const char *text, int fd);
// *fd, if not -1, is the caller's. False: the other side is gone, talks nonsense, or says nothing
// for as long as the socket waits (SO_RCVTIMEO).
bool upgrade_receive(int s, struct upgrade_message *m, int *fd);

#endif
