/* The command line: finds the command that was named, runs it, turns its outcome into an exit code.
 * The codes are part of the contract with other people's scripts. */
#ifndef TETHER_CLI_H
#define TETHER_CLI_H

enum exit_code {
    EXIT_FINE = 0,
    EXIT_FAILED = 1,
    EXIT_USAGE = 2,
    EXIT_PORT_HELD = 3,
    EXIT_NOT_READY = 4,
    EXIT_NOT_RUNNING = 5,
};

/* Runs the whole program; returns its exit code. */
int cli_main(int argc, char **argv);

#endif
