/* An editor asks which drives there are whenever it looks into a folder. Wine 8 goes through the
 * names of all devices for that, each in a request to its server: most of what an editor computed
 * while tools worked with files was that. Here they are asked for once. As quick_heap.c, which see,
 * this is no part of Tether, nor of what its tests look at. */
#include <windows.h>

DWORD WINAPI quick_GetLogicalDrives(void) {
    static volatile LONG drives;
    if (!drives)
        InterlockedExchange(&drives, (LONG)GetLogicalDrives());
    return (DWORD)drives;
}
