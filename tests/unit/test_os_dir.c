/* Private directories: where they are, what is refused, and the control socket's path. */
#include "os/os.h"
#include "os_unit.h"

#include <sys/socket.h>
#include <sys/un.h>

struct place {
    struct unit_dir root;
    char base[128], instance[160];
};

static void place_init(struct place *place) {
    unit_dir_init(&place->root);
    snprintf(place->base, sizeof place->base, "%s/tether", place->root.path);
    snprintf(place->instance, sizeof place->instance, "%s/8000-9500", place->base);
}

static void place_finish(struct place *place) {
    unit_dir_finish(&place->root);
}

/* Expects a refusal whose text names the path and more. */
static void refused(const char *path, bool create, int code, const char *named, const char *more) {
    struct os_dir dir;
    struct error err = {0};
    assert_int_equal(os_dir_open(&dir, path, create, &err), code);
    assert_int_equal(err.code, code);
    assert_int_equal(dir.handle, OS_NO_HANDLE);
    assert_string_equal(dir.path, "");
    if (!strstr(err.message, named) || !strstr(err.message, more))
        fail_msg("\"%s\" names neither \"%s\" nor \"%s\"", err.message, named, more);
    os_dir_finish(&dir);
}

static void test_made_private(void **state) {
    struct place place;
    struct os_dir dir, again;
    struct stat st;
    (void)state;
    place_init(&place);
    mode_t mask = umask(0);
    assert_int_equal(os_dir_open(&dir, place.instance, true, NULL), 0);
    umask(mask);
    assert_string_equal(dir.path, place.instance);
    assert_true(fcntl((int)dir.handle, F_GETFD) & FD_CLOEXEC);
    assert_int_equal(stat(place.base, &st), 0);
    assert_int_equal(st.st_mode & 07777, 0700);
    assert_int_equal(fstat((int)dir.handle, &st), 0);
    assert_int_equal(st.st_mode & 07777, 0700);
    assert_int_equal(os_dir_open(&again, place.instance, false, NULL), 0);
    os_dir_finish(&again);
    os_dir_finish(&dir);
    os_dir_finish(&dir);
    place_finish(&place);
}

static void test_not_made_unless_asked(void **state) {
    struct place place;
    (void)state;
    place_init(&place);
    refused(place.instance, false, -ENOENT, place.base, "No such");
    assert_int_equal(access(place.base, F_OK), -1);
    assert_int_equal(rmdir(place.root.path), 0);
    refused(place.instance, true, -ENOENT, place.root.path, "TETHER_STATE_DIR");
    assert_int_equal(mkdir(place.root.path, 0700), 0);
    place_finish(&place);
}

static void test_symlinks_are_refused(void **state) {
    struct place place;
    char elsewhere[128];
    struct stat st;
    (void)state;
    place_init(&place);
    snprintf(elsewhere, sizeof elsewhere, "%s/elsewhere", place.root.path);
    assert_int_equal(mkdir(elsewhere, 0700), 0);
    assert_int_equal(symlink(elsewhere, place.base), 0);
    refused(place.instance, true, -ELOOP, place.base, "symbolic link");
    assert_int_equal(unlink(place.base), 0);
    assert_int_equal(mkdir(place.base, 0700), 0);
    assert_int_equal(symlink(elsewhere, place.instance), 0);
    refused(place.instance, true, -ELOOP, place.instance, "symbolic link");
    /* A link to nothing is not followed to make something either. */
    assert_int_equal(rmdir(elsewhere), 0);
    refused(place.instance, true, -ELOOP, place.instance, "symbolic link");
    assert_int_equal(lstat(elsewhere, &st), -1);
    place_finish(&place);
}

static void test_other_kinds_are_refused(void **state) {
    struct place place;
    (void)state;
    place_init(&place);
    assert_int_equal(mkdir(place.base, 0700), 0);
    assert_int_equal(mkfifo(place.instance, 0600), 0);
    refused(place.instance, true, -ENOTDIR, place.instance, "not a directory");
    place_finish(&place);
}

static void test_open_modes_are_refused(void **state) {
    static const mode_t modes[] = {0777, 0770, 0750, 0740, 0710, 0707, 0704, 0701, 01777};
    struct place place;
    struct os_dir dir;
    struct stat st;
    char text[16];
    (void)state;
    place_init(&place);
    assert_int_equal(mkdir(place.base, 0700), 0);
    assert_int_equal(mkdir(place.instance, 0700), 0);
    for (size_t i = 0; i < sizeof modes / sizeof *modes; i++) {
        snprintf(text, sizeof text, "%04o", (unsigned)modes[i]);
        assert_int_equal(chmod(place.instance, modes[i]), 0);
        refused(place.instance, true, -EPERM, place.instance, text);
        assert_int_equal(stat(place.instance, &st), 0);
        assert_int_equal(st.st_mode & 07777, modes[i]);
        assert_int_equal(chmod(place.instance, 0700), 0);
        assert_int_equal(chmod(place.base, modes[i]), 0);
        refused(place.instance, true, -EPERM, place.base, "chmod 700");
        assert_int_equal(chmod(place.base, 0700), 0);
    }
    assert_int_equal(os_dir_open(&dir, place.instance, true, NULL), 0);
    os_dir_finish(&dir);
    place_finish(&place);
}

static void test_foreign_owner_is_refused(void **state) {
    struct place place;
    (void)state;
    if (geteuid() != 0)
        unit_skip("needs root for a directory of another user");
    place_init(&place);
    assert_int_equal(mkdir(place.base, 0700), 0);
    assert_int_equal(mkdir(place.instance, 0700), 0);
    assert_int_equal(chown(place.instance, UNIT_NOBODY, UNIT_NOBODY), 0);
    refused(place.instance, true, -EPERM, place.instance, "65534");
    assert_int_equal(chown(place.base, UNIT_NOBODY, UNIT_NOBODY), 0);
    refused(place.instance, true, -EPERM, place.base, "65534");
    place_finish(&place);
}

/* The reverse, as it happens to ordinary users: root's directory is in the way. */
static int body_open_as_nobody(const struct unit_line *line, void *arg) {
    struct os_dir dir;
    struct error err = {0};
    (void)line;
    CHILD_CHECK(setgid(UNIT_NOBODY) == 0 && setuid(UNIT_NOBODY) == 0);
    CHILD_CHECK(os_dir_open(&dir, arg, true, &err) == -EACCES);
    CHILD_CHECK(strstr(err.message, "no access to the directory") != NULL);
    CHILD_CHECK(strstr(err.message, "TETHER_STATE_DIR") != NULL);
    return 0;
}

static void test_directory_of_root_in_the_way(void **state) {
    struct place place;
    (void)state;
    if (geteuid() != 0)
        unit_skip("needs root to become another user");
    place_init(&place);
    assert_int_equal(chmod(place.root.path, 01777), 0);
    assert_int_equal(mkdir(place.base, 0700), 0);
    struct unit_verdict verdict = unit_try_child(body_open_as_nobody, place.instance);
    place_finish(&place);
    unit_judge(&verdict);
}

static void test_shared_parent_needs_sticky_bit(void **state) {
    struct place place;
    struct os_dir dir;
    (void)state;
    place_init(&place);
    assert_int_equal(chmod(place.root.path, 0777), 0);
    refused(place.instance, true, -EPERM, place.root.path, "chmod +t");
    assert_int_equal(chmod(place.root.path, 01777), 0);
    assert_int_equal(os_dir_open(&dir, place.instance, true, NULL), 0);
    os_dir_finish(&dir);
    place_finish(&place);
}

static void test_parent_need_not_be_readable(void **state) {
    struct place place;
    struct os_dir dir;
    (void)state;
    place_init(&place);
    assert_int_equal(chmod(place.root.path, 0300), 0);
    assert_int_equal(os_dir_open(&dir, place.instance, true, NULL), 0);
    os_dir_finish(&dir);
    assert_int_equal(chmod(place.root.path, 0700), 0);
    place_finish(&place);
}

static void test_paths_that_are_none(void **state) {
    char text[OS_PATH_MAX + 8];
    (void)state;
    refused("relative/tether/x", true, -EINVAL, "relative", "absolute");
    refused("/", true, -EINVAL, "/", "");
    refused("/tmp", true, -EINVAL, "/tmp", "");
    refused("/tmp/tether-none/..", true, -EINVAL, "..", "");
    refused("/tmp/tether-none/", true, -EINVAL, "tether-none", "");
    memset(text, 'a', sizeof text);
    text[0] = '/';
    text[OS_PATH_MAX] = '\0';
    refused(text, true, -ENAMETOOLONG, "longer", "");
}

/* ---- File systems that refuse ---- */

/* A small file system of its own, made in a child. */
static bool mount_small(const char *path, const char *options) {
    return unit_private_mounts() && mount("none", path, "tmpfs", 0, options) == 0;
}

static int body_read_only(const struct unit_line *line, void *arg) {
    const struct place *place = arg;
    struct os_dir dir;
    struct error err = {0};
    if (!mount_small(place->root.path, "size=64k,mode=700"))
        return unit_child_skip(line, "a mount of its own");
    CHILD_CHECK(mkdir(place->base, 0700) == 0);
    CHILD_CHECK(mount("none", place->root.path, "tmpfs", MS_REMOUNT | MS_RDONLY, "") == 0);
    CHILD_CHECK(os_dir_open(&dir, place->instance, true, &err) == -EROFS);
    CHILD_CHECK(strstr(err.message, place->instance) && strstr(err.message, "Read-only"));
    CHILD_CHECK(strstr(err.message, "TETHER_STATE_DIR") != NULL);
    CHILD_CHECK(mount("none", place->root.path, "tmpfs", MS_REMOUNT, "") == 0);
    CHILD_CHECK(mkdir(place->instance, 0700) == 0);
    CHILD_CHECK(mount("none", place->root.path, "tmpfs", MS_REMOUNT | MS_RDONLY, "") == 0);
    /* What is there can still be looked at. */
    CHILD_CHECK(os_dir_open(&dir, place->instance, true, &err) == 0);
    CHILD_CHECK(os_file_write(&dir, "state.json", "{}", 2, &err) == -EROFS);
    os_dir_finish(&dir);
    return 0;
}

static void test_read_only_file_system(void **state) {
    struct place place;
    (void)state;
    place_init(&place);
    struct unit_verdict verdict = unit_try_child(body_read_only, &place);
    place_finish(&place);
    unit_judge(&verdict);
}

static int body_no_inodes(const struct unit_line *line, void *arg) {
    const struct place *place = arg;
    struct os_dir dir;
    struct error err = {0};
    if (!mount_small(place->root.path, "nr_inodes=2,mode=700"))
        return unit_child_skip(line, "a mount of its own");
    CHILD_CHECK(os_dir_open(&dir, place->instance, true, &err) == -ENOSPC);
    CHILD_CHECK(strstr(err.message, place->instance) && strstr(err.message, "No space"));
    return 0;
}

static void test_full_file_system(void **state) {
    struct place place;
    (void)state;
    place_init(&place);
    struct unit_verdict verdict = unit_try_child(body_no_inodes, &place);
    place_finish(&place);
    unit_judge(&verdict);
}

/* ---- One level below ---- */

static void test_enter(void **state) {
    struct place place;
    struct os_dir dir, sessions;
    char path[192];
    (void)state;
    place_init(&place);
    assert_int_equal(os_dir_open(&dir, place.instance, true, NULL), 0);
    assert_int_equal(os_dir_enter(&sessions, &dir, "sessions", false, NULL), -ENOENT);
    assert_string_equal(sessions.path, "");
    assert_int_equal(os_dir_enter(&sessions, &dir, "..", true, NULL), -EINVAL);
    assert_int_equal(os_dir_enter(&sessions, &dir, "a/b", true, NULL), -EINVAL);
    assert_int_equal(os_dir_enter(&sessions, &dir, "sessions", true, NULL), 0);
    snprintf(path, sizeof path, "%s/sessions", place.instance);
    assert_string_equal(sessions.path, path);
    os_dir_finish(&sessions);
    assert_int_equal(chmod(path, 0755), 0);
    assert_int_equal(os_dir_enter(&sessions, &dir, "sessions", true, NULL), -EPERM);
    assert_int_equal(sessions.handle, OS_NO_HANDLE);
    os_dir_finish(&dir);
    place_finish(&place);
}

struct names {
    const struct os_dir *dir;
    int count, stop_after;
    bool remove;
};

static bool note_name(const char *name, void *arg) {
    struct names *names = arg;
    names->count++;
    if (names->remove)
        assert_int_equal(os_file_remove(names->dir, name), 0);
    return names->count != names->stop_after;
}

static void test_each_name(void **state) {
    struct place place;
    struct os_dir dir;
    char name[32];
    (void)state;
    place_init(&place);
    assert_int_equal(os_dir_open(&dir, place.instance, true, NULL), 0);
    struct names names = {.dir = &dir};
    assert_int_equal(os_dir_each(&dir, note_name, &names), 0);
    assert_int_equal(names.count, 0);
    for (int i = 0; i < 100; i++) {
        snprintf(name, sizeof name, "%d.json", i);
        assert_int_equal(os_file_write(&dir, name, "x", 1, NULL), 0);
    }
    names.stop_after = 3;
    assert_int_equal(os_dir_each(&dir, note_name, &names), 0);
    assert_int_equal(names.count, 3);
    /* From the start each time, and while entries go. */
    names = (struct names){.dir = &dir, .remove = true};
    assert_int_equal(os_dir_each(&dir, note_name, &names), 0);
    assert_int_equal(names.count, 100);
    names = (struct names){.dir = &dir};
    assert_int_equal(os_dir_each(&dir, note_name, &names), 0);
    assert_int_equal(names.count, 0);
    os_dir_finish(&dir);
    place_finish(&place);
}

/* ---- Where it is ---- */

static void test_instance_path_from_variable(void **state) {
    char path[OS_PATH_MAX], longest[OS_PATH_MAX + 1];
    struct error err = {0};
    (void)state;
    assert_int_equal(os_instance_path("/srv/state", "8000-9500", path, sizeof path, NULL), 0);
    assert_string_equal(path, "/srv/state/8000-9500");
    assert_int_equal(os_instance_path("/srv/state///", "8000-9500", path, sizeof path, NULL), 0);
    assert_string_equal(path, "/srv/state/8000-9500");
    assert_int_equal(os_instance_path("state", "8000-9500", path, sizeof path, &err), -EINVAL);
    assert_non_null(strstr(err.message, "TETHER_STATE_DIR"));
    assert_string_equal(path, "");
    memset(longest, 'a', OS_PATH_MAX);
    longest[0] = '/';
    longest[OS_PATH_MAX] = '\0';
    assert_int_equal(os_instance_path(longest, "8000-9500", path, sizeof path, &err),
                     -ENAMETOOLONG);
    longest[OS_PATH_MAX - 5] = '\0';
    assert_int_equal(os_instance_path(longest, "8000-9500", path, sizeof path, &err),
                     -ENAMETOOLONG);
}

static void test_instance_names(void **state) {
    static const char *const bad[] = {"", ".", "..", ".x", "a/b", "../x", "a b", "a\n", "\xc3\xa4"};
    char path[OS_PATH_MAX], name[66];
    (void)state;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        assert_int_equal(os_instance_path("/s", bad[i], path, sizeof path, NULL), -EINVAL);
    memset(name, 'n', 65);
    name[65] = '\0';
    assert_int_equal(os_instance_path("/s", name, path, sizeof path, NULL), -EINVAL);
    assert_int_equal(os_instance_path("/s", name + 1, path, sizeof path, NULL), 0);
    assert_int_equal(os_instance_path("/s", NULL, path, sizeof path, NULL), -EINVAL);
}

/* In a child with a /run of its own: each state of /run/user/UID, and variables that must not
 * matter. */
static int body_runtime_dir(const struct unit_line *line, void *arg) {
    char run[64], expected_run[128], expected_tmp[128], path[OS_PATH_MAX];
    unsigned uid = (unsigned)geteuid();
    (void)arg;
    if (!mount_small("/run", "mode=755"))
        return unit_child_skip(line, "a mount of its own");
    snprintf(run, sizeof run, "/run/user/%u", uid);
    snprintf(expected_run, sizeof expected_run, "/run/user/%u/tether/8000-9500", uid);
    snprintf(expected_tmp, sizeof expected_tmp, "/tmp/tether-%u/8000-9500", uid);
#define EXPECT(text)                                                                               \
    CHILD_CHECK(os_instance_path(NULL, "8000-9500", path, sizeof path, NULL) == 0 &&               \
                strcmp(path, text) == 0)
    setenv("XDG_RUNTIME_DIR", "/somewhere", 1);
    setenv("TMPDIR", "/somewhere", 1);
    setenv("HOME", "/somewhere", 1);
    setenv("TETHER_STATE_DIR", "/somewhere", 1);
    EXPECT(expected_tmp);
    CHILD_CHECK(mkdir("/run/user", 0755) == 0 && mkdir(run, 0700) == 0);
    EXPECT(expected_run);
    unsetenv("XDG_RUNTIME_DIR");
    EXPECT(expected_run);
    CHILD_CHECK(os_instance_path("", "8000-9500", path, sizeof path, NULL) == 0);
    CHILD_CHECK(strcmp(path, expected_run) == 0);
    CHILD_CHECK(chmod(run, 0777) == 0);
    EXPECT(expected_tmp);
    CHILD_CHECK(chmod(run, 0700) == 0 && chown(run, UNIT_NOBODY, UNIT_NOBODY) == 0);
    EXPECT(expected_tmp);
    CHILD_CHECK(rmdir(run) == 0 && mkdir("/run/mine", 0700) == 0);
    CHILD_CHECK(symlink("/run/mine", run) == 0);
    EXPECT(expected_tmp);
#undef EXPECT
    return 0;
}

static void test_instance_path_without_variable(void **state) {
    (void)state;
    unit_run_child(body_runtime_dir, NULL);
}

/* ---- The control socket ---- */

static int bind_socket(const char *path) {
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    assert_true(strlen(path) < sizeof address.sun_path);
    memcpy(address.sun_path, path, strlen(path) + 1);
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_true(fd >= 0);
    assert_int_equal(bind(fd, (struct sockaddr *)&address, sizeof address), 0);
    return fd;
}

static void test_control_name_in_the_directory(void **state) {
    struct place place;
    struct os_dir dir;
    char path[OS_ENDPOINT_MAX], expected[192];
    struct error err = {0};
    (void)state;
    place_init(&place);
    snprintf(expected, sizeof expected, "%s/control.sock", place.instance);
    assert_int_equal(os_dir_open(&dir, place.instance, true, NULL), 0);
    assert_int_equal(os_control_name(&dir, false, path, NULL), 0);
    assert_string_equal(path, expected);
    assert_int_equal(os_control_remove(&dir, NULL), 0);
    close(bind_socket(path));
    assert_int_equal(access(path, F_OK), 0);
    assert_int_equal(os_control_remove(&dir, NULL), 0);
    assert_int_equal(access(path, F_OK), -1);
    /* Only a socket is removed. */
    assert_int_equal(os_file_write(&dir, "control.sock", "mine", 4, NULL), 0);
    assert_int_equal(os_control_remove(&dir, &err), -EEXIST);
    assert_non_null(strstr(err.message, expected));
    assert_int_equal(access(path, F_OK), 0);
    os_dir_finish(&dir);
    place_finish(&place);
}

/* The last length that fits stays in the directory, the first that does not goes to /tmp. */
static int body_long_paths(const struct unit_line *line, void *arg) {
    const struct place *place = arg;
    struct os_dir dir;
    struct error err;
    char name[128], path[OS_ENDPOINT_MAX], again[OS_ENDPOINT_MAX], instance[OS_PATH_MAX];
    char fallback[64];
    size_t limit = sizeof((struct sockaddr_un *)NULL)->sun_path;
    size_t used = strlen(place->base) + strlen("//control.sock") + 1;
    if (!mount_small("/tmp", "mode=1777"))
        return unit_child_skip(line, "a /tmp of its own");
    CHILD_CHECK(mkdir(place->root.path, 0700) == 0);
    memset(name, 'n', sizeof name);
    name[limit - used] = '\0';
    snprintf(instance, sizeof instance, "%s/%s", place->base, name);
    CHILD_CHECK(os_dir_open(&dir, instance, true, NULL) == 0);
    CHILD_CHECK(os_control_name(&dir, false, path, NULL) == 0);
    CHILD_CHECK(strlen(path) == limit - 1 && strncmp(path, instance, strlen(instance)) == 0);
    close(bind_socket(path));
    os_dir_finish(&dir);

    name[limit - used] = 'n';
    name[limit - used + 1] = '\0';
    snprintf(instance, sizeof instance, "%s/%s", place->base, name);
    snprintf(fallback, sizeof fallback, "/tmp/tether-%u", (unsigned)geteuid());
    CHILD_CHECK(os_dir_open(&dir, instance, true, NULL) == 0);
    CHILD_CHECK(os_control_name(&dir, false, path, NULL) == -ENOENT);
    CHILD_CHECK(os_control_remove(&dir, NULL) == 0);
    CHILD_CHECK(os_control_name(&dir, true, path, NULL) == 0);
    CHILD_CHECK(os_control_name(&dir, false, again, NULL) == 0);
    CHILD_CHECK(strcmp(path, again) == 0 && strncmp(path, fallback, strlen(fallback)) == 0);
    CHILD_CHECK(strlen(path) == strlen(fallback) + strlen("/0123456789abcdef.sock"));
    close(bind_socket(path));
    CHILD_CHECK(os_control_remove(&dir, NULL) == 0 && access(path, F_OK) < 0);
    /* The other place is held to the same rules. */
    CHILD_CHECK(chmod(fallback, 0755) == 0);
    CHILD_CHECK(os_control_name(&dir, true, path, &err) == -EPERM);
    CHILD_CHECK(strstr(err.message, fallback) != NULL);
    os_dir_finish(&dir);
    return 0;
}

static void test_control_name_elsewhere(void **state) {
    struct place place;
    (void)state;
    place_init(&place);
    struct unit_verdict verdict = unit_try_child(body_long_paths, &place);
    place_finish(&place);
    unit_judge(&verdict);
}

/* Pins the rule itself, because an older and a newer release must agree on it. */
static int body_known_hash(const struct unit_line *line, void *arg) {
    struct os_dir dir;
    char path[OS_ENDPOINT_MAX], expected[64];
    (void)arg;
    if (!mount_small("/tmp", "mode=1777"))
        return unit_child_skip(line, "a /tmp of its own");
    dir.handle = OS_NO_HANDLE;
    memset(dir.path, 'a', 128);
    dir.path[0] = '/';
    dir.path[128] = '\0';
    snprintf(expected, sizeof expected, "/tmp/tether-%u/3bdee467031089eb.sock",
             (unsigned)geteuid());
    CHILD_CHECK(os_control_name(&dir, true, path, NULL) == 0);
    CHILD_CHECK(strcmp(path, expected) == 0);
    return 0;
}

static void test_control_name_is_stable(void **state) {
    (void)state;
    unit_run_child(body_known_hash, NULL);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        UNIT_TEST(test_made_private),
        UNIT_TEST(test_not_made_unless_asked),
        UNIT_TEST(test_symlinks_are_refused),
        UNIT_TEST(test_other_kinds_are_refused),
        UNIT_TEST(test_open_modes_are_refused),
        UNIT_TEST(test_foreign_owner_is_refused),
        UNIT_TEST(test_directory_of_root_in_the_way),
        UNIT_TEST(test_shared_parent_needs_sticky_bit),
        UNIT_TEST(test_parent_need_not_be_readable),
        UNIT_TEST(test_paths_that_are_none),
        UNIT_TEST(test_read_only_file_system),
        UNIT_TEST(test_full_file_system),
        UNIT_TEST(test_enter),
        UNIT_TEST(test_each_name),
        UNIT_TEST(test_instance_path_from_variable),
        UNIT_TEST(test_instance_names),
        UNIT_TEST(test_instance_path_without_variable),
        UNIT_TEST(test_control_name_in_the_directory),
        UNIT_TEST(test_control_name_elsewhere),
        UNIT_TEST(test_control_name_is_stable),
    };
    return cmocka_run_group_tests_name("os dir", tests, NULL, NULL);
}
