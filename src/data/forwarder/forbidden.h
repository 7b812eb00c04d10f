// SPDX-License-Identifier: BSD-3-Clause
// forbidden.h - makes the compiler reject functions that a forwarder must not call
//
// Included last in each file of the hot path (all but main.c and idle.c): using one of these names
// is an error. tools/check-hotpath finds calls hidden in libraries, by the symbols of the objects.
#ifndef FORWARDER_FORBIDDEN_H
#define FORWARDER_FORBIDDEN_H

#pragma GCC poison malloc calloc realloc free aligned_alloc posix_memalign mmap munmap
#pragma GCC poison rte_malloc rte_zmalloc rte_calloc rte_free mem_map mem_unmap
#pragma GCC poison printf fprintf snprintf puts log_line log_error log_warning log_notice log_info \
    log_debug
#pragma GCC poison pthread_mutex_lock pthread_cond_wait pthread_rwlock_rdlock sem_wait             \
    rte_spinlock_lock
#pragma GCC poison usleep sleep nanosleep clock_nanosleep clock_gettime poll epoll_wait
#pragma GCC poison open close read write ioctl sendmsg recvmsg syscall
#pragma GCC poison rcu_synchronize rcu_barrier rcu_retire

#endif
