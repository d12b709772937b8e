/* What a TetherServer's properties mean for `tether launch`. */
#ifndef TETHER_CLASS_SERVER_SETUP_H
#define TETHER_CLASS_SERVER_SETUP_H

#include "engine/variant.h"
#include "session/launch_setup.h"

/* The properties, each of the type that its name is registered with. */
struct server_properties {
    struct engine_variant command, transport, http_port, ws_port, ports, environment, owner_aliases,
        ready, ready_timeout_ms, restart_policy, grace_ms, stop_grace_ms, idle_limit_ms, linger_ms,
        hold_ports, keep_on_exit, launcher;
};

/* Reads properties and editor into a setup, for launch_setup_finish. */
void server_setup_init(struct launch_setup *setup, const struct server_properties *properties);

#endif
