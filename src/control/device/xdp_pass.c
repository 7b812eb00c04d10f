// SPDX-License-Identifier: BSD-3-Clause
// xdp_pass.c - two instructions of BPF, loaded and attached by a link
//
// The link, not the program, is what stays: closing its descriptor detaches the program, also when
// kamueed is killed. The program declares that it takes fragments, because without that Linux
// refuses an MTU above a page.
#include "device/kernel_link.h"

#include <errno.h>
#include <linux/bpf.h>
#include <linux/if_link.h>
#include <stdint.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

static int bpf_syscall(enum bpf_cmd cmd, union bpf_attr *attr)
{
    int r = (int)syscall(SYS_bpf, cmd, attr, sizeof *attr);

    return r < 0 ? -errno : r;
}

static int load_program(uint32_t flags)
{
    const struct bpf_insn program[] = {
        {.code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = BPF_REG_0, .imm = XDP_PASS},
        {.code = BPF_JMP | BPF_EXIT},
    };
    union bpf_attr attr;

    memset(&attr, 0, sizeof attr);
    attr.prog_type = BPF_PROG_TYPE_XDP;
    attr.insn_cnt = sizeof program / sizeof *program;
    attr.insns = (uintptr_t)program;
    attr.license = (uintptr_t) "BSD";
    attr.prog_flags = flags;
    memcpy(attr.prog_name, "kamuee_pass", sizeof "kamuee_pass");
    return bpf_syscall(BPF_PROG_LOAD, &attr);
}

int xdp_pass_attach(int ifindex)
{
    union bpf_attr attr;
    int program = load_program(BPF_F_XDP_HAS_FRAGS); // otherwise no MTU above a page is allowed

    if (program < 0)
        program = load_program(0); // Linux before 5.18
    if (program < 0)
        return program;
    memset(&attr, 0, sizeof attr);
    attr.link_create.prog_fd = (uint32_t)program;
    attr.link_create.target_ifindex = (uint32_t)ifindex;
    attr.link_create.attach_type = BPF_XDP;
    attr.link_create.flags = XDP_FLAGS_DRV_MODE;
    int link = bpf_syscall(BPF_LINK_CREATE, &attr);
    close(program); // the link keeps it
    return link;
}
