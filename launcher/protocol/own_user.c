#include "own_user.h"

#include <uv.h>

#include "os/os.h"

static int check(const uv_tcp_t *tcp, int (*user_of)(os_handle handle, uint32_t *user)) {
    uv_os_fd_t handle;
    uint32_t user = 0;
    int rc = uv_fileno((const uv_handle_t *)tcp, &handle);
    if (rc == 0)
        rc = user_of((os_handle)handle, &user);
    if (rc == UV_ESRCH)
        return UV_ECONNRESET;
    return rc == 0 && user != os_user_self() ? UV_EPERM : 0;
}

int own_server_check(const uv_tcp_t *tcp) {
    return check(tcp, os_tcp_server_user);
}

int own_client_check(const uv_tcp_t *tcp) {
    return check(tcp, os_tcp_peer_user);
}
