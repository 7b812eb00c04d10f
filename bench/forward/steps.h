// SPDX-License-Identifier: BSD-3-Clause
// steps.h - executes a poll instruction by instruction, and writes down the registers before each
//
// For tools/path-cost. x86-64 only: the CPU's trap flag raises SIGTRAP after each instruction. Text
// with numbers in hex:
//
//     case NAME
//     map RANGE FILE-OFFSET FILE          as in /proc/self/maps
//     memory NAME FIRST END               what lies where; `buffer` for each packet buffer
//     step REGISTERS...                   r8 to r15 rdi rsi rbp rbx rdx rax rcx rsp rip
#ifndef BENCH_FORWARD_STEPS_H
#define BENCH_FORWARD_STEPS_H

#include <stddef.h>
#include <stdio.h>

void steps_memory(FILE *to, const char *name, const void *first, size_t bytes);
void steps_case(FILE *to, const char *name);
unsigned steps_write(FILE *to, unsigned (*poll)(void)); // two polls, of which it steps the second

#endif
