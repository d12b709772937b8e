/* All commands. */
#include "commands.h"

#include "front/front.h"
#include "serve/serve.h"

#define STARTS (SCOPE_INSTANCE | SCOPE_START)

const struct cli_command commands[] = {
    {"run", "start a server in the foreground, with its log on the terminal",
     "[options] [-- COMMAND…]",
     "Without COMMAND it is `tether serve`, the built-in MCP server. With --stdio COMMAND is a "
     "server\n"
     "that speaks MCP over standard input and output, and gets the address that one has.\n"
     "Ctrl-C stops it in order; a second Ctrl-C at once.\n"
     "{http_port} {ws_port} {owner_pid} {instance} are replaced in COMMAND.\n",
     STARTS, command_run, NULL},
    {"launch", "start a server detached, or adopt the one that runs; prints one line of JSON",
     "[options] [-- COMMAND…]",
     "Without COMMAND it is `tether serve`, the built-in MCP server. With --stdio COMMAND is a "
     "server\n"
     "that speaks MCP over standard input and output, and gets the address that one has.\n"
     "With --owner-pid the server ends with its owner, once nobody else uses it.\n"
     "{http_port} {ws_port} {owner_pid} {instance} are replaced in COMMAND.\n"
     "Exit code: 0 it runs, 1 failed, 3 a port is held by a stranger, 4 not ready in time.\n",
     STARTS | SCOPE_TOLD, command_launch, NULL},
    {"mcp", "connect an MCP client that starts a command: MCP over standard input and output",
     "[options] [-- COMMAND…]",
     "Starts or adopts the server as `launch` does, and relays to http://127.0.0.1:PORT/mcp. It\n"
     "survives the loss of the server, and ends with its client. The server belongs to it, unless\n"
     "--owner-pid names another owner, and ends with it, once nobody else uses it.\n"
     "With --stdio COMMAND speaks MCP over standard input and output, and is shared with others.\n"
     "With COMMAND alone, that is this client's own server: it is only watched, and ends with its\n"
     "client, however that dies, and with all that it started. Its exit code is passed on.\n",
     STARTS | SCOPE_FRONT, command_mcp, NULL},
    {"status", "show what runs, for whom, and why it is still alive",
     "[--json] [--watch | --check]",
     "With --watch a terminal is drawn over at every change; elsewhere each is added below.\n"
     "Exit code 5: nothing runs (with --json: `state` is null); then it tells how the last run "
     "ended.\n",
     SCOPE_INSTANCE | SCOPE_JSON | SCOPE_WATCH, command_status, NULL},
    {"stop", "stop the server and its daemon", "[--force]",
     "Refuses while editors use it, and names them. Exit code 1, too: something of it is left.\n",
     SCOPE_INSTANCE | SCOPE_FORCE, command_stop, NULL},
    {"restart", "restart the server; sessions stay", "[--http-port N] [--ws-port N]", "",
     SCOPE_INSTANCE, command_restart, NULL},
    {"logs", "print what the server wrote", "[-n N] [-f]", "", SCOPE_INSTANCE | SCOPE_LOGS,
     command_logs, NULL},
    {"doctor", "examine the instance, its ports, what earlier runs left, and AI clients' files",
     "[--json] [--project PATH]", "Changes nothing. Exit code 1: something needs you.\n",
     SCOPE_INSTANCE | SCOPE_JSON | SCOPE_PROJECT, command_doctor, NULL},
    {"clients", "connect AI clients: list them, show what belongs where, write it, take it out",
     "list | show NAME | add NAME | remove NAME  [options]",
     "  list     which clients are there, and which of them know this server\n"
     "  show     the client's file, and the text that belongs into it\n"
     "  add      writes that; all else in the file stays as it is, byte for byte\n"
     "  remove   takes it out again\n"
     "Exit code: 1 a file cannot be written, or is not understood, and stays as it is.\n",
     SCOPE_INSTANCE | SCOPE_JSON | SCOPE_PROJECT | SCOPE_WAY, NULL, command_clients},
    {"sweep", "clean what earlier runs left, where that is safe", "[--http-port N] [--ws-port N]",
     "Removes files of dead processes and ends servers whose daemon is gone.\n", SCOPE_INSTANCE,
     command_sweep, NULL},
    {"serve", "the built-in MCP server; normally started by the others",
     "[--http-port N] [--ws-port N] [--stdio [--per-client] -- COMMAND…]",
     "MCP clients reach it at http://127.0.0.1:8000/mcp, editors with a token (TETHER_WS_TOKEN) "
     "on\n"
     "the second port. Serves on sockets that were handed down (LISTEN_FDS), or opens its own, "
     "and\n"
     "says READY=1 to NOTIFY_SOCKET. TETHER_HTTP_TOKEN: clients must send it as a bearer token.\n"
     "With --stdio it serves COMMAND, an MCP server that speaks over standard input and output.\n"
     "Exit code 3: a port is in use.\n",
     SCOPE_INSTANCE | SCOPE_STDIO, command_serve, NULL},
    {"version", "print the version of tether, its protocol and its libraries", "[--json]",
     "  --json   one line of JSON, for programs\n", 0, NULL, command_version},
    {"help", "explain a command, or list them all", "[COMMAND]", "", 0, NULL, command_help},
    {"daemon", NULL, "", "", STARTS | SCOPE_DAEMON | SCOPE_TOLD, command_daemon, NULL},
};

const size_t command_count = sizeof commands / sizeof commands[0];
