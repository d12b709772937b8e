/* Who holds a port, as far as the system shows it: our own processes, all if we are root. */
#include "tcp_sockets.h"

#include <errno.h>

struct hunt {
    uint16_t port;
    int64_t last; /* who was counted; each has its sockets in a row */
    struct os_port_holder *holder;
};

/* One that listens displaces all that merely use the port; of several the oldest is told. */
static bool consider(const struct tcp_socket *socket, void *arg) {
    struct hunt *hunt = arg;
    struct os_port_holder *holder = hunt->holder;
    struct os_identity identity;
    if (socket->local.port != hunt->port || (holder->listening && !socket->listening) ||
        os_identity_of(socket->pid, &identity) < 0)
        return true;
    if (socket->listening && !holder->listening)
        *holder = (struct os_port_holder){.listening = true};
    if (holder->count == 0 || identity.start < holder->identity.start)
        holder->identity = identity;
    if (holder->count == 0 || identity.pid != hunt->last)
        holder->count++;
    hunt->last = identity.pid;
    return true;
}

int os_port_holder(uint16_t port, struct os_port_holder *holder) {
    struct hunt hunt = {.port = port, .holder = holder};
    *holder = (struct os_port_holder){.count = 0};
    int rc = tcp_sockets_each(consider, &hunt);
    if (rc < 0)
        return rc;
    if (holder->count == 0)
        return -ENOENT;
    /* What is not shown stays empty; the process is named all the same. */
    os_process_executable(&holder->identity, holder->executable, sizeof holder->executable);
    os_process_command(&holder->identity, holder->command, sizeof holder->command);
    return os_process_user(&holder->identity, &holder->user);
}
