// SPDX-License-Identifier: BSD-3-Clause
// acl_key.h - makes the keys that access lists compare from packet headers
//
// For packets whose IP header is sound and in the first segment. Returns false if the packet has no
// key, because it ends or is cut within the headers that a rule may examine (RFC 1858, RFC 3128,
// RFC 7112): no one can tell which rule it matches.
#ifndef FORWARDER_ACL_KEY_H
#define FORWARDER_ACL_KEY_H

#include "acl/acl.h"
#include "forwarder/burst.h"

bool acl_key4(const struct burst *b, unsigned i, struct acl_key4 *k);
bool acl_key6(const struct burst *b, unsigned i, struct acl_key6 *k);
// Makes the keys of all packets of the burst. Returns a bit for each packet without a key.
uint64_t acl_keys4(const struct burst *b, struct acl_key4 *k);
uint64_t acl_keys6(const struct burst *b, struct acl_key6 *k);

// Copies the source addresses of the burst (uint32_t or uint8_t[16] each). Returns false if some
// packet has options or extension headers, is a fragment, or ends early, so that all keys have to
// be made.
bool acl_sources(const struct burst *b, void *src);

#endif
