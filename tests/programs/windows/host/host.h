/* What the parts of the host share. */
#ifndef TETHER_TESTS_HOST_H
#define TETHER_TESTS_HOST_H

#include <stdbool.h>
#include <stdint.h>

#include <winsock2.h>

#include <windows.h>

enum { PIPE_BYTES = 65536, KILLED = 9 };

void __attribute__((noreturn)) give_up(const char *what);
wchar_t *wide(const char *text);
void start_thread(LPTHREAD_START_ROUTINE fn, void *context, HANDLE *thread);

/* Waits for a piece of work on a pipe that was opened for overlapped use; false if nothing came of
 * it. */
bool finish(HANDLE pipe, OVERLAPPED *overlapped, BOOL begun, DWORD *count);
HANDLE connect_pipe(const char *name);

HANDLE inheritable(HANDLE handle);
/* Nobody gets any handle but those that are meant for it. */
bool start_program(wchar_t *line, const wchar_t *folder, bool console, wchar_t *environment,
                   HANDLE handles[3], PROCESS_INFORMATION *child);
HANDLE open_process(DWORD access, const char *pid);
/* When it was created. */
uint64_t start_of(HANDLE process);

/* Tells standard output. */
void say(const char *data, DWORD length);

int be_a_peer(const char *pipe);
int hold_session(const char *pipe, const char *role);
int hold_sessions(const char *pipe, long count);

/* What the words of the command line ask for; returns the exit code. */
int play_role(int argc, char **argv);

#endif
