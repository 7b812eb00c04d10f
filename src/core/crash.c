// SPDX-License-Identifier: BSD-3-Clause
// crash.c - see crash.h
//
// The handler is async-signal-safe: it uses system calls, memory that is already mapped, and
// backtrace(), which loads its dependencies at start. Function names come from the symbol table of
// our executable, which is mapped at start and not touched until a crash.
//
// The dying thread signals every other thread for its backtrace and waits TRACE_WAIT_MS for the
// answers: for example, systemd's watchdog sends SIGABRT to the process while another thread is
// stuck.
#include "core/crash.h"

#include <elf.h>
#include <errno.h>
#include <execinfo.h>
#include <fcntl.h>
#include <limits.h>
#include <link.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

#include "base/log.h"
#include "core/thread.h"

#define FRAMES 48
#define MODULES 160
#define STACK_BYTES 32768
#define TRACE_WAIT_MS 300
#define TRACE_SIGNAL SIGUSR2

struct module {
    char name[40];
    uintptr_t base, from, to;
};

struct trace {
    void *frame[FRAMES];
    int n;
    _Atomic bool done;
};

static struct {
    struct crash_setup setup;
    char path[PATH_MAX], made[PATH_MAX], build_id[64];
    struct module module[MODULES];
    unsigned n_modules;
    const uint8_t *exe; // /proc/self/exe, mapped
    size_t exe_size;
    _Atomic uint64_t revision;
    const char *_Atomic stuck;
    _Atomic pid_t tid[THREAD_SLOT_MAX];
    char name[THREAD_SLOT_MAX][24]; // "forwarder/0", as in `show thread`
    struct trace trace[THREAD_SLOT_MAX];
    struct trace mine; // of the dying thread
    _Atomic bool dying;
} crash;

static uint8_t stack[THREAD_SLOT_MAX][STACK_BYTES] __attribute__((aligned(16)));

static const int fatal[] = {SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGABRT};

// --- writing, in the handler ---

struct out {
    int fd;
    size_t n;
    char buf[1024];
};

static void out_flush(struct out *o)
{
    for (size_t at = 0; at < o->n;) {
        ssize_t r = write(o->fd, o->buf + at, o->n - at);
        if (r <= 0 && errno != EINTR)
            break;
        at += r > 0 ? (size_t)r : 0;
    }
    o->n = 0;
}

static void out_bytes(struct out *o, const char *s, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if (o->n == sizeof o->buf)
            out_flush(o);
        o->buf[o->n++] = s[i];
    }
}

static void out_text(struct out *o, const char *s)
{
    size_t n = 0;

    while (n < 4096 && s[n]) // the crash may have overwritten its end
        n++;
    out_bytes(o, s, n);
}

static void out_number(struct out *o, uint64_t v, unsigned base)
{
    char digits[24];
    unsigned n = sizeof digits;

    do
        digits[--n] = "0123456789abcdef"[v % base];
    while (v /= base);
    if (base == 16)
        out_text(o, "0x");
    out_bytes(o, digits + n, sizeof digits - n);
}

static void out_line(struct out *o, const char *key, const char *value)
{
    out_text(o, key);
    out_text(o, " ");
    out_text(o, value);
    out_text(o, "\n");
}

static void out_line_number(struct out *o, const char *key, uint64_t value, unsigned base)
{
    out_text(o, key);
    out_text(o, " ");
    out_number(o, value, base);
    out_text(o, "\n");
}

// --- names of functions ---

static const Elf64_Shdr *section_of(uint32_t type)
{
    const Elf64_Ehdr *h = (const Elf64_Ehdr *)crash.exe;

    if (!h || crash.exe_size < sizeof *h || h->e_shentsize != sizeof(Elf64_Shdr) ||
        h->e_shoff > crash.exe_size ||
        (crash.exe_size - h->e_shoff) / sizeof(Elf64_Shdr) < h->e_shnum)
        return NULL;
    const Elf64_Shdr *s = (const Elf64_Shdr *)(crash.exe + h->e_shoff);
    for (unsigned i = 0; i < h->e_shnum; i++)
        if (s[i].sh_type == type && s[i].sh_link < h->e_shnum &&
            s[i].sh_offset <= crash.exe_size && s[i].sh_size <= crash.exe_size - s[i].sh_offset)
            return &s[i];
    return NULL;
}

// The function of our executable at this offset; NULL: none, or there are no symbols.
static const char *function_at(uintptr_t offset, uintptr_t *begin)
{
    const Elf64_Ehdr *h = (const Elf64_Ehdr *)crash.exe;
    const Elf64_Shdr *symbols = section_of(SHT_SYMTAB);

    if (!symbols)
        return NULL;
    const Elf64_Shdr *names = (const Elf64_Shdr *)(crash.exe + h->e_shoff) + symbols->sh_link;
    const Elf64_Sym *s = (const Elf64_Sym *)(crash.exe + symbols->sh_offset);
    for (size_t i = 0; i < symbols->sh_size / sizeof *s; i++)
        if (ELF64_ST_TYPE(s[i].st_info) == STT_FUNC && offset - s[i].st_value < s[i].st_size &&
            names->sh_offset + s[i].st_name < crash.exe_size) {
            *begin = s[i].st_value;
            return (const char *)crash.exe + names->sh_offset + s[i].st_name;
        }
    return NULL;
}

static const struct module *module_at(uintptr_t pc)
{
    for (unsigned i = 0; i < crash.n_modules; i++)
        if (pc >= crash.module[i].from && pc < crash.module[i].to)
            return &crash.module[i];
    return NULL;
}

static const char *function_of(uintptr_t pc, uintptr_t *begin)
{
    const struct module *m = module_at(pc);

    return m == &crash.module[0] && m ? function_at(pc - m->base, begin) : NULL;
}

static void out_frame(struct out *o, uintptr_t pc)
{
    const struct module *m = module_at(pc);
    uintptr_t begin = 0;
    const char *function = function_of(pc, &begin);

    out_text(o, "  ");
    out_number(o, pc, 16);
    if (m) {
        out_text(o, " ");
        out_text(o, m->name);
        out_text(o, "+");
        out_number(o, pc - m->base, 16);
    }
    if (function) {
        out_text(o, " ");
        out_text(o, function);
        out_text(o, "+");
        out_number(o, pc - m->base - begin, 16);
    }
    out_text(o, "\n");
}

static const char *stage_of(const char *function)
{
    for (unsigned i = 0; i < crash.setup.n_stages; i++) {
        size_t n = strlen(crash.setup.stage[i]);
        if (!strncmp(function, crash.setup.stage[i], n) &&
            (!function[n] || function[n] == '_' || function[n] == '.'))
            return crash.setup.stage[i];
    }
    return NULL;
}

// The innermost stage in the backtrace, else the innermost function of ours.
static const char *stage_of_trace(const struct trace *t)
{
    const char *first = NULL;
    uintptr_t begin;

    for (int i = 0; i < t->n; i++) {
        const char *f = function_of((uintptr_t)t->frame[i], &begin),
                   *stage = f ? stage_of(f) : NULL;
        if (stage)
            return stage;
        first = first ? first : f;
    }
    return first ? first : "unknown";
}

// --- backtraces ---

static uintptr_t pc_of(const ucontext_t *u)
{
#if defined(__x86_64__)
    return (uintptr_t)u->uc_mcontext.gregs[REG_RIP];
#elif defined(__aarch64__)
    return (uintptr_t)u->uc_mcontext.pc;
#else
    return 0;
#endif
}

// Starts at the interrupted function and omits the frames of the handler.
static void take_backtrace(struct trace *t, const ucontext_t *u)
{
    void *all[FRAMES + 8];
    int n = backtrace(all, FRAMES + 8), from = 0;
    uintptr_t pc = pc_of(u);

    while (from < n && (uintptr_t)all[from] != pc)
        from++;
    t->n = 0;
    if (from == n) { // the caller is unknown: it called through a wild pointer
        t->frame[t->n++] = (void *)pc;
#if defined(__x86_64__)
        t->frame[t->n++] = *(void **)u->uc_mcontext.gregs[REG_RSP];
#endif
        from = n > 2 ? 2 : n;
    }
    for (; from < n && t->n < FRAMES; from++)
        t->frame[t->n++] = all[from];
}

static void on_trace(int sig, siginfo_t *info, void *context)
{
    struct trace *t = &crash.trace[thread_slot()];
    int e = errno;

    if (atomic_load(&crash.dying)) {
        take_backtrace(t, context);
        atomic_store(&t->done, true);
    }
    errno = e;
}

static void ask_other_threads(void)
{
    pid_t self = (pid_t)syscall(SYS_gettid);

    for (unsigned s = 0; s < THREAD_SLOT_MAX; s++)
        if (crash.tid[s] && crash.tid[s] != self)
            syscall(SYS_tgkill, getpid(), crash.tid[s], TRACE_SIGNAL);
    for (unsigned ms = 0; ms < TRACE_WAIT_MS; ms++) {
        bool all = true;
        for (unsigned s = 0; s < THREAD_SLOT_MAX; s++)
            all &= !crash.tid[s] || crash.tid[s] == self || atomic_load(&crash.trace[s].done);
        if (all)
            return;
        nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
    }
}

// --- the note ---

static void name_of_self(char name[16])
{
    if (thread_role() != ROLE_NONE)
        memcpy(name, crash.name[thread_slot()], 16);
    else
        prctl(PR_GET_NAME, name);
}

static void out_trace(struct out *o, const char *name, const struct trace *t)
{
    out_text(o, "backtrace ");
    out_line(o, name, stage_of_trace(t));
    for (int i = 0; i < t->n; i++)
        out_frame(o, (uintptr_t)t->frame[i]);
}

static void out_threads(struct out *o)
{
    for (unsigned s = 0; s < THREAD_SLOT_MAX; s++)
        if (atomic_load(&crash.trace[s].done))
            out_trace(o, crash.name[s], &crash.trace[s]);
}

static void out_log(struct out *o)
{
    const char *line;

    out_text(o, "log\n");
    for (unsigned i = 0; i < LOG_RECENT; i++)
        if ((line = log_recent(i)) && *line)
            out_line(o, " ", line);
}

// The thread that the note is about: stuck, according to the watchdog, else the dying one.
static const struct trace *subject(char name[16])
{
    const char *stuck = atomic_load(&crash.stuck);

    name_of_self(name);
    for (unsigned s = 0; stuck && s < THREAD_SLOT_MAX; s++)
        if (!strcmp(crash.name[s], stuck) && atomic_load(&crash.trace[s].done)) {
            memcpy(name, stuck, strlen(stuck) + 1);
            return &crash.trace[s];
        }
    return &crash.mine;
}

static void write_note(struct out *o, int sig, const siginfo_t *info)
{
    char name[16], self[16];
    const char *stuck = atomic_load(&crash.stuck);
    const struct trace *about = subject(name);

    out_text(o, "# kamuee crash note 1\n");
    out_line_number(o, "time", (uint64_t)time(NULL), 10);
    out_line_number(o, "pid", (uint64_t)getpid(), 10);
    out_line(o, "version", crash.setup.version);
    out_line(o, "build-id", crash.build_id);
    out_text(o, "signal SIG");
    out_text(o, sigabbrev_np(sig));
    out_text(o, "\n");
    if (info->si_code > 0)
        out_line_number(o, "address", (uintptr_t)info->si_addr, 16);
    else if (info->si_pid != getpid())
        out_line_number(o, "sent-by", (uint64_t)info->si_pid, 10);
    out_line(o, "thread", name);
    out_line(o, "stage", stage_of_trace(about));
    if (stuck)
        out_line(o, "stuck", stuck);
    out_line_number(o, "revision", atomic_load(&crash.revision), 10);
    name_of_self(self);
    out_trace(o, self, &crash.mine);
    out_threads(o);
    out_log(o);
    out_text(o, "# end\n");
    out_flush(o);
}

// DIR/crash-TIME-PID.untold
static void name_note(void)
{
    struct out path = {.fd = -1};

    out_text(&path, crash.setup.dir);
    out_text(&path, "/crash-");
    out_number(&path, (uint64_t)time(NULL), 10);
    out_text(&path, "-");
    out_number(&path, (uint64_t)getpid(), 10);
    out_text(&path, ".untold");
    size_t n = path.n < sizeof crash.made - 1 ? path.n : sizeof crash.made - 1;
    memcpy(crash.made, path.buf, n);
    crash.made[n] = '\0';
}

static void on_fatal(int sig, siginfo_t *info, void *context)
{
    struct out o;

    if (atomic_exchange(&crash.dying, true)) // another thread writes the note
        for (;;)
            pause();
    take_backtrace(&crash.mine, context);
    ask_other_threads();
    name_note();
    o.n = 0;
    o.fd = open(crash.path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0640);
    if (o.fd >= 0) {
        write_note(&o, sig, info);
        fsync(o.fd);
        close(o.fd);
        rename(crash.path, crash.made);
    }
    signal(sig, SIG_DFL);
    syscall(SYS_tgkill, getpid(), syscall(SYS_gettid), sig); // delivered when this returns
}

// --- the start ---

static void read_build_id(const struct dl_phdr_info *i)
{
    for (unsigned p = 0; p < i->dlpi_phnum; p++) {
        if (i->dlpi_phdr[p].p_type != PT_NOTE)
            continue;
        const uint8_t *at = (const uint8_t *)i->dlpi_addr + i->dlpi_phdr[p].p_vaddr,
                      *end = at + i->dlpi_phdr[p].p_memsz;
        while (at + sizeof(ElfW(Nhdr)) < end) {
            const ElfW(Nhdr) *h = (const ElfW(Nhdr) *)at;
            const uint8_t *name = at + sizeof *h, *desc = name + ((h->n_namesz + 3) & ~3u);
            if (h->n_type == NT_GNU_BUILD_ID && h->n_namesz == 4 && !memcmp(name, "GNU", 4))
                for (unsigned b = 0; b < h->n_descsz && b < sizeof crash.build_id / 2 - 1; b++)
                    snprintf(crash.build_id + 2 * b, 3, "%02x", desc[b]);
            at = desc + ((h->n_descsz + 3) & ~3u);
        }
    }
}

static int note_module(struct dl_phdr_info *i, size_t size, void *arg)
{
    const char *slash = strrchr(i->dlpi_name, '/'), *name = slash ? slash + 1 : i->dlpi_name;

    if (crash.n_modules == MODULES)
        return 1;
    if (!crash.n_modules)
        read_build_id(i);
    for (unsigned p = 0; p < i->dlpi_phnum && crash.n_modules < MODULES; p++) {
        const ElfW(Phdr) *h = &i->dlpi_phdr[p];
        if (h->p_type != PT_LOAD || !(h->p_flags & PF_X))
            continue;
        struct module *m = &crash.module[crash.n_modules];
        snprintf(m->name, sizeof m->name, "%s", crash.n_modules ? name : "kamueed");
        m->base = i->dlpi_addr;
        m->from = m->base + h->p_vaddr;
        m->to = m->from + h->p_memsz;
        crash.n_modules++; // the main program is first
    }
    return 0;
}

void crash_ready(void)
{
    crash.n_modules = 0;
    dl_iterate_phdr(note_module, NULL);
}

static void map_executable(void)
{
    int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
    struct stat st;

    if (fd < 0)
        return;
    if (!fstat(fd, &st)) {
        crash.exe_size = (size_t)st.st_size;
        void *at = mmap(NULL, crash.exe_size, PROT_READ, MAP_PRIVATE, fd, 0);
        crash.exe = at == MAP_FAILED ? NULL : at;
    }
    close(fd);
}

static void thread_begins(unsigned slot)
{
    stack_t mine = {.ss_sp = stack[slot], .ss_size = STACK_BYTES};

    if (slot < THREAD_SLOT_FORWARDER)
        snprintf(crash.name[slot], sizeof crash.name[slot], "%s", thread_role_name(thread_role()));
    else
        snprintf(crash.name[slot], sizeof crash.name[slot], "forwarder/%u",
                 slot - THREAD_SLOT_FORWARDER);
    sigaltstack(&mine, NULL);
    atomic_store(&crash.tid[slot], (pid_t)syscall(SYS_gettid));
}

static void thread_ends(unsigned slot)
{
    stack_t none = {.ss_flags = SS_DISABLE};

    atomic_store(&crash.tid[slot], 0);
    sigaltstack(&none, NULL);
}

void crash_start(const struct crash_setup *s)
{
    struct sigaction a = {.sa_flags = SA_SIGINFO | SA_ONSTACK};
    void *warm[4];

    crash.setup = *s;
    snprintf(crash.path, sizeof crash.path, "%s/crash.new", s->dir);
    backtrace(warm, 4); // loads the unwinder now
    map_executable();
    crash_ready();
    thread_watch(thread_begins, thread_ends);
    sigfillset(&a.sa_mask);
    a.sa_sigaction = on_trace;
    a.sa_flags |= SA_RESTART;
    sigaction(TRACE_SIGNAL, &a, NULL);
    a.sa_sigaction = on_fatal;
#if !defined(__SANITIZE_ADDRESS__) // AddressSanitizer has its own
    for (unsigned i = 0; i < sizeof fatal / sizeof *fatal; i++)
        sigaction(fatal[i], &a, NULL);
#endif
}

void crash_set_revision(uint64_t id)
{
    atomic_store(&crash.revision, id);
}

void crash_set_stuck(const char *name)
{
    atomic_store(&crash.stuck, name);
}

const char *crash_build_id(void)
{
    return crash.build_id;
}
