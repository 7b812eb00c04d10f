// SPDX-License-Identifier: BSD-3-Clause
// kept.h - how well a scheduler keeps its rate, its shares and its delay
//
// In real time without the machine's gaps: while the system runs something else on this core, the
// clock stands still. But rte_sched reads the TSC itself: if gaps took more than 1 % of its run,
// the result is NaN.
#ifndef BENCH_QUEUE_KEPT_H
#define BENCH_QUEUE_KEPT_H

#define KEPT_ENGINES 2u // ours first

struct rte_mempool;

void kept_init(struct rte_mempool *pool); // of mbufs with a private area
const char *kept_name(unsigned engine);
// Error of the bytes sent in a second, as a fraction of the port's rate.
double kept_rate(unsigned engine);
// Error of the worst client, rms over windows of 100 ms, as a fraction of its share: eight clients
// of weights 1:2:...:128 that offer 1.2 times their shares.
double kept_share(unsigned engine, unsigned windows);
// 99th percentile of the waiting time, in microseconds, of a client within its guarantee (a tenth
// of the rate), while seven others flood; 2.5 Gbit/s, 1518 bytes.
double kept_delay_us(unsigned engine, unsigned ms);

#endif
