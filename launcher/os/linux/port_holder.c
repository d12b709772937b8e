/* Who holds a port: from the table of sockets to the inode of the socket, and from there to the
 * processes that have it open. */
#include "os/posix/posix.h"
#include "proc.h"
#include "tcp_table.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* Sockets on one port: rarely more than one per address and family. */
#define SOCKETS_MAX 16

struct candidate {
    struct os_identity identity;
    int64_t parent;
};

struct hunt {
    uint64_t inodes[SOCKETS_MAX];
    size_t inode_count;
    bool listening, seen;
    uint32_t user;
    struct candidate best;
    unsigned count;
    int rc; /* a process could not be looked at for want of memory */
};

/* Collects sockets. One that listens displaces all that merely use the port. */
static bool collect(const struct tcp_row *row, void *arg) {
    struct hunt *hunt = arg;
    bool listening = row->kind == TCP_ROW_LISTENING;
    if (row->kind == TCP_ROW_LEFTOVER || (hunt->listening && !listening))
        return true;
    if (listening && !hunt->listening) {
        hunt->listening = true;
        hunt->seen = false;
        hunt->inode_count = 0;
    }
    if (!hunt->seen)
        hunt->user = row->user;
    hunt->seen = true;
    if (row->inode != 0 && hunt->inode_count < SOCKETS_MAX)
        hunt->inodes[hunt->inode_count++] = row->inode;
    return true;
}

/* Whether a descriptor, named by its link in /proc/PID/fd, is one of the sockets. */
static bool is_wanted_socket(int dir, const char *name, const struct hunt *hunt) {
    char link[64];
    uint64_t inode;
    ssize_t n = readlinkat(dir, name, link, sizeof link - 1);
    if (n < 0)
        return false;
    link[n] = '\0';
    if (sscanf(link, "socket:[%" SCNu64 "]", &inode) != 1)
        return false;
    for (size_t i = 0; i < hunt->inode_count; i++) {
        if (hunt->inodes[i] == inode)
            return true;
    }
    return false;
}

static bool has_wanted_socket(int process, struct hunt *hunt) {
    bool found = false;
    int fd = openat(process, "fd", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0)
        return false;
    DIR *dir = fdopendir(fd);
    if (!dir) {
        hunt->rc = -errno;
        close(fd);
        return false;
    }
    const struct dirent *entry;
    while (!found && (entry = readdir(dir)))
        found = is_wanted_socket(dirfd(dir), entry->d_name, hunt);
    closedir(dir);
    return found;
}

/* A server is older than the children it shares its socket with. Start times are coarse, so a child
 * may have the same as its parent. */
static bool is_before(const struct candidate *a, const struct candidate *b) {
    if (a->identity.start != b->identity.start)
        return a->identity.start < b->identity.start;
    if (b->parent == a->identity.pid)
        return true;
    if (a->parent == b->identity.pid)
        return false;
    return a->identity.pid < b->identity.pid;
}

static bool examine(int64_t pid, void *arg) {
    struct hunt *hunt = arg;
    struct candidate found = {.identity.pid = pid};
    struct proc_stat stat;
    int process = proc_open(&found.identity);
    if (process < 0)
        return true;
    bool has = has_wanted_socket(process, hunt);
    close(process);
    if (!has || proc_stat_of(pid, &stat) < 0)
        return true;
    found.identity.start = stat.start;
    found.parent = stat.parent;
    if (hunt->count++ == 0 || is_before(&found, &hunt->best))
        hunt->best = found;
    return true;
}

int os_port_holder(uint16_t port, struct os_port_holder *holder) {
    struct hunt hunt = {0};
    *holder = (struct os_port_holder){.count = 0};
    int rc = tcp_table_each(port, collect, &hunt);
    if (rc < 0)
        return rc;
    if (!hunt.seen)
        return -ENOENT;
    holder->user = hunt.user;
    holder->listening = hunt.listening;
    if (hunt.inode_count > 0)
        rc = proc_each(examine, &hunt);
    if (hunt.count == 0)
        return rc == -ENOMEM ? rc : hunt.rc;
    holder->identity = hunt.best.identity;
    holder->count = hunt.count;
    /* What is not shown stays empty; the process is named all the same. */
    os_process_executable(&holder->identity, holder->executable, sizeof holder->executable);
    os_process_command(&holder->identity, holder->command, sizeof holder->command);
    os_process_user(&holder->identity, &holder->user);
    return 0;
}
