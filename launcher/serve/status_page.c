#include <inttypes.h>

#include "protocol/version.h"
#include "serve/relay/editors.h"

void status_write(struct serve *serve, struct buffer *out) {
    char start[OS_NUMBER_MAX], instance[OPTIONS_INSTANCE_MAX];
    json_t *status;
    os_start_format(start, serve->self.start);
    snprintf(instance, sizeof instance, "%u-%u", (unsigned)serve->options->http_port,
             (unsigned)serve->options->ws_port);
    status =
        json_pack("{s:s, s:s, s:I, s:s, s:s, s:i, s:i, s:I, s:I, s:I, s:o}", "name", "tether",
                  "version", tether_version, "pid", (json_int_t)serve->self.pid, "start", start,
                  "instance", instance, "http_port", (int)serve->http_port, "ws_port",
                  (int)serve->ws_port, "uptime_ms", (json_int_t)(os_clock_ms() - serve->started_at),
                  "sessions", (json_int_t)serve->session_count, "calls",
                  (json_int_t)serve->call_count, "editors", editors_json(serve));
    rpc_add_json(out, status);
    json_decref(status);
}
