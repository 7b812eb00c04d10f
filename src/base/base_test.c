// SPDX-License-Identifier: BSD-3-Clause
// base_test.c - addresses, checksums, text and vectors
#include "base/checksum.h"
#include "base/cpu.h"
#include "base/hash.h"
#include "base/ip.h"
#include "base/text.h"
#include "base/vec.h"
#include "tests/unit.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

unit_test(prefix_text_survives_parse_and_format)
{
    static const char *const text[] = {"0.0.0.0/0", "10.0.0.0/8",        "192.0.2.1/32",
                                       "::/0",      "2001:db8::/32",     "fe80::1/128",
                                       "128.0.0.0/1", "2001:db8:8000::/33"};
    for (unsigned i = 0; i < sizeof text / sizeof *text; i++) {
        struct prefix p;
        char buf[PREFIX_TEXT_MAX];
        assert_int_equal(prefix_parse(text[i], &p, false), 0);
        assert_string_equal(prefix_format(&p, buf), text[i]);
    }
}

unit_test(prefix_parse_refuses_what_is_no_prefix)
{
    static const char *const text[] = {"",           "10.0.0.0/33",   "10.0.0.0/-1", "10.0.0.0/",
                                       "10.0.0.1/8", "::/129",        "10.0.0/8",    "10.0.0.0/8x",
                                       "x",          "2001:db8::1/32"};
    struct prefix p;
    for (unsigned i = 0; i < sizeof text / sizeof *text; i++)
        assert_int_equal(prefix_parse(text[i], &p, false), -EINVAL);
    assert_int_equal(prefix_parse("10.1.2.3/8", &p, true), 0); // lenient: host bits are cut
    assert_int_equal(p.b[1], 0);
}

unit_test(prefix_covers_exactly_what_lies_below)
{
    struct prefix outer, inner;
    assert_int_equal(prefix_parse("10.64.0.0/10", &outer, false), 0);
    assert_int_equal(prefix_parse("10.127.255.0/24", &inner, false), 0);
    assert_true(prefix_covers(&outer, &inner));
    assert_false(prefix_covers(&inner, &outer));
    assert_true(prefix_covers(&outer, &outer));
    assert_int_equal(prefix_parse("10.128.0.0/24", &inner, false), 0);
    assert_false(prefix_covers(&outer, &inner));
    assert_true(prefix_compare(&outer, &inner) < 0);
}

// Adding the finished checksum to the data gives all ones (RFC 1071 §1).
unit_test(checksum_of_data_with_its_checksum_is_zero)
{
    uint8_t data[64];
    for (unsigned n = 4; n <= sizeof data; n += 2) {
        for (unsigned i = 0; i < n; i++)
            data[i] = (uint8_t)hash_mix32(i * 31 + n);
        memset(data, 0, 2);
        uint16_t sum = checksum(data, n);
        memcpy(data, &sum, 2);
        assert_int_equal(checksum(data, n), 0);
    }
}

unit_test(numbers_outside_their_range_are_refused)
{
    uint64_t v = 7;
    assert_int_equal(text_parse_u64("9600", 68, 9600, &v), 0);
    assert_int_equal(v, 9600);
    assert_int_equal(text_parse_u64("9601", 68, 9600, &v), -ERANGE);
    assert_int_equal(text_parse_u64("99999999999999999999", 0, UINT64_MAX, &v), -ERANGE);
    assert_int_equal(text_parse_u64("-1", 0, 10, &v), -EINVAL);
    assert_int_equal(text_parse_u64("12x", 0, 100, &v), -EINVAL);
    assert_int_equal(v, 9600);
}

unit_test(mac_text_survives_parse_and_format)
{
    uint8_t mac[6];
    char buf[MAC_TEXT_MAX];
    assert_int_equal(text_parse_mac("02:ab:00:00:00:ff", mac), 0);
    assert_string_equal(text_format_mac(mac, buf), "02:ab:00:00:00:ff");
    assert_int_equal(text_parse_mac("02:ab:00:00:00", mac), -EINVAL);
    assert_int_equal(text_parse_mac("02:ab:00:00:00:ff:01", mac), -EINVAL);
}

unit_test(text_grows_as_it_is_written)
{
    struct text t = {0};
    for (unsigned i = 0; i < 1000; i++)
        text_printf(&t, "%u,", i % 10);
    assert_int_equal(t.n, 2000);
    assert_memory_equal(text_str(&t) + 1998, "9,", 3);
    text_free(&t);
    assert_string_equal(text_str(&t), "");
}

unit_test(vec_keeps_order_while_it_grows)
{
    VEC(unsigned) v = {0};
    for (unsigned i = 0; i < 1000; i++)
        *vec_push(&v) = i;
    unsigned expect = 0;
    vec_foreach(&v, p) assert_int_equal(*p, expect++);
    assert_int_equal(expect, 1000);
    vec_del_swap(&v, 0);
    assert_int_equal(v.item[0], 999);
    vec_free(&v);
}

// In a child, because the environment is read once.
static void run_with(const char *word, void (*check)(void))
{
    int status;
    pid_t child = fork();

    if (!child) {
        setenv("KAMUEE_SIMD", word, 1);
        check();
        _exit(0);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

static void must(bool is)
{
    if (!is)
        _exit(1);
}

static void none_is_allowed(void)
{
    must(cpu_runs(CPU_SCALAR) && !cpu_runs(CPU_AVX2) && !cpu_runs(CPU_AVX512) &&
         !cpu_runs(CPU_AVX512_VPOPCNT) && !cpu_runs_vaes());
    must(cpu_simd_bits() == 128);
}

static void avx2_is_allowed(void)
{
    must(cpu_runs(CPU_SCALAR) && !cpu_runs(CPU_AVX512) && !cpu_runs(CPU_AVX512_VPOPCNT) &&
         !cpu_runs_vaes() && cpu_simd_bits() == 256);
#if defined(__x86_64__)
    must(cpu_runs(CPU_AVX2) == (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("bmi2")));
#endif
}

static void avx512_is_allowed(void)
{
    must(!cpu_runs(CPU_AVX512_VPOPCNT) && !cpu_runs_vaes() && cpu_simd_bits() == 512);
}

static void all_are_allowed(void)
{
    must(cpu_simd_bits() == 512);
#if defined(__x86_64__)
    must(cpu_runs(CPU_AVX512) || !__builtin_cpu_supports("avx512f") ||
         !__builtin_cpu_supports("avx512cd"));
#endif
}

unit_test(the_environment_limits_the_vectors)
{
    run_with("none", none_is_allowed);
    run_with("avx2", avx2_is_allowed);
    run_with("avx512", avx512_is_allowed);
    run_with("all", all_are_allowed);
    run_with("sse", all_are_allowed); // a warning
    assert_int_equal(cpu_simd_of("sse"), -1);
}
