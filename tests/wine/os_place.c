/* What a daemon watches of its place. */
#include "stand_in.h"

#include "daemon/daemon.h"

REAL("kernel32", DWORD, GetFileAttributesW, LPCWSTR)
static DWORD WINAPI my_GetFileAttributesW(LPCWSTR path) {
    note("attributes of a %s", wcsncmp(path, L"\\\\.\\pipe\\", 9) == 0 ? "pipe" : "file");
    return real_GetFileAttributesW()(path);
}
REPLACE(GetFileAttributesW);

static void on_connected(void *context) {
    (void)context;
}

/* To ask about a pipe by its name is to connect to it, and a watch on the folder of all pipes tells
 * of those of all programs. */
static void test_G5_the_pipe_is_not_watched_as_a_file_would_be(void) {
    static struct daemon daemon;
    struct error err = {0};
    uv_loop_init(&daemon.loop);
    check(tap_open_dir(&daemon.dir, "place") == 0);
    check(os_lock_take(&daemon.lock, &daemon.dir, "lock", &err) == 0);
    check(os_control_name(&daemon.dir, true, daemon.control_name, &err) == 0);
    check(os_control_listen(&daemon.control.endpoint, &daemon.loop, &daemon.dir, 4, on_connected,
                            NULL, &err) == 0);
    record();
    place_keep(&daemon);
    show();
    place_finish(&daemon);
    os_control_close(daemon.control.endpoint);
    uv_run(&daemon.loop, UV_RUN_DEFAULT);
    os_handle_close(&daemon.lock);
    os_dir_finish(&daemon.dir);
    check(uv_loop_close(&daemon.loop) == 0);
    check(count_of("of a file") == 1 && count_of("of a pipe") == 0);
}

int main(int argc, char **argv) {
    static const struct tap_test tests[] = {
        TEST(test_G5_the_pipe_is_not_watched_as_a_file_would_be),
    };
    return tap_run(tests, sizeof tests / sizeof tests[0], argc > 1 ? argv[1] : NULL);
}
