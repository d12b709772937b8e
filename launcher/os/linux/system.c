#include "os/os.h"

#include <uv.h>

const char os_config_variable[] = "XDG_CONFIG_HOME";
const char os_config_folder[] = ".config";

/* By CLOCK_MONOTONIC, which stands still while the machine sleeps. */
int64_t os_clock_ms(void) {
    return (int64_t)(uv_hrtime() / 1000000);
}
