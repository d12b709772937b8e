/* Listening sockets on the loopback address, and such as were handed down.
 *
 * A socket is handed down as an inherited handle, whose value is in a variable. Loops want a socket
 * that was opened in their own process, so it is opened anew from the handle. The variables reach
 * grandchildren as well, for whom the values mean nothing: they are for the child of the process
 * that is named. */
#include "../os_loop.h"
#include "sockets.h"

#include <stdlib.h>
#include <string.h>

int os_listen(os_handle *listener, uint16_t port, int backlog, struct error *err) {
    struct sockaddr_in address = {
        .sin_family = AF_INET, .sin_port = htons(port), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    SOCKET opened;
    int rc = sockets_open(AF_INET, &opened);
    *listener = OS_NO_HANDLE;
    if (rc < 0)
        return error_set(err, rc, "cannot open a socket: %s", os_error_text(rc).text);
    rc = sockets_bind_alone(opened, (struct sockaddr *)&address, sizeof address);
    if (rc == 0 && listen(opened, backlog) < 0)
        rc = sockets_error();
    if (rc < 0) {
        closesocket(opened);
        return error_set(err, rc, "cannot listen on 127.0.0.1:%u: %s", (unsigned)port,
                         os_error_text(rc).text);
    }
    *listener = (os_handle)opened;
    return 0;
}

int os_port_reserve(os_handle *reserved, uint16_t port) {
    struct sockaddr_in6 address = {
        .sin6_family = AF_INET6, .sin6_port = htons(port), .sin6_addr = IN6ADDR_LOOPBACK_INIT};
    SOCKET opened;
    int rc = sockets_open(AF_INET6, &opened);
    *reserved = OS_NO_HANDLE;
    if (rc == 0)
        rc = sockets_bind_alone(opened, (struct sockaddr *)&address, sizeof address);
    if (rc == 0)
        *reserved = (os_handle)opened;
    else if (opened != INVALID_SOCKET)
        closesocket(opened);
    return rc;
}

int os_socket_port(os_handle handle, uint16_t *port) {
    union {
        struct sockaddr any;
        struct sockaddr_in v4;
        struct sockaddr_in6 v6;
    } address = {0};
    int length = sizeof address;
    if (getsockname((SOCKET)handle, &address.any, &length) < 0)
        return sockets_error();
    if (address.any.sa_family == AF_INET)
        *port = ntohs(address.v4.sin_port);
    else if (address.any.sa_family == AF_INET6)
        *port = ntohs(address.v6.sin6_port);
    else
        return UV_EAFNOSUPPORT;
    return 0;
}

/* The loop has the system accept connections before anybody comes, 32 of them if it may: as many it
 * would take along when it ends. One is enough. */
int os_listener_start(uv_tcp_t *tcp, os_handle listener, int backlog, uv_connection_cb fn) {
    int rc = uv_tcp_open(tcp, (uv_os_sock_t)listener);
    if (rc < 0)
        os_handle_close(&listener);
    else
        rc = uv_tcp_simultaneous_accepts(tcp, 0);
    return rc < 0 ? rc : uv_listen((uv_stream_t *)tcp, backlog, fn);
}

static BOOL PASCAL accept_nobody(SOCKET listener, SOCKET accepted, void *out, DWORD size,
                                 DWORD local, DWORD remote, DWORD *count, OVERLAPPED *overlapped) {
    (void)listener, (void)accepted, (void)out, (void)size;
    (void)local, (void)remote, (void)count, (void)overlapped;
    SetLastError(ERROR_OPERATION_ABORTED);
    return FALSE;
}

/* As long as others have the socket, the system goes on accepting for us even after we have closed
 * it, and those connections would end with us. Only the loop hears whether it was in time to take
 * that back, or somebody had come; either way it accepts anew, which fails. */
bool os_listener_rest(uv_tcp_t *tcp) {
    tcp->tcp.serv.func_acceptex = accept_nobody;
    CancelIoEx((HANDLE)tcp->socket, NULL);
    return false;
}

/* A socket of this process for the inherited one. */
static int open_anew(SOCKET inherited, SOCKET *opened) {
    WSAPROTOCOL_INFOW info;
    int rc = sockets_open(AF_INET, opened); /* the library is up */
    if (rc < 0)
        return rc;
    closesocket(*opened);
    if (WSADuplicateSocketW(inherited, GetCurrentProcessId(), &info) != 0)
        return sockets_error();
    *opened = WSASocketW(FROM_PROTOCOL_INFO, FROM_PROTOCOL_INFO, FROM_PROTOCOL_INFO, &info, 0,
                         WSA_FLAG_OVERLAPPED | WSA_FLAG_NO_HANDLE_INHERIT);
    if (*opened == INVALID_SOCKET)
        return sockets_error();
    closesocket(inherited);
    return 0;
}

/* The handles were marked as inheritable for us, and are not for our children. */
static bool take_one(const char **text, os_handle *out) {
    char *end;
    unsigned long long value = strtoull(*text, &end, 10);
    SOCKET opened;
    if (end == *text || (*end != ':' && *end != '\0') || value == 0 ||
        !SetHandleInformation((HANDLE)(uintptr_t)value, HANDLE_FLAG_INHERIT, 0) ||
        open_anew((SOCKET)value, &opened) < 0)
        return false;
    *text = *end ? end + 1 : end;
    *out = (os_handle)opened;
    return true;
}

size_t os_inherited_listeners(os_handle out[], size_t most) {
    const char *from = os_variable(win_listeners_from), *values = os_variable(win_listeners);
    int64_t meant, parent;
    size_t count = 0;
    if (!values || os_pid_parse(from, &meant) < 0 || win_noted_parent(&parent) < 0 ||
        parent != meant)
        return 0;
    while (count < most && *values && take_one(&values, &out[count]))
        count++;
    return count;
}

const char win_listeners[] = "TETHER_LISTEN_HANDLES";
const char win_listeners_from[] = "TETHER_LISTEN_FROM";
