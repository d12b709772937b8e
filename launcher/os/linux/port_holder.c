/* Who holds a port: from the table of sockets to the inode of the socket, and from there to the
 * processes that have it open. */
#include "os/posix/posix.h"
#include "proc.h"
#include "tcp_table.h"

#include <errno.h>
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
    int pid;      /* who is being looked at, */
    bool has_one; /* and whether he has one of the sockets */
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

static void examine_descriptor(void *context, int fd) {
    struct hunt *hunt = context;
    char path[64], link[64];
    uint64_t inode;
    ssize_t n;
    if (hunt->has_one)
        return;
    snprintf(path, sizeof path, "/proc/%d/fd/%d", hunt->pid, fd);
    n = readlink(path, link, sizeof link - 1);
    link[n > 0 ? n : 0] = '\0';
    if (sscanf(link, "socket:[%" SCNu64 "]", &inode) != 1)
        return;
    for (size_t i = 0; i < hunt->inode_count; i++)
        hunt->has_one |= hunt->inodes[i] == inode;
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

static void examine_process(void *context, int pid) {
    struct hunt *hunt = context;
    struct candidate found = {.identity.pid = pid};
    struct proc_stat stat;
    char path[64];
    hunt->pid = pid;
    hunt->has_one = false;
    snprintf(path, sizeof path, "/proc/%d/fd", pid);
    proc_each_number(path, examine_descriptor, hunt);
    if (!hunt->has_one || proc_stat_of(pid, &stat) < 0)
        return;
    found.identity.start = stat.start;
    found.parent = stat.parent;
    if (hunt->count++ == 0 || is_before(&found, &hunt->best))
        hunt->best = found;
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
        rc = proc_each(examine_process, &hunt);
    if (hunt.count == 0)
        return rc == -ENOMEM ? rc : 0;
    holder->identity = hunt.best.identity;
    holder->count = hunt.count;
    /* What is not shown stays empty; the process is named all the same. */
    os_process_executable(&holder->identity, holder->executable, sizeof holder->executable);
    os_process_command(&holder->identity, holder->command, sizeof holder->command);
    os_process_user(&holder->identity, &holder->user);
    return 0;
}
