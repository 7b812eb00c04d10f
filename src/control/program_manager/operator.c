// SPDX-License-Identifier: BSD-3-Clause
// operator.c - code that kamueed and kamuee-bpf-check share (see operator.h)
#include "program_manager/operator.h"

#include <elf.h>
#include <errno.h>
#include <rte_bpf.h>
#include <rte_errno.h>
#include <stdio.h>
#include <string.h>

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

const char *operator_section(const uint8_t *file, size_t size, const char *name, size_t *bytes)
{
    const Elf64_Ehdr *e = (const void *)file;

    if (size < sizeof *e || memcmp(e->e_ident, ELFMAG, SELFMAG) ||
        e->e_ident[EI_CLASS] != ELFCLASS64 || e->e_shentsize != sizeof(Elf64_Shdr) ||
        e->e_shoff > size || e->e_shoff % 8 ||
        (size - e->e_shoff) / sizeof(Elf64_Shdr) < e->e_shnum || e->e_shstrndx >= e->e_shnum)
        return NULL;
    const Elf64_Shdr *s = (const void *)(file + e->e_shoff), *names = &s[e->e_shstrndx];
    if (names->sh_offset > size || names->sh_size > size - names->sh_offset)
        return NULL;
    for (unsigned i = 0; i < e->e_shnum; i++) {
        if (s[i].sh_name >= names->sh_size || s[i].sh_offset > size ||
            s[i].sh_size > size - s[i].sh_offset || s[i].sh_type == SHT_NOBITS)
            continue;
        const char *is = (const char *)file + names->sh_offset + s[i].sh_name;
        size_t room = names->sh_size - s[i].sh_name, len = strlen(name) + 1;
        if (len > room || memcmp(is, name, len))
            continue;
        *bytes = s[i].sh_size;
        return (const char *)file + s[i].sh_offset;
    }
    return NULL;
}

int operator_refuse(const char *file, int why, char *err, size_t n)
{
    snprintf(err, n,
             "file '%s' is refused by DPDK's BPF: %s; expected an object of 'clang -target bpf' "
             "with a function in section '%s' that has no loops and stays within its packet",
             file, rte_strerror(why), OPERATOR_PACKET);
    return -ENOEXEC;
}
