// SPDX-License-Identifier: BSD-3-Clause
// show.h - state on its way into an answer
//
// Each show_*.c writes one child of the container `state` of kamuee.yang, by
// exactly the names of the schema. What control knows itself is written at
// once; what rib_manager knows comes by a call on the loop, perhaps after the client
// has gone: so a struct show lives until its last call has come. Control role.
#ifndef SHOW_SHOW_H
#define SHOW_SHOW_H

#include <stdint.h>

#include "base/jwrite.h"
#include "base/text.h"

#define SHOW_KEYS 4

struct show {
    struct jwrite out;
    const char *name;                         // member to write: "port" or "kamuee:port"
    const char *key[SHOW_KEYS];               // write this list entry only; NULL: all
    void (*done)(struct show *s, int result); // called once by a writer that returned SHOW_LATER;
                                              // -errno: `text` holds a sentence
    struct text text;
    unsigned vr; // cursor of show_each_vr, and what it asks
    int (*ask)(struct show *s);
};

enum { SHOW_NOW, SHOW_LATER };

// One for each child of `state`: writes "name": value into s->out. SHOW_NOW, or SHOW_LATER and
// s->done() will be called.
int show_system(struct show *s);
int show_port(struct show *s);
int show_port_history(struct show *s);
int show_lag(struct show *s);
int show_interface(struct show *s);
int show_thread(struct show *s);
int show_drop(struct show *s);
int show_punt(struct show *s);
int show_icmp(struct show *s);
int show_ledger(struct show *s);
int show_vr(struct show *s);
int show_neighbor(struct show *s);
int show_nexthop(struct show *s);
int show_counted(struct show *s);
int show_mirror(struct show *s);
int show_mirror_session(struct show *s);
int show_journal(struct show *s);
int show_acl(struct show *s);
int show_acl_redirect(struct show *s);
int show_address_set(struct show *s);
int show_audit(struct show *s);
struct rib_audit_report;
void audit_write(struct jwrite *j, const struct rib_audit_report *r); // the members of a report
int show_alarm(struct show *s);
int show_latency(struct show *s);
int show_alarm_history(struct show *s);
int show_multicast(struct show *s);
int show_snmp(struct show *s);
int show_configuration(struct show *s);
int show_sflow(struct show *s);
int show_ipfix(struct show *s);
int show_capture(struct show *s);

// For a list with an entry for each virtual router that rib_manager has to be asked about: `ask`
// asks about s->vr, and when the answer has been written show_next_vr goes on. The key, if there is
// one, is the name.
int show_each_vr(struct show *s, int (*ask)(struct show *s)); // SHOW_LATER
void show_next_vr(struct show *s);

const char *route_type_name(unsigned type); // enum rib_route_type
int route_type_number(const char *name);    // or -1

struct http;
// Streams state/routes=VR,FAMILY with the query's filters, and ends the answer.
void route_stream(struct http *h, const char *vr, const char *family);
struct rib_row;
struct route_dialect { // how a model writes routes; lives for ever
    const char *head, *tail;
    void (*write)(struct jwrite *j, const struct rib_row *r);
};
void route_stream_as(struct http *h, const char *vr, const char *family,
                     const struct route_dialect *d);

#endif
