// SPDX-License-Identifier: BSD-3-Clause
// operator.c - see operator.h: what kamueed and kamuee-bpf-check do alike
#include "program_manager/operator.h"

#include <errno.h>
#include <rte_bpf.h>
#include <rte_errno.h>
#include <stdio.h>

#include "program/bpf.h"

#define ARG_SCALAR(bytes)                                                                          \
    {                                                                                              \
        .type = RTE_BPF_ARG_RAW, .size = (bytes)                                                   \
    }
#define FUNCTION(word, fn, n, returns)                                                             \
    {                                                                                              \
        .name = word, .type = RTE_BPF_XTYPE_FUNC, .func = {                                        \
            .val = fn,                                                                             \
            .nb_args = n,                                                                          \
            .args = {ARG_SCALAR(8), ARG_SCALAR(8), ARG_SCALAR(8)},                                 \
            .ret = {.type = (returns) ? RTE_BPF_ARG_RAW : RTE_BPF_ARG_UNDEF, .size = returns}      \
        }                                                                                          \
    }

static const struct rte_bpf_xsym functions[] = {
    FUNCTION("kamuee_count", program_bpf_count, 2, 0),
    FUNCTION("kamuee_get", program_bpf_get, 2, 8),
    FUNCTION("kamuee_put", program_bpf_put, 3, 8),
    FUNCTION("kamuee_prefetch", program_bpf_prefetch, 2, 0),
    FUNCTION("kamuee_log", program_bpf_log, 2, 0),
};

struct rte_bpf *operator_load(int fd, const char *section)
{
    const struct rte_bpf_prm prm = {
        .xsym = functions,
        .nb_xsym = sizeof functions / sizeof *functions,
        .prog_arg = {.type = RTE_BPF_ARG_PTR, .size = sizeof(struct kamuee_packet)},
    };
    char path[64];

    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    return rte_bpf_elf_load(&prm, path, section);
}

int operator_refuse(const char *file, int why, char *err, size_t n)
{
    snprintf(err, n,
             "file '%s' is refused by DPDK's BPF: %s; expected an object of 'clang -target bpf' "
             "whose function is in section '%s', without loops, which stays within its packet",
             file, rte_strerror(why), OPERATOR_PACKET);
    return -ENOEXEC;
}
