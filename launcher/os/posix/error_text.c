/* strerror_r comes in two shapes; this file asks for the standard one. */
#undef _GNU_SOURCE
#undef _DEFAULT_SOURCE
#define _POSIX_C_SOURCE 200809L /* NOLINT(bugprone-reserved-identifier) */

#include "os/os.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

struct os_error_text os_error_text(int code) {
    struct os_error_text result;
    int saved = errno;
    unsigned number = code < 0 ? 0u - (unsigned)code : (unsigned)code;
    if (strerror_r((int)number, result.text, sizeof result.text) != 0)
        snprintf(result.text, sizeof result.text, "error %u", number);
    errno = saved;
    return result;
}
