/* Counts, records and fails the file system calls of one process, below one folder.
 *
 * Loaded before libc (LD_PRELOAD), so that Python, libgit2 and SQLite call these functions first. A call counts
 * when a path that it names lies below the folder given to `faults_arm`. Calls are numbered from 1; when the
 * number asked for comes, the action is done. The library's own calls go to the kernel directly.
 *
 * A line of the record: number, name, result, offset, path, second path or -, bytes in hex or -; by tabs.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <unistd.h>

enum action { COUNT, SIGNAL, FAIL, TORN, SHORT };

static char folder[PATH_MAX];
static size_t folder_length;
static int armed, action, value, sticky, record = -1;
static long target, seen;

/* target: the number of the call. value: a signal or an errno. sticky: fail every later call that writes, too.
 * record: a descriptor to write lines to, or -1. */
void faults_arm(const char *root, long number, int what, int with, int stays, int to)
{
    snprintf(folder, sizeof folder, "%s/", root);
    folder_length = strlen(folder);
    target = number, action = what, value = with, sticky = stays, record = to;
    seen = 0;
    armed = 1;
}

void faults_disarm(void) { armed = 0; }
long faults_seen(void) { return seen; }

static int named(int at, const char *path, char *full)
{
    char link[64];
    ssize_t length;
    if (path && path[0] == '/') {
        snprintf(full, PATH_MAX, "%s", path);
    } else {
        snprintf(link, sizeof link, at == AT_FDCWD ? "/proc/self/cwd" : "/proc/self/fd/%d", at);
        length = syscall(SYS_readlinkat, AT_FDCWD, link, full, PATH_MAX - 1);
        if (length < 0)
            return 0;
        full[length] = 0;
        if (path && path[0])
            snprintf(full + length, PATH_MAX - length, "/%s", path);
    }
    return strncmp(full, folder, folder_length) == 0;
}

static void put(const char *text, size_t length)
{
    while (length) {
        ssize_t done = syscall(SYS_write, record, text, length);
        if (done <= 0)
            return;
        text += done, length -= done;
    }
}

static void note(const char *name, long result, long offset, const char *one, const char *two,
                 const unsigned char *data, long size)
{
    static const char digits[] = "0123456789abcdef";
    char line[2 * PATH_MAX + 128];
    int saved = errno;
    if (!armed || record < 0)
        return;
    put(line, snprintf(line, sizeof line, "%ld\t%s\t%ld\t%ld\t%s\t%s\t", seen, name, result, offset, one,
                       two ? two : "-"));
    if (data && size > 0) {
        char *hex = malloc(2 * size);
        for (long i = 0; i < size; i++)
            hex[2 * i] = digits[data[i] >> 4], hex[2 * i + 1] = digits[data[i] & 15];
        put(hex, 2 * size);
        free(hex);
    } else
        put("-", 1);
    put("\n", 1);
    errno = saved;
}

/* Says what becomes of a call: 0 goes on, else it fails with this errno; a negative one writes one half only. */
static int verdict(int writes)
{
    seen++;
    if (seen == target) {
        if (action == SIGNAL) {
            syscall(SYS_tgkill, getpid(), syscall(SYS_gettid), value);
            return 0;
        }
        if (action == FAIL)
            return value;
        if (action == TORN || action == SHORT)
            return -1;
    }
    if (sticky && action == FAIL && target && seen > target && writes)
        return value;
    return 0;
}


static int opened(int at, const char *path, int flags, mode_t mode)
{
    char full[PATH_MAX];
    int ours = armed && named(at, path, full), fresh = 0, handle;
    if (ours) {
        struct stat status;
        int error = verdict(flags & (O_CREAT | O_TRUNC));
        if (error > 0)
            return errno = error, -1;
        if (flags & O_CREAT)
            fresh = syscall(SYS_newfstatat, at, path, &status, AT_SYMLINK_NOFOLLOW) < 0;
    }
    handle = syscall(SYS_openat, at, path, flags, mode);
    if (ours)
        note(fresh ? "create" : flags & O_TRUNC ? "truncate" : "open", handle, 0, full, NULL, NULL, 0);
    return handle;
}

#define OPEN(name)                                                                                                     \
    int name(const char *path, int flags, ...)                                                                         \
    {                                                                                                                  \
        va_list more;                                                                                                  \
        va_start(more, flags);                                                                                         \
        mode_t mode = flags & (O_CREAT | O_TMPFILE) ? va_arg(more, mode_t) : 0;                                        \
        va_end(more);                                                                                                  \
        return opened(AT_FDCWD, path, flags, mode);                                                                    \
    }
#define OPENAT(name)                                                                                                   \
    int name(int at, const char *path, int flags, ...)                                                                 \
    {                                                                                                                  \
        va_list more;                                                                                                  \
        va_start(more, flags);                                                                                         \
        mode_t mode = flags & (O_CREAT | O_TMPFILE) ? va_arg(more, mode_t) : 0;                                        \
        va_end(more);                                                                                                  \
        return opened(at, path, flags, mode);                                                                          \
    }
OPEN(open)
OPEN(open64)
OPENAT(openat)
OPENAT(openat64)
int __open_2(const char *path, int flags) { return opened(AT_FDCWD, path, flags, 0); }
int __open64_2(const char *path, int flags) { return opened(AT_FDCWD, path, flags, 0); }
int __openat_2(int at, const char *path, int flags) { return opened(at, path, flags, 0); }
int __openat64_2(int at, const char *path, int flags) { return opened(at, path, flags, 0); }
int creat(const char *path, mode_t mode) { return opened(AT_FDCWD, path, O_CREAT | O_WRONLY | O_TRUNC, mode); }

static ssize_t written(int handle, const void *data, size_t size, off_t offset, int at_offset)
{
    char full[PATH_MAX];
    int ours = armed && handle != record && named(handle, NULL, full), error = 0;
    long where = 0, done;
    if (ours) {
        struct stat status;
        error = verdict(1);
        if (error > 0)
            return errno = error, -1;
        if (error < 0 && size > 1)
            size /= 2;
        where = at_offset ? offset : syscall(SYS_lseek, handle, 0, SEEK_CUR);
        if (!at_offset && syscall(SYS_fcntl, handle, F_GETFL) & O_APPEND && fstat(handle, &status) == 0)
            where = status.st_size;
    }
    done = at_offset ? syscall(SYS_pwrite64, handle, data, size, offset) : syscall(SYS_write, handle, data, size);
    if (ours)
        note("write", done, where, full, NULL, data, done);
    if (error < 0 && action == TORN)
        syscall(SYS_kill, getpid(), SIGKILL);
    return done;
}

ssize_t write(int handle, const void *data, size_t size) { return written(handle, data, size, 0, 0); }
ssize_t pwrite(int handle, const void *data, size_t size, off_t at) { return written(handle, data, size, at, 1); }
ssize_t pwrite64(int handle, const void *data, size_t size, off_t at) { return written(handle, data, size, at, 1); }

/* Copies inside the kernel are refused, so that callers copy by read and write, which are seen. */
ssize_t sendfile(int to, int from, off_t *at, size_t size)
{
    if (armed)
        return errno = EINVAL, -1;
    return syscall(SYS_sendfile, to, from, at, size);
}
ssize_t sendfile64(int to, int from, off_t *at, size_t size) { return sendfile(to, from, at, size); }
ssize_t copy_file_range(int from, off_t *at, int to, off_t *into, size_t size, unsigned flags)
{
    if (armed)
        return errno = EINVAL, -1;
    return syscall(SYS_copy_file_range, from, at, to, into, size, flags);
}

/* A call on an open file. Nothing is brought on disk: no power fails here, and a run is ten times as fast. */
static int synced(int handle)
{
    char full[PATH_MAX];
    if (armed && named(handle, NULL, full)) {
        int error = verdict(1);
        if (error > 0)
            return errno = error, -1;
        note("fsync", 0, 0, full, NULL, NULL, 0);
    }
    return 0;
}
int fsync(int handle) { return synced(handle); }
int fdatasync(int handle) { return synced(handle); }

static int shortened(int handle, off_t size)
{
    char full[PATH_MAX];
    int ours = armed && named(handle, NULL, full), done;
    if (ours) {
        int error = verdict(1);
        if (error > 0)
            return errno = error, -1;
    }
    done = syscall(SYS_ftruncate, handle, size);
    if (ours)
        note("ftruncate", done, size, full, NULL, NULL, 0);
    return done;
}
int ftruncate(int handle, off_t size) { return shortened(handle, size); }
int ftruncate64(int handle, off_t size) { return shortened(handle, size); }

/* A call on one or two names. */
#define NAMES(label, at, one, at2, two, call)                                                                          \
    char first[PATH_MAX], second[PATH_MAX];                                                                            \
    int ours = armed && named(at, one, first), done;                                                                   \
    const char *other = two;                                                                                           \
    if (ours) {                                                                                                        \
        int error = verdict(1);                                                                                        \
        if (error > 0)                                                                                                 \
            return errno = error, -1;                                                                                  \
        if (other)                                                                                                     \
            named(at2, other, second);                                                                                 \
    }                                                                                                                  \
    done = call;                                                                                                       \
    if (ours)                                                                                                          \
        note(label, done, 0, first, other ? second : NULL, NULL, 0);                                                   \
    return done;

static int moved(int at, const char *one, int at2, const char *two, unsigned flags)
{
    NAMES("rename", at, one, at2, two, syscall(SYS_renameat2, at, one, at2, two, flags))
}
int rename(const char *one, const char *two) { return moved(AT_FDCWD, one, AT_FDCWD, two, 0); }
int renameat(int at, const char *one, int at2, const char *two) { return moved(at, one, at2, two, 0); }
int renameat2(int at, const char *one, int at2, const char *two, unsigned flags)
{
    return moved(at, one, at2, two, flags);
}
static int linked(int at, const char *one, int at2, const char *two, int flags)
{
    NAMES("link", at, one, at2, two, syscall(SYS_linkat, at, one, at2, two, flags))
}
int link(const char *one, const char *two) { return linked(AT_FDCWD, one, AT_FDCWD, two, 0); }
int linkat(int at, const char *one, int at2, const char *two, int flags) { return linked(at, one, at2, two, flags); }
static int unlinked(int at, const char *one, int flags)
{
    NAMES(flags & AT_REMOVEDIR ? "rmdir" : "unlink", at, one, 0, NULL, syscall(SYS_unlinkat, at, one, flags))
}
int unlink(const char *one) { return unlinked(AT_FDCWD, one, 0); }
int unlinkat(int at, const char *one, int flags) { return unlinked(at, one, flags); }
int rmdir(const char *one) { return unlinked(AT_FDCWD, one, AT_REMOVEDIR); }
static int made(int at, const char *one, mode_t mode)
{
    NAMES("mkdir", at, one, 0, NULL, syscall(SYS_mkdirat, at, one, mode))
}
int mkdir(const char *one, mode_t mode) { return made(AT_FDCWD, one, mode); }
int mkdirat(int at, const char *one, mode_t mode) { return made(at, one, mode); }
