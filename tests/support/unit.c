#include "unit.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/wait.h>

static size_t files_before;

static size_t count_open_files(void) {
    DIR *dir = opendir("/proc/self/fd");
    size_t count = 0;
    assert_non_null(dir);
    while (readdir(dir))
        count++;
    closedir(dir);
    return count;
}

int unit_begin(void **state) {
    (void)state;
    /* Orphans of what a test starts come to us, so that they cannot be overlooked. */
    if (prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) != 0)
        return -1;
    files_before = count_open_files();
    return 0;
}

int unit_end(void **state) {
    (void)state;
    assert_int_equal(count_open_files(), files_before);
    assert_int_equal(waitpid(-1, NULL, WNOHANG), -1);
    assert_int_equal(errno, ECHILD);
    return 0;
}
