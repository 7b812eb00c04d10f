// SPDX-License-Identifier: BSD-3-Clause
// acl_file.c - reads files of rules and of address sets, plain or gzip (zlib's gzgets reads both)
//
// Reads to the end or to the first error; the caller changes nothing before that. A .csv file names
// its columns in the first line, in any order; number, action and protocol are required:
//
//     number,action,protocol,from,from-port,to,to-port,options
//     100,permit,tcp,set customers,,any,443,log every 100
//
// A row is turned into the words of a line, so that there is one grammar (acl_line.c).
#include "acl_manager/acl_file.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>
#include <zlib.h>

#include "base/clock.h"
#include "base/file.h"

#define LINE_MAX_BYTES 1024
#define COLUMNS 16
#define UNPACKED_MAX (512u << 20) // bytes; four million rules take less

struct source { // of lines
    gzFile gz;
    const char *name;
    uint32_t line;
    uint64_t bytes; // read so far, unpacked
    bool secret;    // not world-readable: messages must not repeat its content
};

// The error of compressed data; 0: none.
static int gzip_error(gzFile gz)
{
    int e = Z_OK;

    gzerror(gz, &e);
    return e == Z_OK || e == Z_STREAM_END ? 0 : e == Z_ERRNO ? -EIO : -EBADMSG;
}

// 1: a line, without its end; 0: no more; -errno.
static int next_line(struct source *s, char buf[LINE_MAX_BYTES])
{
    size_t n;

    if (!gzgets(s->gz, buf, LINE_MAX_BYTES))
        return gzip_error(s->gz);
    if (!strchr(buf, '\n') && gzip_error(s->gz)) // half a line
        return gzip_error(s->gz);
    s->line++;
    n = strlen(buf);
    s->bytes += n;
    if (s->bytes > UNPACKED_MAX)
        return -EFBIG;
    if (n == LINE_MAX_BYTES - 1 && buf[n - 1] != '\n')
        return -EMSGSIZE;
    while (n && (buf[n - 1] == '\n' || buf[n - 1] == '\r'))
        buf[--n] = 0;
    return 1;
}

static int read_failed(const struct source *s, int e, char *why, size_t why_size)
{
    if (e == -EMSGSIZE)
        snprintf(why, why_size, "%s:%u: the line is longer than %u bytes", s->name, s->line,
                 LINE_MAX_BYTES - 2);
    else if (e == -EFBIG)
        snprintf(why, why_size,
                 "%s:%u: the file has more than %u MiB uncompressed, expected a smaller file",
                 s->name, s->line, UNPACKED_MAX >> 20);
    else if (e == -EBADMSG)
        snprintf(why, why_size,
                 "%s:%u: the gzip data is damaged or truncated; create the file again", s->name,
                 s->line + 1);
    else
        snprintf(why, why_size, "%s:%u: cannot read the file: %s", s->name, s->line + 1,
                 strerror(-e));
    return e;
}

// Messages repeat the file's content only if it is world-readable: the right to configure does not
// include the right to read it.
static int line_error(const struct source *s, const char *said, char *why, size_t why_size)
{
    if (s->secret)
        said = "invalid line, not shown because the file is not world-readable (chmod o+r)";
    snprintf(why, why_size, "%s:%u: %s", s->name, s->line, said);
    return -EINVAL;
}

// --- words ---------------------------------------------------------------------------------------

static bool is_blank(char c)
{
    return c == ' ' || c == '\t';
}

// Splits a line into words, in place; "…" keeps blanks. Returns their number; -1: too many, or an
// open quote.
static int split_words(char *line, char *word[ACL_WORDS_MAX], int n)
{
    char *in = line, *out = line;

    for (;;) {
        while (is_blank(*in))
            in++;
        if (!*in || *in == '#')
            return n;
        if (n == ACL_WORDS_MAX)
            return -1;
        word[n++] = out;
        bool quoted = false;
        for (; *in && (quoted || !is_blank(*in)); in++) {
            if (*in == '"')
                quoted = !quoted;
            else if (quoted && *in == '\\' && in[1])
                *out++ = *++in;
            else
                *out++ = *in;
        }
        if (quoted)
            return -1;
        bool more = *in;
        *out++ = 0;
        if (more && out > in)
            in = out;
        else if (more)
            in++;
    }
}

static int take_words(struct source *s, struct acl_lines *l, char **word, int n, char *why,
                      size_t why_size)
{
    char said[256];

    if (n < 0) {
        snprintf(why, why_size,
                 "%s:%u: a quote \" is not closed, or the line has more than %u words", s->name,
                 s->line, ACL_WORDS_MAX);
        return -EINVAL;
    }
    if (n && !strcmp(word[0], "rule")) // as in `set acl NAME`
        word++, n--;
    if (!n)
        return 0;
    if (!acl_line_parse(l, word, (unsigned)n, s->line, said, sizeof said)) {
        if (l->rule.n <= ACL_RULES_MAX)
            return 0;
        snprintf(why, why_size, "%s:%u: too many rules, expected at most %u", s->name, s->line,
                 ACL_RULES_MAX);
        return -ENOSPC;
    }
    return line_error(s, said, why, why_size);
}

static int read_rules(struct source *s, struct acl_lines *l, char *why, size_t why_size)
{
    char buf[LINE_MAX_BYTES], *word[ACL_WORDS_MAX];
    int r;

    while ((r = next_line(s, buf)) > 0) {
        int e = take_words(s, l, word, split_words(buf, word, 0), why, why_size);
        if (e)
            return e;
    }
    return r ? read_failed(s, r, why, why_size) : 0;
}

int acl_file_text(const char *text, struct acl_lines *l, char *why, size_t why_size)
{
    struct source s = {.name = "line"};
    char buf[LINE_MAX_BYTES], *word[ACL_WORDS_MAX];

    for (size_t n; *text; text += n + (text[n] == '\n')) {
        n = strcspn(text, "\n");
        s.line++;
        if (n >= sizeof buf)
            return read_failed(&s, -EMSGSIZE, why, why_size);
        snprintf(buf, sizeof buf, "%.*s", (int)n, text);
        int e = take_words(&s, l, word, split_words(buf, word, 0), why, why_size);
        if (e)
            return e;
    }
    return 0;
}

// --- columns -------------------------------------------------------------------------------------

static const char *const columns[] = {"number",    "action", "protocol", "from",
                                      "from-port", "to",     "to-port",  "options"};
#define N_COLUMNS (sizeof columns / sizeof *columns)

// Splits a row into cells, in place; quotes as in RFC 4180. -1: too many, or an open quote.
static int split_cells(char *line, char *cell[COLUMNS])
{
    int n = 0;

    for (char *in = line, *out = line;; in++) {
        bool quoted = false;
        if (n == COLUMNS)
            return -1;
        while (is_blank(*in))
            in++;
        cell[n++] = out;
        for (; *in && (quoted || *in != ','); in++) {
            if (*in == '"' && quoted && in[1] == '"')
                *out++ = *in++;
            else if (*in == '"')
                quoted = !quoted;
            else
                *out++ = *in;
        }
        bool more = *in;
        *out++ = 0;
        if (quoted)
            return -1;
        if (!more)
            return n;
    }
}

// Finds the column of each cell of the first line.
static int read_header(struct source *s, char *buf, int column[COLUMNS], char *why, size_t why_size)
{
    char *cell[COLUMNS];
    int n = split_cells(buf, cell), seen = 0;

    for (int i = 0; i < n; i++) {
        column[i] = -1;
        for (int c = 0; c < (int)N_COLUMNS; c++)
            if (!strcmp(cell[i], columns[c]) && !(seen >> c & 1))
                column[i] = c;
        if (column[i] < 0) {
            char said[256];
            snprintf(said, sizeof said,
                     "unknown column '%.40s', expected number, action, protocol, from, from-port, "
                     "to, to-port and options, "
                     "each once",
                     cell[i]);
            return line_error(s, said, why, why_size);
        }
        seen |= 1 << column[i];
    }
    if ((seen & 7) == 7)
        return n;
    snprintf(why, why_size, "%s:%u: expected column names, including number, action and protocol",
             s->name, s->line);
    return -EINVAL;
}

// Makes the words of a row: number action protocol from … [port …] to … [port …] options.
static int row_words(char *by[N_COLUMNS], char *word[ACL_WORDS_MAX])
{
    static char from[] = "from", to[] = "to", port[] = "port", any[] = "any";
    int n = 0;

    for (unsigned c = 0; c < 3; c++)
        n = by[c] && n >= 0 ? split_words(by[c], word, n) : n;
    for (unsigned side = 0; side < 2 && n >= 0; side++) {
        char *address = by[3 + 2 * side], *ports = by[4 + 2 * side];

        if (n > ACL_WORDS_MAX - 8)
            return -1;
        word[n++] = side ? to : from;
        if (address && *address)
            n = split_words(address, word, n);
        else
            word[n++] = any;
        if (n < 0 || n > ACL_WORDS_MAX - 4)
            return -1;
        if (ports && *ports && strcmp(ports, "any")) {
            word[n++] = port;
            n = split_words(ports, word, n);
        }
    }
    return n >= 0 && by[7] ? split_words(by[7], word, n) : n;
}

static int read_columns(struct source *s, struct acl_lines *l, char *why, size_t why_size)
{
    char buf[LINE_MAX_BYTES], *word[ACL_WORDS_MAX], *cell[COLUMNS];
    int column[COLUMNS], n_columns = 0, r;

    while ((r = next_line(s, buf)) > 0) {
        char *by[N_COLUMNS] = {0};

        if (!buf[strspn(buf, " \t,")] || buf[0] == '#')
            continue;
        if (!n_columns) {
            n_columns = read_header(s, buf, column, why, why_size);
            if (n_columns < 0)
                return n_columns;
            continue;
        }
        int n = split_cells(buf, cell);
        if (n < 0 || n > n_columns) {
            snprintf(why, why_size,
                     "%s:%u: a quote \" is not closed, or the line has more than %d columns",
                     s->name, s->line, n_columns);
            return -EINVAL;
        }
        for (int i = 0; i < n; i++)
            by[column[i]] = cell[i];
        int e = take_words(s, l, word, row_words(by, word), why, why_size);
        if (e)
            return e;
    }
    return r ? read_failed(s, r, why, why_size) : 0;
}

// --- sets ----------------------------------------------------------------------------------------

static int read_members(struct source *s, struct acl_members *m, char *why, size_t why_size)
{
    char buf[LINE_MAX_BYTES];
    int r;

    while ((r = next_line(s, buf)) > 0) {
        char *word = buf + strspn(buf, " \t");
        struct prefix p;

        word[strcspn(word, " \t,;#")] = 0;
        if (!*word)
            continue;
        if (prefix_parse(word, &p, true)) {
            char said[160];
            snprintf(said, sizeof said,
                     "invalid prefix '%.60s', expected a prefix such as 192.0.2.0/24 or "
                     "2001:db8::/32, or an address",
                     word);
            return line_error(s, said, why, why_size);
        }
        if (m->item.n == ACL_MEMBERS_MAX) {
            snprintf(why, why_size, "%s:%u: too many members, expected at most %u", s->name,
                     s->line, ACL_MEMBERS_MAX);
            return -ENOSPC;
        }
        *vec_push(&m->item) = p;
    }
    return r ? read_failed(s, r, why, why_size) : 0;
}

static int compare_members(const void *a, const void *b)
{
    return prefix_compare(a, b);
}

void acl_members_sort(struct acl_members *m)
{
    size_t n = 0;

    if (m->item.n < 2)
        return;
    qsort(m->item.item, m->item.n, sizeof *m->item.item, compare_members);
    for (size_t i = 0; i < m->item.n; i++)
        if (!n || !prefix_equal(&m->item.item[n - 1], &m->item.item[i]))
            m->item.item[n++] = m->item.item[i];
    m->item.n = n;
}

// --- opening -------------------------------------------------------------------------------------

static int open_source(struct source *s, const char *path, char *why, size_t why_size)
{
    char said[700];
    struct stat st;
    int fd = file_open_named(path, UNPACKED_MAX, &st), e = fd < 0 ? fd : 0;

    *s = (struct source){
        .name = path, .gz = e ? NULL : gzdopen(fd, "rb"), .secret = !e && !(st.st_mode & S_IROTH)};
    if (s->gz) {
        gzbuffer(s->gz, 1u << 17);
        return 0;
    }
    if (!e) {
        close(fd);
        e = -ENOMEM;
    }
    file_why(e, said, sizeof said);
    snprintf(why, why_size, "%s: %s", path, said);
    return e;
}

#define MOMENT_NS (100 * NS_PER_MS)

static uint64_t ns_of(const struct timespec *t)
{
    return (uint64_t)t->tv_sec * NS_PER_SECOND + (uint64_t)t->tv_nsec;
}

struct acl_file_sign acl_file_sign(const char *path)
{
    uint64_t now_ns = clock_wall_ns(); // before the file's time is read
    struct stat st;

    if (!*path || stat(path, &st) || ns_of(&st.st_ctim) + MOMENT_NS > now_ns)
        return (struct acl_file_sign){0};
    return (struct acl_file_sign){.device = st.st_dev,
                                  .inode = st.st_ino,
                                  .bytes = (uint64_t)st.st_size,
                                  .changed_ns = ns_of(&st.st_ctim),
                                  .modified_ns = ns_of(&st.st_mtim)};
}

bool acl_file_same(const struct acl_file_sign *a, const struct acl_file_sign *b)
{
    return a->inode && !memcmp(a, b, sizeof *a);
}

static bool ends_with(const char *s, const char *end)
{
    size_t n = strlen(s), m = strlen(end);

    return n >= m && !strcmp(s + n - m, end);
}

int acl_file_rules(const char *path, struct acl_lines *l, char *why, size_t why_size)
{
    bool csv = ends_with(path, ".csv") || ends_with(path, ".csv.gz");
    struct source s;
    int r = open_source(&s, path, why, why_size);

    if (r)
        return r;
    r = csv ? read_columns(&s, l, why, why_size) : read_rules(&s, l, why, why_size);
    gzclose(s.gz);
    return r;
}

int acl_file_members(const char *path, struct acl_members *m, char *why, size_t why_size)
{
    struct source s;
    int r = open_source(&s, path, why, why_size);

    if (r)
        return r;
    r = read_members(&s, m, why, why_size);
    gzclose(s.gz);
    return r;
}
