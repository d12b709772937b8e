/* What the guard costs and how quickly it ends a tree. Prints one line per quantity; takes the
 * number of seconds to watch the idle guard for (10 without an argument). */
#include "guard_harness.h"

#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { RUNS = 20, FIVE = 5 };

static int compare(const void *left, const void *right) {
    const int64_t *a = left;
    const int64_t *b = right;
    return (*a > *b) - (*a < *b);
}

static void print_times(const char *what, int64_t *times) {
    const int64_t *median = times + RUNS / 2;

    qsort(times, RUNS, sizeof *times, compare);
    printf("%-46s median %6.2f ms, %.2f to %.2f\n", what, (double)*median / 1000,
           (double)times[0] / 1000, (double)times[RUNS - 1] / 1000);
}

static long number_in(int pid, const char *file, const char *key) {
    char path[64];
    char line[256];
    long total = 0;
    FILE *stream;

    snprintf(path, sizeof path, "/proc/%d/%s", pid, file);
    stream = fopen(path, "re");
    while (stream && fgets(line, sizeof line, stream)) {
        char *found = strstr(line, key);
        if (found)
            total += strtol(found + strlen(key), NULL, 10);
    }
    if (stream)
        fclose(stream);
    return total;
}

static void start(struct harness *harness, const char *program, const char *what,
                  const char *number) {
    const char *const argv[] = {harness_program(program), what, number, NULL};
    const struct harness_options options = {.argv = argv};

    harness_start(harness, &options);
}

/* From SIGKILL to the moment in which the last of the five is dead. */
static int64_t time_five(char who) {
    static const char *const names[FIVE] = {"same", "group", "session", "double", "root"};
    struct harness_record record;
    struct harness harness;
    int pidfds[FIVE];
    int64_t time;

    start(&harness, "escape", NULL, NULL);
    harness_await(&harness, GUARD_SPAWNED, &record);
    harness_lines(&harness, FIVE);
    for (int i = 0; i < FIVE; i++)
        pidfds[i] = harness_pidfd(harness_pid(&harness, names[i]));
    time = harness_now_us();
    if (who == 'k')
        harness_command(&harness, 'k');
    else
        kill(who == 'd' ? harness.daemon : harness.guard, SIGKILL);
    harness_survivors(pidfds, FIVE, HARNESS_DEADLINE_MS);
    time = harness_now_us() - time;
    if (who != 'd')
        harness_await(&harness, HARNESS_DONE, &record);
    for (int i = 0; i < FIVE; i++)
        close(pidfds[i]);
    if (harness_finish(&harness) > 0)
        printf("somebody escaped\n");
    return time;
}

/* The same for 300 processes that replace their dead; "gone" is the end of their common output. */
static int64_t time_bomb(char who) {
    struct harness harness;
    int64_t time;

    start(&harness, "probe", "bomb", "300");
    harness_lines(&harness, 1);
    time = harness_now_us();
    kill(who == 'd' ? harness.daemon : harness.guard, SIGKILL);
    harness_output_ends(&harness);
    time = harness_now_us() - time;
    if (harness_finish(&harness) > 0)
        printf("somebody escaped\n");
    return time;
}

static int64_t time_start(void) {
    struct harness_record record;
    struct harness harness;
    int64_t time = harness_now_us();

    start(&harness, "probe", "obey", NULL);
    harness_lines(&harness, 1);
    time = harness_now_us() - time;
    harness_command(&harness, 'k');
    harness_await(&harness, HARNESS_DONE, &record);
    harness_finish(&harness);
    return time;
}

static void print_idle(int seconds) {
    struct harness_record record;
    struct harness harness;
    long before;

    start(&harness, "probe", "obey", NULL);
    harness_await(&harness, GUARD_SPAWNED, &record);
    harness_lines(&harness, 1);
    poll(NULL, 0, 100);
    before = number_in(harness.guard, "status", "ctxt_switches:");
    poll(NULL, 0, seconds * 1000);
    printf("%-46s %ld in %d s\n", "context switches of the idle guard",
           number_in(harness.guard, "status", "ctxt_switches:") - before, seconds);
    printf("%-46s %ld kB\n", "private memory of the guard",
           number_in(harness.guard, "smaps_rollup", "Private_Dirty:") +
               number_in(harness.guard, "smaps_rollup", "Private_Clean:"));
    printf("%-46s %ld kB\n", "private memory of the test's daemon",
           number_in(harness.daemon, "smaps_rollup", "Private_Dirty:") +
               number_in(harness.daemon, "smaps_rollup", "Private_Clean:"));
    harness_command(&harness, 'k');
    harness_await(&harness, HARNESS_DONE, &record);
    harness_finish(&harness);
}

int main(int argc, char **argv) {
    int seconds = argc > 1 ? (int)strtol(argv[1], NULL, 10) : 10;
    static const struct {
        char who;
        const char *what;
    } cases[] = {{'k', "kill command -> five gone"},
                 {'d', "SIGKILL daemon -> five gone"},
                 {'g', "SIGKILL guard -> five gone"}};
    int64_t times[RUNS];

    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        for (int i = 0; i < RUNS; i++)
            times[i] = time_five(cases[c].who);
        print_times(cases[c].what, times);
    }
    for (int i = 0; i < RUNS; i++)
        times[i] = time_bomb('d');
    print_times("SIGKILL daemon -> fork bomb of 300 gone", times);
    for (int i = 0; i < RUNS; i++)
        times[i] = time_start();
    print_times("fork of the daemon -> server's main()", times);
    print_idle(seconds);
    return 0;
}
