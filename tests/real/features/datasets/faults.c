/* Makes one change of files below a folder fail, and writes a log of all of them: for tests/real/features/datasets/test_disk_faults.py.

   Loaded before libc (LD_PRELOAD). fault_arm(folder, log, n, error): the n-th change below the folder fails with error,
   none for n = 0; each one that is made is appended to the log, as a head of the change and then its bytes. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static char folder[PATH_MAX];
static int log_to = -1, fails_at, error, changes;

#define REAL(name) static __typeof__(&name) real; if (!real) real = dlsym(RTLD_NEXT, #name)

void fault_arm(const char *where, const char *log, int n, int with) {
    snprintf(folder, sizeof folder, "%s", where);
    log_to = log ? open(log, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600) : -1;
    fails_at = n;
    error = with;
    changes = 0;
}

int fault_changes(void) { return changes; }

static int is_below(const char *path) {
    size_t length = strlen(folder);
    return length && !strncmp(path, folder, length);
}

static void absolute(int at, const char *path, char *out) {
    char base[PATH_MAX - 1] = "", link[64];
    if (path[0] != '/') {
        if (at == AT_FDCWD) {
            if (!getcwd(base, sizeof base)) base[0] = 0;
        } else {
            snprintf(link, sizeof link, "/proc/self/fd/%d", at);
            ssize_t n = readlink(link, base, sizeof base - 1);
            base[n < 0 ? 0 : n] = 0;
        }
    }
    size_t length = strlen(base);
    memcpy(out, base, length);
    if (length) out[length++] = '/';
    snprintf(out + length, PATH_MAX - length, "%s", path);
}

static int of_descriptor(int fd, char *out) {
    char link[64];
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    ssize_t n = folder[0] && fd != log_to ? readlink(link, out, PATH_MAX - 1) : -1;
    out[n < 0 ? 0 : n] = 0;
    return n > 0 && is_below(out);
}

/* Whether this change is the one that fails. */
static int fails(void) {
    if (++changes == fails_at) {
        errno = error;
        return 1;
    }
    return 0;
}

static void note(char kind, const char *path, const char *other, int64_t offset, const void *data, uint32_t size) {
    if (log_to < 0) return;
    int saved = errno;
    REAL(write);
    uint32_t head[3] = {(uint32_t)strlen(path), (uint32_t)strlen(other), size};
    char line[1 + sizeof head + sizeof offset + 2 * PATH_MAX], *end = line;
    *end++ = kind;
    memcpy(end, head, sizeof head), end += sizeof head;
    memcpy(end, &offset, sizeof offset), end += sizeof offset;
    memcpy(end, path, head[0]), end += head[0];
    memcpy(end, other, head[1]), end += head[1];
    if (real(log_to, line, end - line) < 0 || (size && real(log_to, data, size) < 0)) abort();
    errno = saved;
}

ssize_t write(int fd, const void *data, size_t size) {
    REAL(write);
    char path[PATH_MAX];
    if (!of_descriptor(fd, path)) return real(fd, data, size);
    if (fails()) return -1;
    struct stat now;
    int flags = fcntl(fd, F_GETFL);
    int64_t at = flags & O_APPEND && !fstat(fd, &now) ? now.st_size : lseek(fd, 0, SEEK_CUR);
    ssize_t done = real(fd, data, size);
    if (done > 0) note('w', path, "", at, data, done);
    return done;
}

static ssize_t at_place(ssize_t (*real)(int, const void *, size_t, off_t), int fd, const void *data, size_t size, off_t at) {
    char path[PATH_MAX];
    if (!of_descriptor(fd, path)) return real(fd, data, size, at);
    if (fails()) return -1;
    ssize_t done = real(fd, data, size, at);
    if (done > 0) note('w', path, "", at, data, done);
    return done;
}

ssize_t pwrite(int fd, const void *data, size_t size, off_t at) {
    REAL(pwrite);
    return at_place(real, fd, data, size, at);
}

ssize_t pwrite64(int fd, const void *data, size_t size, off_t at) {
    REAL(pwrite64);
    return at_place((ssize_t(*)(int, const void *, size_t, off_t))real, fd, data, size, at);
}

#define SYNCS(name)                                        \
    int name(int fd) {                                     \
        REAL(name);                                        \
        char path[PATH_MAX];                               \
        if (!of_descriptor(fd, path)) return real(fd);     \
        if (fails()) return -1;                            \
        int done = real(fd);                               \
        if (!done) note('s', path, "", 0, "", 0);          \
        return done;                                       \
    }
SYNCS(fsync)
SYNCS(fdatasync)

#define TRUNCATES(name, type)                              \
    int name(int fd, type size) {                          \
        REAL(name);                                        \
        char path[PATH_MAX];                               \
        if (!of_descriptor(fd, path)) return real(fd, size); \
        int done = real(fd, size);                         \
        if (!done) note('t', path, "", size, "", 0);       \
        return done;                                       \
    }
TRUNCATES(ftruncate, off_t)
TRUNCATES(ftruncate64, off64_t)

static int moved(char kind, int from_at, const char *from, int to_at, const char *to, int (*real)(int, const char *, int, const char *)) {
    char a[PATH_MAX], b[PATH_MAX];
    absolute(from_at, from, a), absolute(to_at, to, b);
    if (!is_below(b)) return real(from_at, from, to_at, to);
    if (fails()) return -1;
    int done = real(from_at, from, to_at, to);
    if (!done) note(kind, a, b, 0, "", 0);
    return done;
}

static int plain_link(int a, const char *from, int b, const char *to) {
    REAL(linkat);
    return real(a, from, b, to, 0);
}

int renameat(int a, const char *from, int b, const char *to) {
    REAL(renameat);
    return moved('r', a, from, b, to, real);
}

int rename(const char *from, const char *to) { return renameat(AT_FDCWD, from, AT_FDCWD, to); }

int linkat(int a, const char *from, int b, const char *to, int flags) {
    (void)flags;
    return moved('l', a, from, b, to, plain_link);
}

int link(const char *from, const char *to) { return linkat(AT_FDCWD, from, AT_FDCWD, to, 0); }

int unlinkat(int at, const char *path, int flags) {
    REAL(unlinkat);
    char full[PATH_MAX];
    absolute(at, path, full);
    int done = real(at, path, flags);
    if (!done && is_below(full)) note('u', full, "", 0, "", 0);
    return done;
}

int unlink(const char *path) { return unlinkat(AT_FDCWD, path, 0); }

static int opened(int (*real)(int, const char *, int, ...), int at, const char *path, int flags, mode_t mode) {
    char full[PATH_MAX];
    absolute(at, path, full);
    int is_new = is_below(full) && flags & O_CREAT && access(full, F_OK);
    int fd = real(at, path, flags, mode);
    if (fd >= 0 && is_below(full) && (is_new || flags & O_TRUNC)) note(is_new ? 'c' : 't', full, "", 0, "", 0);
    return fd;
}

#define OPENS(name, real_name, at_parameter, at)           \
    int name(at_parameter const char *path, int flags, ...) { \
        REAL(real_name);                                   \
        va_list rest;                                      \
        va_start(rest, flags);                             \
        mode_t mode = flags & (O_CREAT | O_TMPFILE) ? va_arg(rest, mode_t) : 0; \
        va_end(rest);                                      \
        return opened(real, at, path, flags, mode);        \
    }
#define NOTHING
#define AT int descriptor,
OPENS(open, openat, NOTHING, AT_FDCWD)
OPENS(open64, openat64, NOTHING, AT_FDCWD)
OPENS(openat, openat, AT, descriptor)
OPENS(openat64, openat64, AT, descriptor)
