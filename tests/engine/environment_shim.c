/* Preloaded into an editor by a test: writes down which object changes the environment. Each line
 * is "PID FUNCTION OBJECT". What the editor starts is left alone. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <dlfcn.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int file = -1;

__attribute__((constructor)) static void begin(void) {
    int (*unset)(const char *) = (int (*)(const char *))dlsym(RTLD_NEXT, "unsetenv");
    const char *path = getenv("SHIM_LOG");
    if (path)
        file = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    unset("SHIM_LOG");
    unset("LD_PRELOAD");
}

static void note(const char *function, const void *caller) {
    Dl_info info = {0};
    char line[512];
    int length;
    dladdr(caller, &info);
    length = snprintf(line, sizeof line, "%d %s %s\n", (int)getpid(), function,
                      info.dli_fname ? info.dli_fname : "?");
    if (file >= 0 && write(file, line, (size_t)length) != length)
        _exit(99);
}

void *dlopen(const char *path, int mode) {
    void *(*next)(const char *, int) = (void *(*)(const char *, int))dlsym(RTLD_NEXT, "dlopen");
    return next(path, path && strstr(path, "libtether") ? mode & ~RTLD_DEEPBIND : mode);
}

int setenv(const char *name, const char *value, int overwrite) {
    note("setenv", __builtin_return_address(0));
    return ((int (*)(const char *, const char *, int))dlsym(RTLD_NEXT, "setenv"))(name, value,
                                                                                  overwrite);
}

int unsetenv(const char *name) {
    note("unsetenv", __builtin_return_address(0));
    return ((int (*)(const char *))dlsym(RTLD_NEXT, "unsetenv"))(name);
}

int putenv(char *entry) {
    note("putenv", __builtin_return_address(0));
    return ((int (*)(char *))dlsym(RTLD_NEXT, "putenv"))(entry);
}

int clearenv(void) {
    note("clearenv", __builtin_return_address(0));
    return ((int (*)(void))dlsym(RTLD_NEXT, "clearenv"))();
}
