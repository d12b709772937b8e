#include "tcp_sockets.h"

#include <arpa/inet.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "bsdinfo.h"

struct walk {
    tcp_socket_fn fn;
    void *arg;
};

/* libproc has ports in network order within an int. */
static struct tcp_end end_of(uint8_t family, int port, const struct in4in6_addr *v4,
                             const struct in6_addr *v6) {
    struct tcp_end end = {.port = ntohs((uint16_t)port), .address = *v6};
    if (family & INI_IPV4) {
        memset(&end.address, 0, sizeof end.address);
        end.address.s6_addr[10] = end.address.s6_addr[11] = 0xff;
        memcpy(&end.address.s6_addr[12], &v4->i46a_addr4, sizeof v4->i46a_addr4);
    }
    return end;
}

static bool offer(int64_t pid, const struct socket_info *info, const struct walk *walk) {
    const struct tcp_sockinfo *tcp = &info->soi_proto.pri_tcp;
    const struct in_sockinfo *ends = &tcp->tcpsi_ini;
    struct tcp_socket socket = {.pid = pid,
                                .listening = tcp->tcpsi_state == TSI_S_LISTEN,
                                .local = end_of(ends->insi_vflag, ends->insi_lport,
                                                &ends->insi_laddr.ina_46, &ends->insi_laddr.ina_6),
                                .remote =
                                    end_of(ends->insi_vflag, ends->insi_fport,
                                           &ends->insi_faddr.ina_46, &ends->insi_faddr.ina_6)};
    return walk->fn(&socket, walk->arg);
}

/* One process's descriptors; one that is not shown to us has none. */
static bool visit(int64_t pid, void *arg) {
    const struct walk *walk = arg;
    bool goes_on = true;
    int size = proc_pidinfo((int)pid, PROC_PIDLISTFDS, 0, NULL, 0);
    struct proc_fdinfo *list = size > 0 ? malloc((size_t)size) : NULL;
    if (!list)
        return true;
    size = proc_pidinfo((int)pid, PROC_PIDLISTFDS, 0, list, size);
    for (int i = 0; goes_on && i < size / (int)sizeof *list; i++) {
        struct socket_fdinfo info;
        if (list[i].proc_fdtype == PROX_FDTYPE_SOCKET &&
            proc_pidfdinfo((int)pid, list[i].proc_fd, PROC_PIDFDSOCKETINFO, &info, sizeof info) ==
                (int)sizeof info &&
            info.psi.soi_kind == SOCKINFO_TCP)
            goes_on = offer(pid, &info.psi, walk);
    }
    free(list);
    return goes_on;
}

int tcp_sockets_each(tcp_socket_fn fn, void *arg) {
    struct walk walk = {.fn = fn, .arg = arg};
    return bsdinfo_each(visit, &walk);
}
