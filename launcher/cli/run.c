/* `tether run` and `tether daemon`: the same instance, in the foreground or detached. */
#include "commands.h"
#include "daemon/daemon.h"
#include "exit_code.h"
#include "os/os_spawn.h"

int command_run(const struct options *options) {
    struct options attempt = *options;
    struct error err = {0};
    int code;
    if (options_check_start(options, &err) < 0)
        return exit_failing(EXIT_FAILED, &err);
    do
        code = daemon_run(&attempt, true);
    while (code == EXIT_PORT_HELD && options_next_pair(&attempt));
    return code;
}

int command_daemon(const struct options *options) {
    const os_handle handed[] = {(os_handle)options->lock_handle, (os_handle)options->result_handle};
    if (options->lock_handle < 0 || options->result_handle < 0) {
        fprintf(stderr, "tether daemon: this is what `tether launch` starts; use that, or "
                        "`tether run` to stay in the foreground\n");
        return EXIT_USAGE;
    }
    /* What an editor left open for `launch` to inherit is not for a process that outlives it. */
    os_handles_keep(handed, sizeof handed / sizeof handed[0]);
    return daemon_run(options, false);
}
