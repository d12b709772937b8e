/* Sockets, for the Windows parts of the OS layer. */
#ifndef TETHER_OS_WIN_SOCKETS_H
#define TETHER_OS_WIN_SOCKETS_H

#include "win.h"

#include <ws2tcpip.h>

/* The code of the last error of a socket's function. */
int sockets_error(void);

/* A socket that no program inherits, once the library of sockets is up. */
int sockets_open(int family, SOCKET *opened);

/* Nobody may take the address as well, whatever he asks for. */
int sockets_bind_alone(SOCKET opened, const struct sockaddr *address, int length);

#endif
