/* AI clients' files, as the command line asks for them. */
#ifndef TETHER_CLI_CLIENT_FILES_H
#define TETHER_CLI_CLIENT_FILES_H

#include "clients/clients.h"
#include "options/options.h"

/* What entries are made of, and the room for it. */
struct client_files {
    struct clients_place place;
    char project[OS_PATH_MAX], launcher[OS_PATH_MAX];
};

/* The project that is asked for or near, with the ports that it says unless the options do. Returns
 * 0, or an error: there is no such project. */
int client_files_init(struct client_files *files, const struct options *options, struct error *err);

#endif
