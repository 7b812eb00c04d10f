// SPDX-License-Identifier: BSD-3-Clause
// kept.h - what the queue manager keeps: its rate, its shares, its delay
//
// In real time, the machine's gaps apart: while the system runs something else on this core, the
// scheduler's clock stands still.
#ifndef BENCH_QUEUE_KEPT_H
#define BENCH_QUEUE_KEPT_H

// What was sent in a second, beside the port's rate: the error, as a fraction of it.
double kept_rate(void);
// The worst client's error, rms over windows of 100 ms, as a fraction of its share: eight clients
// of weights 1:2:...:128 that offer 1.2 times their shares.
double kept_share(void);
// 99 % of the packets of a client within its guarantee wait no longer, in microseconds, while seven
// others flood; 2.5 Gbit/s, 1518 bytes.
double kept_delay_us(void);

#endif
