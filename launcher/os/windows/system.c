/* The little that the command line needs everywhere. */
#include "os/os.h"

#include <errno.h>
#include <fcntl.h>
#include <io.h>

int os_stdio_ensure(void) {
    for (int fd = 0; fd <= 2; fd++)
        if (_get_osfhandle(fd) < 0 && _open("NUL", _O_RDWR) < 0)
            return -errno;
    return 0;
}

bool os_reader_gone(os_handle output) {
    (void)output;
    return false;
}
