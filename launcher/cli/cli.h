/* The command line: finds the command that was named, runs it, turns its outcome into an exit code.
 */
#ifndef TETHER_CLI_H
#define TETHER_CLI_H

/* Runs the whole program; returns its exit code. */
int cli_main(int argc, char **argv);

#endif
