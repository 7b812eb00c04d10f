// SPDX-License-Identifier: BSD-3-Clause
// iface_policy.c - uRPF, redirects, sampling, access lists and policers of an interface
//
// Writes the policy in table/iface.h, which forwarders read if the interface's flags say so. uRPF
// may need more than the FIB has: rib_manager learns the combined needs of all interfaces of a
// virtual router before the first packet is checked.
#include "interface/iface_manager.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/log.h"
#include "core/thread.h"
#include "rib/rib_manager.h"
#include "table/iface.h"
#include "table/policer.h"
#include "table/vr.h"
#include "thread/watch_manager.h"

struct iface *iface_manager_find(const char *name, char *err, size_t err_size)
{
    struct iface *i = iface_find_name(name);

    thread_must_be(ROLE_CONTROL);
    if (!i)
        snprintf(err, err_size, "there is no interface %s", name);
    return i;
}

static uint8_t urpf_sources(const struct iface *i, unsigned six)
{
    uint8_t how = i->policy.urpf[six], mode = how & URPF_MODE;

    return (uint8_t)((mode && !(how & URPF_ALLOW_DEFAULT) ? RIB_SOURCES_DEFAULT : 0) |
                     (mode == URPF_FEASIBLE ? RIB_SOURCES_ALL : 0));
}

void iface_policy_publish_sources(void)
{
    static uint8_t told[VR_MAX][2];
    uint8_t want[VR_MAX][2] = {{0}};

    thread_must_be(ROLE_CONTROL);
    iface_each (i) {
        want[i->vr][0] |= urpf_sources(i, 0);
        want[i->vr][1] |= urpf_sources(i, 1);
    }
    for (uint16_t vr = 0; vr < VR_MAX; vr++) {
        for (unsigned six = 0; six < 2; six++) {
            if (want[vr][six] == told[vr][six])
                continue;
            int r = rib_manager_vr_sources(vr, six ? IP6 : IP4, want[vr][six]);
            if (r)
                log_error("iface_manager: no answer from rib_manager about uRPF: vr=%s error=%s",
                          vr_get(vr)->name, LOG_VALUE(strerror(-r)));
            told[vr][six] = want[vr][six];
        }
    }
}

int iface_manager_set_policy(const char *name, const struct iface_policy *policy, char *err,
                             size_t err_size)
{
    struct iface *i = iface_manager_find(name, err, err_size);

    if (!i)
        return -ENOENT;
    bool sampled = i->policy.sample != policy->sample;
    i->policy = *policy; // bytes; each one is valid by itself
    if (sampled)
        watch_manager_port_changed();
    iface_policy_publish_sources();
    iface_set_flags(i, IFACE_URPF4 | IFACE_URPF6 | IFACE_REDIRECT,
                    (policy->urpf[0] & URPF_MODE ? IFACE_URPF4 : 0) |
                        (policy->urpf[1] & URPF_MODE ? IFACE_URPF6 : 0) |
                        (policy->redirect ? IFACE_REDIRECT : 0));
    iface_bind_police(
        i, (uint8_t)((i->police & ~IFACE_PCP_CLASS) | (policy->pcp_class ? IFACE_PCP_CLASS : 0)));
    return 0;
}

int iface_manager_set_acl(const char *name, uint16_t in, uint16_t out, char *err, size_t err_size)
{
    struct iface *i = iface_manager_find(name, err, err_size);

    if (!i)
        return -ENOENT;
    iface_bind_acl(i, in, out);
    return 0;
}

int iface_manager_set_police(const char *name, const struct policer *in, const struct policer *out,
                             char *err, size_t err_size)
{
    struct iface *i = iface_manager_find(name, err, err_size);

    if (!i)
        return -ENOENT;
    int r = policer_bind(i->id, POLICER_IN, in->kind ? in : NULL);
    if (!r)
        r = policer_bind(i->id, POLICER_OUT, out->kind ? out : NULL);
    if (r)
        snprintf(err, err_size, "interface %s: no memory for policers", name);
    return r;
}
