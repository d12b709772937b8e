/* The little that the command line needs everywhere. */
#include "os/os.h"

#include <errno.h>
#include <fcntl.h>
#include <io.h>
#include <stdlib.h>
#include <windows.h>

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

/* What the C library has is of the system's code page, so it is not asked. Nobody frees the text:
 * few variables are asked for, each once. */
const char *os_variable(const char *name) {
    wchar_t wide_name[64], *wide;
    DWORD size;
    char *text = NULL;
    int length;
    if (MultiByteToWideChar(CP_UTF8, 0, name, -1, wide_name, 64) == 0)
        return NULL;
    size = GetEnvironmentVariableW(wide_name, NULL, 0);
    wide = size ? malloc(size * sizeof *wide) : NULL;
    if (!wide)
        return NULL;
    if (GetEnvironmentVariableW(wide_name, wide, size) < size) {
        length = WideCharToMultiByte(CP_UTF8, 0, wide, -1, NULL, 0, NULL, NULL);
        text = malloc((size_t)length);
        if (text)
            WideCharToMultiByte(CP_UTF8, 0, wide, -1, text, length, NULL, NULL);
    }
    free(wide);
    return text;
}

void os_ignore_broken_pipes(void) {
}
