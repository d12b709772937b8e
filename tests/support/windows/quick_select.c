/* A program that is killed while it waits in select(), as a game does nearly always, leaves its
 * sockets to the server of Wine 8, which from then on does nothing but look at them, again and
 * again. Here it sleeps, and looks in between. As quick_heap.c, which see, this is no part of
 * Tether. */
#include <winsock2.h>

int WSAAPI quick_select(int count, fd_set *readable, fd_set *writable, fd_set *failed,
                        const struct timeval *limit) {
    struct timeval at_once = {0, 0};
    fd_set none = {0}, *sets[] = {readable, writable, failed}, asked[3];
    ULONGLONG end = GetTickCount64();
    if (limit)
        end += (ULONGLONG)limit->tv_sec * 1000 + (ULONGLONG)limit->tv_usec / 1000;
    for (int i = 0; i < 3; i++)
        asked[i] = sets[i] ? *sets[i] : none;
    for (;;) {
        int found = select(count, readable, writable, failed, &at_once);
        if (found != 0 || (limit && GetTickCount64() >= end))
            return found;
        Sleep(10); /* Windows, too, tells time by ticks of about that */
        for (int i = 0; i < 3; i++)
            if (sets[i])
                *sets[i] = asked[i];
    }
}
