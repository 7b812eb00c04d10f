// SPDX-License-Identifier: BSD-3-Clause
// kept.h - what a scheduler keeps: its rate, its shares, its delay
//
// In real time, the machine's gaps apart: while the system runs something else on this core, the
// clock stands still. But rte_sched reads the TSC by itself: where gaps took more than 1 % of its
// run, the answer is NaN.
#ifndef BENCH_QUEUE_KEPT_H
#define BENCH_QUEUE_KEPT_H

#define KEPT_ENGINES 3u // ours first

struct rte_mempool;

void kept_init(struct rte_mempool *pool); // of mbufs with a private area
const char *kept_name(unsigned engine);
// What was sent in a second, beside the port's rate: the error, as a fraction of it.
double kept_rate(unsigned engine);
// The worst client's error, rms over windows of 100 ms, as a fraction of its share: eight clients
// of weights 1:2:...:128 that offer 1.2 times their shares.
double kept_share(unsigned engine, unsigned windows);
// 99 % of the packets of a client within its guarantee, which is a tenth of the rate, wait no
// longer, in microseconds, while seven others flood; 2.5 Gbit/s, 1518 bytes.
double kept_delay_us(unsigned engine, unsigned ms);

#endif
