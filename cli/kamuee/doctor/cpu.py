# SPDX-License-Identifier: BSD-3-Clause
"""Cores: instructions, other users, sleep states, clock frequency, siblings."""
from __future__ import annotations

import re
from collections.abc import Iterator

from kamuee.doctor.facts import Facts
from kamuee.doctor.finding import Check, Finding, absent, good
from kamuee.doctor.host import cores_of, list_of

CPU = "/sys/devices/system/cpu"
SLOW_EXIT_US = 10   # a sleep that takes longer to end is felt: at 10 Mpps a queue of 1024 fills in 100 microseconds
STEAL_PERCENT = 0.5
QUEUE_PERCENT = 70


def watched(facts: Facts) -> list[int]:
    """The forwarders' cores; all cores if none is known."""
    return facts.forwarders or facts.cores


def instructions(facts: Facts) -> Iterator[Finding]:
    text = facts.host.text("/proc/cpuinfo") or ""
    found = re.search(r"^flags\s*:\s*(.*)$", text, re.MULTILINE)
    if not found:
        yield absent("instructions", "cpu", "not x86-64: lookups are scalar")
        return
    flags = set(found[1].split())
    if not {"sse4_2", "popcnt"} <= flags:
        yield Finding("instructions", "wrong", "cpu", "no SSE4.2 or no POPCNT", "x86-64-v2",
                      "DPDK and kamueed cannot start")
        return
    if {"avx512f", "avx512bw", "avx512dq", "avx512vl", "bmi2"} <= flags:
        yield good("instructions", "cpu",
                   "AVX-512: header checks, lookups and access lists process 8 or 16 packets at a time")
    elif {"avx2", "bmi2"} <= flags:
        yield good("instructions", "cpu", "AVX2: header checks, lookups and access lists process 8 packets at a time")
    else:
        yield Finding("instructions", "advice", "cpu", "AVX2 without BMI2" if "avx2" in flags else "SSE4.2",
                      "AVX2 and BMI2, or AVX-512",
                      "lookups, header checks or access lists process one packet at a time; in a virtual machine the "
                      "hypervisor decides which "
                      "instructions there are")
    if "constant_tsc" not in flags or ("nonstop_tsc" not in flags and not facts.virtual):
        yield Finding("instructions", "advice", "time-stamp counter", "not constant", "constant_tsc nonstop_tsc",
                      "rates and limits vary with the core's clock frequency")


def exist(facts: Facts) -> Iterator[Finding]:
    missing = [core for core in facts.forwarders if core not in facts.cores]
    if missing and facts.cores:
        yield Finding("cores", "wrong", "configuration", f"no core {list_of(missing)}",
                      f"one of {list_of(facts.cores)}",
                      "the configuration is refused")
    elif facts.forwarders and len(facts.forwarders) == len(facts.cores):
        yield Finding("cores", "advice", "configuration", "every core is a forwarder",
                      "one core left for other processes",
                      "the routing daemon, kernel and managers take time from a forwarder: bursts of loss")
    elif facts.forwarders:
        yield good("cores", "forwarders", f"{list_of(facts.forwarders)} of {list_of(facts.cores)}")
    else:
        yield absent("cores", "forwarders", "not configured: chosen by kamueed")


def isolation(facts: Facts) -> Iterator[Finding]:
    isolated = set(cores_of(facts.host.text(f"{CPU}/isolated")))
    ticks = set(cores_of(facts.host.text(f"{CPU}/nohz_full")))
    if not facts.forwarders:
        yield absent("isolated-cores", "forwarders", "no forwarder cores configured")
        return
    cores = list_of(facts.forwarders)
    shared = [core for core in facts.forwarders if core not in isolated]
    if shared:
        yield Finding("isolated-cores", "advice", f"core {list_of(shared)}", "other threads may run there",
                      f"isolcpus={cores} at boot",
                      "none on an idle host (2015 paper, 4.6); under load another thread delays packets by its time "
                      "slice: 1 to 10 ms")
    else:
        yield good("isolated-cores", f"core {cores}", "isolated")
    ticking = [core for core in facts.forwarders if core not in ticks]
    if ticking:
        yield Finding("timer-tick", "advice", f"core {list_of(ticking)}", "timer tick on",
                      f"nohz_full={cores} rcu_nocbs={cores} at boot",
                      "an interruption of a few microseconds, 100 to 1000 times a second")
    else:
        yield good("timer-tick", f"core {cores}", "no timer tick while a single thread runs")


def interrupts(facts: Facts) -> Iterator[Finding]:
    """Device interrupts that may hit a forwarder's core."""
    mine = set(facts.forwarders)
    there = []
    for number in facts.host.names("/proc/irq"):
        if not number.isdigit() or not mine:
            continue
        path = f"/proc/irq/{number}/effective_affinity_list"
        cores = set(cores_of(facts.host.text(path) or facts.host.text(f"/proc/irq/{number}/smp_affinity_list")))
        if cores & mine and facts.host.names(f"/proc/irq/{number}"):
            there.append(number)
    others = list_of([core for core in facts.cores if core not in mine])
    if not mine:
        yield absent("interrupts", "forwarders", "no forwarder cores configured")
    elif there and others:
        yield Finding("interrupts", "advice", f"core {list_of(facts.forwarders)}",
                      f"{len(there)} interrupts may be handled there", f"core {others}",
                      "each takes a few microseconds from a forwarder",
                      tuple(f"echo {others} > /proc/irq/{number}/smp_affinity_list" for number in there), safe=True)
    elif not there:
        yield good("interrupts", f"core {list_of(facts.forwarders)}", "none")


def governor(facts: Facts) -> Iterator[Finding]:
    slow, found = [], None
    for core in watched(facts):
        path = f"{CPU}/cpu{core}/cpufreq/scaling_governor"
        now = facts.host.text(path)
        if now is None:
            continue
        found = now
        if now != "performance":
            slow.append((core, now))
    if slow:
        yield Finding("governor", "advice", f"core {list_of([core for core, _ in slow])}", slow[0][1], "performance",
                      "the clock speeds up only some milliseconds after packets arrive",
                      tuple(f"echo performance > {CPU}/cpu{core}/cpufreq/scaling_governor" for core, _ in slow),
                      safe=True)
    elif found:
        yield good("governor", f"core {list_of(watched(facts))}", found)
    else:
        yield absent("governor", "cpu",
                     "the clock frequency cannot be set from here" + (" (virtual machine)" if facts.virtual else ""))


def sleep(facts: Facts) -> Iterator[Finding]:
    """C-states with a long exit latency that are not switched off."""
    deep: list[tuple[int, str, str, int]] = []
    any_state = False
    for core in watched(facts):
        for state in facts.host.names(f"{CPU}/cpu{core}/cpuidle"):
            base = f"{CPU}/cpu{core}/cpuidle/{state}"
            any_state = True
            latency = facts.host.number(f"{base}/latency") or 0
            if latency > SLOW_EXIT_US and facts.host.number(f"{base}/disable") == 0:
                deep.append((core, state, facts.host.text(f"{base}/name") or state, latency))
    if deep:
        names = ", ".join(sorted({f"{name} ({latency} us to leave)" for _, _, name, latency in deep}))
        yield Finding("c-states", "advice", f"core {list_of(sorted({core for core, *_ in deep}))}", names,
                      f"none over {SLOW_EXIT_US} us",
                      "only with 'forwarding idle balanced' or 'powersave': the first packet waits that long",
                      tuple(f"echo 1 > {CPU}/cpu{core}/cpuidle/{state}/disable" for core, state, _, _ in deep),
                      safe=True)
    elif any_state:
        yield good("c-states", "cpu", f"none over {SLOW_EXIT_US} us")
    else:
        yield absent("c-states", "cpu", "not managed by the kernel" + (" (virtual machine)" if facts.virtual else ""))


def siblings(facts: Facts) -> Iterator[Finding]:
    """Forwarders that share their physical core with another thread."""
    shared = []
    for core in facts.forwarders:
        there = cores_of(facts.host.text(f"{CPU}/cpu{core}/topology/thread_siblings_list"))
        if [other for other in there if other != core]:
            shared.append(list_of(there))
    if not facts.forwarders:
        yield absent("smt", "forwarders", "no forwarder cores configured")
    elif shared:
        pairs = sorted(set(shared))
        yield Finding("smt", "advice", f"core {list_of(facts.forwarders)}",
                      f"{' and '.join(pairs)}: threads of one physical core",
                      "one forwarder per physical core, its sibling idle",
                      "a busy sibling takes a share of caches and execution units")
    else:
        yield good("smt", f"core {list_of(facts.forwarders)}", "alone on its physical core")


def stolen(facts: Facts) -> Iterator[Finding]:
    """Time that the hypervisor gave to others while we wanted to run."""
    first = (facts.host.text("/proc/stat") or "").partition("\n")[0].split()
    if len(first) < 9 or not facts.virtual:
        yield absent("steal", "cpu", "not a virtual machine")
        return
    ticks = [int(word) for word in first[1:9]]
    ran = sum(ticks) - ticks[3] - ticks[4]
    share = 100 * ticks[7] / max(1, ran)
    if share > STEAL_PERCENT:
        yield Finding("steal", "advice", "hypervisor", f"steal time {share:.1f} %",
                      f"under {STEAL_PERCENT} %: dedicated cores for this virtual machine, set on the hypervisor",
                      "packets are lost while a core is not scheduled: a queue of 1024 packets lasts 0.1 ms at 10 Mpps")
    else:
        yield good("steal", "hypervisor", f"{share:.1f} %")


def queue_cores(facts: Facts) -> Iterator[Finding]:
    """Forwarders that send for a port with a queue, and how busy they have been since they started."""
    state = facts.state or {}
    load = {}
    for thread in state.get("thread", []):
        seen = thread.get("statistics", {})
        busy, idle = (int(seen.get(name, 0)) for name in ("busy-cycles", "idle-cycles"))
        if busy + idle:
            load[thread.get("core")] = 100 * busy / (busy + idle)
    queues = [(queue["port"], queue["core"]) for queue in state.get("queue", []) if queue.get("core") in load]
    for port, core in queues:
        if load[core] > QUEUE_PERCENT:
            yield Finding("queue-cores", "advice", f"queue of port {port}", f"core {core} is {load[core]:.0f} % busy",
                          f"at most {QUEUE_PERCENT} %: another core ('set port {port} queue core N'), best one whose "
                          "forwarder receives nothing",
                          "packets of the queue wait for the forwarder rather than for their turn")
        else:
            yield good("queue-cores", f"queue of port {port}", f"core {core} is {load[core]:.0f} % busy")
    if not queues:
        yield absent("queue-cores", "ports", "none has a queue")


CHECKS = (Check("instructions", instructions), Check("cores", exist), Check("isolated-cores", isolation),
          Check("interrupts", interrupts),
          Check("governor", governor), Check("c-states", sleep), Check("smt", siblings), Check("steal", stolen),
          Check("queue-cores", queue_cores))
