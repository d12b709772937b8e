/* Errors: the system's numbers become libuv's, which have words. */
#include "win.h"

int win_code(DWORD error) {
    switch (error) {
    case ERROR_ACCESS_DENIED: /* libuv has UV_EPERM */
    case ERROR_PRIVILEGE_NOT_HELD:
    case 740: /* ERROR_ELEVATION_REQUIRED, which mingw lacks */
        return UV_EACCES;
    case ERROR_BAD_EXE_FORMAT:
    case ERROR_EXE_MACHINE_TYPE_MISMATCH:
        return UV_EFTYPE;
    case ERROR_PIPE_BUSY:
        return UV_EAGAIN;
    case ERROR_CANT_RESOLVE_FILENAME:
        return UV_ELOOP;
    case ERROR_SUCCESS: /* a function that failed without a reason */
        return UV_UNKNOWN;
    default:
        return uv_translate_sys_error((int)error);
    }
}

int win_error(void) {
    return win_code(GetLastError());
}

struct os_error_text os_error_text(int code) {
    struct os_error_text result;
    DWORD saved = GetLastError();
    uv_strerror_r(code > 0 ? -code : code, result.text, sizeof result.text);
    SetLastError(saved);
    return result;
}
