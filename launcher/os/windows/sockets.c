#include "sockets.h"

int sockets_error(void) {
    return win_code((DWORD)WSAGetLastError());
}

static bool start_once(void) {
    static INIT_ONCE once = INIT_ONCE_STATIC_INIT;
    static bool started;
    WSADATA data;
    BOOL pending;
    if (!InitOnceBeginInitialize(&once, 0, &pending, NULL))
        return false;
    if (pending) {
        started = WSAStartup(MAKEWORD(2, 2), &data) == 0;
        InitOnceComplete(&once, 0, NULL);
    }
    return started;
}

int sockets_open(int family, SOCKET *opened) {
    *opened = INVALID_SOCKET;
    if (!start_once())
        return UV_ENETDOWN;
    *opened = WSASocketW(family, SOCK_STREAM, IPPROTO_TCP, NULL, 0,
                         WSA_FLAG_OVERLAPPED | WSA_FLAG_NO_HANDLE_INHERIT);
    return *opened == INVALID_SOCKET ? sockets_error() : 0;
}

int sockets_bind_alone(SOCKET opened, const struct sockaddr *address, int length) {
    BOOL on = TRUE;
    if (setsockopt(opened, SOL_SOCKET, SO_EXCLUSIVEADDRUSE, (const char *)&on, sizeof on) < 0 ||
        (address->sa_family == AF_INET6 &&
         setsockopt(opened, IPPROTO_IPV6, IPV6_V6ONLY, (const char *)&on, sizeof on) < 0) ||
        bind(opened, address, length) < 0)
        return sockets_error();
    return 0;
}
