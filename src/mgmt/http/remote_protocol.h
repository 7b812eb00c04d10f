// SPDX-License-Identifier: BSD-3-Clause
// remote_protocol.h - what kamueed and kamuee-http say to each other (docs/adr/0019)
//
// A SOCK_SEQPACKET pair, descriptor 3 of kamuee-http, for kamueed's messages: a word, a flag and at
// most one descriptor.
//
//     CERTIFICATE, KEY, CLIENT_CA   a file in PEM, for the next TRY
//     TRY       flag: a client must show a certificate; answered by a struct remote_answer
//     USE       what was tried is for connections from now on
//     CONNECTION   kamueed has accepted one: an end of a SOCK_STREAM pair that stands for it
//
// On that pair kamueed says first, in one byte, whether the client speaks TLS; the byte carries the
// client's descriptor. kamuee-http answers with a struct remote_greeting when it can read the
// client's requests; behind it are requests and responses as HTTP has them. The end of either side
// is the end of the connection.
#ifndef HTTP_REMOTE_PROTOCOL_H
#define HTTP_REMOTE_PROTOCOL_H

#include <stdint.h>

#define REMOTE_FD 3
#define REMOTE_NAMES_MAX 8192 // bytes of names of one certificate

enum remote_word {
    REMOTE_CERTIFICATE = '1',
    REMOTE_KEY = '2',
    REMOTE_CLIENT_CA = '3',
    REMOTE_TRY = 'T',
    REMOTE_USE = 'U',
    REMOTE_CONNECTION = 'C'
};
#define REMOTE_FILES 3 // CERTIFICATE, KEY, CLIENT_CA

struct remote_message {
    char word; // enum remote_word
    char flag;
};

struct remote_answer {
    char word; // the file that cannot be used; 0: all can
    char why[255];
};

enum remote_way { REMOTE_PLAIN = 'P', REMOTE_TLS = 'S' };

struct remote_greeting {
    char mark;        // REMOTE_MARK
    char certificate; // the client has proven one
    uint16_t n;       // bytes of its names that follow, each with a NUL behind it
};
#define REMOTE_MARK 'K'

// In place of a request that kamuee-http does not let pass, it sends one without a body that has
// this header, with a status and the reason: "400 there are two Host headers".
#define REMOTE_REFUSED_HEADER "Kamuee-Refused"

#endif
