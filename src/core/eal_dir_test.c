// SPDX-License-Identifier: BSD-3-Clause
// eal_dir_test.c - removes only the directories of killed programs
#include "core/eal_args.h"
#include "tests/unit.h"

#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static char base[] = "/tmp/kamuee-dirs-XXXXXX";

static const char *path_of(const char *name)
{
    static char path[2][128];
    static unsigned turn;

    turn = !turn;
    snprintf(path[turn], sizeof path[0], "%s/%s", base, name);
    return path[turn];
}

static bool is_there(const char *name)
{
    return !access(path_of(name), F_OK);
}

// A program that takes its directory and lives until it is killed.
static pid_t another(const char *name)
{
    int ready[2];
    char c;

    assert_int_equal(pipe(ready), 0);
    pid_t pid = fork();
    if (!pid) {
        eal_dir_take(path_of(name));
        _exit(write(ready[1], "x", 1) == 1 && pause());
    }
    close(ready[1]);
    assert_int_equal(read(ready[0], &c, 1), 1);
    close(ready[0]);
    return pid;
}

unit_test(what_the_dead_left_goes_and_all_else_stays)
{
    static const char *const stay[] = {"kamuee-full", "another-program", "kamuee-lives",
                                       "kamuee-mine"};
    FILE *f;
    int fd;

    mkdir(path_of("kamuee-full"), 0700);
    f = fopen(path_of("kamuee-full/file"), "w");
    assert_non_null(f);
    fclose(f);
    mkdir(path_of("another-program"), 0700);
    pid_t lives = another("kamuee-lives"), dies = another("kamuee-dies");
    fd = eal_dir_take(path_of("kamuee-mine"));
    assert_true(fd >= 0);
    for (unsigned i = 0; i < sizeof stay / sizeof *stay; i++)
        assert_true(is_there(stay[i]));
    assert_true(is_there("kamuee-dies"));
    eal_dir_drop(path_of("kamuee-mine"), fd);
    assert_false(is_there("kamuee-mine"));

    kill(dies, SIGKILL);
    waitpid(dies, NULL, 0);
    assert_true(is_there("kamuee-dies"));
    fd = eal_dir_take(path_of("kamuee-mine"));
    assert_false(is_there("kamuee-dies"));
    for (unsigned i = 0; i < sizeof stay / sizeof *stay; i++)
        assert_true(is_there(stay[i]));
    eal_dir_drop(path_of("kamuee-mine"), fd);

    kill(lives, SIGKILL);
    waitpid(lives, NULL, 0);
    unlink(path_of("kamuee-full/file"));
    rmdir(path_of("another-program"));
    fd = eal_dir_take(path_of("kamuee-mine"));
    assert_false(is_there("kamuee-lives") || is_there("kamuee-full"));
    eal_dir_drop(path_of("kamuee-mine"), fd);
}

int unit_begin(void **state)
{
    return mkdtemp(base) ? 0 : -1;
}

int unit_end(void **state)
{
    return rmdir(base);
}
