#include "os.h"

#include <uv.h>

int os_random(void *out, size_t size) {
    return uv_random(NULL, NULL, out, size, 0, NULL);
}
