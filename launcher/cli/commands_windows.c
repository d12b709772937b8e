/* What tether can do on Windows so far; `tether help` lists no more than this. */
#include "commands.h"

const struct cli_command commands[] = {
    {"version", "print the version of tether, its protocol and its libraries", "[--json]",
     "  --json   one line of JSON, for programs\n", 0, NULL, command_version},
    {"help", "explain a command, or list them all", "[COMMAND]", "", 0, NULL, command_help},
};

const size_t command_count = sizeof commands / sizeof commands[0];
