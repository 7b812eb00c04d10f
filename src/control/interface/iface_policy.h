// SPDX-License-Identifier: BSD-3-Clause
// iface_policy.h - uRPF, redirects, sampling, access lists and policers of an interface
//
// Called by the steps of a change; control role. An int is 0 or -errno with a message in `err`.
#ifndef INTERFACE_IFACE_POLICY_H
#define INTERFACE_IFACE_POLICY_H

#include <stddef.h>
#include <stdint.h>

struct iface;
struct iface_policy;
struct policer;

// Returns NULL with a message in `err` if there is no such interface.
struct iface *iface_manager_find(const char *name, char *err, size_t err_size);
// Call after any change of interfaces, their policy or their virtual router: tells rib_manager
// which sources the FIBs must know for uRPF.
void iface_policy_publish_sources(void);

int iface_manager_set_policy(const char *name, const struct iface_policy *policy, char *err,
                             size_t err_size);
// `in` and `out` are ids of table/acl.h.
int iface_manager_set_acl(const char *name, uint16_t in, uint16_t out, char *err, size_t err_size);
// Sets the policers of received and of sent packets; kind NONE: no policer.
int iface_manager_set_police(const char *name, const struct policer *in, const struct policer *out,
                             char *err, size_t err_size);

#endif
