/* Runs a fuzz target as an ordinary program: every file that is named, or all files of a directory,
 * then pseudo-random inputs made of bytes, of the target's words and of pieces of those files. The
 * same arguments always make the same inputs, each independent of those before it.
 *
 *     fuzz_lines [-n COUNT] [-s SEED] [-v] [FILE|DIRECTORY…]
 *     fuzz_lines -d NUMBER …    writes input NUMBER to standard output instead of running anything
 *     fuzz_lines -w             writes the target's words as a dictionary for libFuzzer
 */
#include "fuzz.h"

#include <dirent.h>
#include <inttypes.h>
#include <stdbool.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { INPUT_MAX = 4096, SEEDS_MAX = 64, SEED_MAX = 65536, PIECES_MAX = 40 };

struct seed {
    char *bytes;
    size_t size;
};

struct driver {
    struct seed seeds[SEEDS_MAX];
    size_t seed_count, word_count;
    uint64_t random;
    uint64_t start; /* what all inputs follow from */
    uint64_t count;
    bool verbose;
};

/* A xorshift generator: good enough to shuffle bytes, and the same everywhere. */
static uint64_t next(struct driver *driver, uint64_t below) {
    driver->random ^= driver->random << 13;
    driver->random ^= driver->random >> 7;
    driver->random ^= driver->random << 17;
    return (driver->random >> 11) % below;
}

/* ---- seeds ---- */

static bool add_file(struct driver *driver, const char *path) {
    struct seed *seed = &driver->seeds[driver->seed_count];
    FILE *file = driver->seed_count < SEEDS_MAX ? fopen(path, "rbe") : NULL;
    if (!file)
        return false;
    seed->bytes = malloc(SEED_MAX);
    if (seed->bytes)
        seed->size = fread(seed->bytes, 1, SEED_MAX, file);
    driver->seed_count += seed->bytes != NULL;
    fclose(file);
    return seed->bytes != NULL;
}

static bool add_directory(struct driver *driver, const char *path) {
    struct dirent **entries;
    int count = scandir(path, &entries, NULL, alphasort);
    bool fine = count >= 0;
    for (int i = 0; i < count; i++) {
        char name[4096];
        snprintf(name, sizeof name, "%s/%s", path, entries[i]->d_name);
        if (entries[i]->d_name[0] != '.' && fine)
            fine = add_file(driver, name);
        free(entries[i]);
    }
    if (count >= 0)
        free(entries);
    return fine;
}

static bool add_path(struct driver *driver, const char *path) {
    struct stat st;
    bool fine = stat(path, &st) == 0 &&
                (S_ISDIR(st.st_mode) ? add_directory(driver, path) : add_file(driver, path));
    if (!fine)
        fprintf(stderr, "cannot read %s, or there are too many\n", path);
    return fine;
}

/* ---- inputs ---- */

/* Puts bytes into an input, as many as there is room for. */
static size_t insert(char *out, size_t used, size_t at, const char *bytes, size_t count) {
    size_t taken = count < INPUT_MAX - used ? count : INPUT_MAX - used;
    memmove(out + at + taken, out + at, used - at);
    memcpy(out + at, bytes, taken);
    return used + taken;
}

/* One piece more: a byte, a word, or a part of a seed. */
static size_t insert_piece(struct driver *driver, char *out, size_t used, size_t at) {
    char byte = (char)next(driver, 256);
    uint64_t kind = next(driver, 8);
    if (kind < 5 && driver->word_count > 0) {
        const char *word = fuzz_words[next(driver, driver->word_count)];
        return insert(out, used, at, word, strlen(word));
    }
    if (kind < 6 && driver->seed_count > 0) {
        const struct seed *seed = &driver->seeds[next(driver, driver->seed_count)];
        size_t from = next(driver, seed->size + 1);
        return insert(out, used, at, seed->bytes + from, next(driver, seed->size - from + 1));
    }
    return insert(out, used, at, &byte, 1);
}

/* A seed with a few bytes changed and a few pieces put in. */
static size_t change_seed(struct driver *driver, char *out) {
    const struct seed *seed = &driver->seeds[next(driver, driver->seed_count)];
    size_t used = insert(out, 0, 0, seed->bytes, seed->size);
    for (uint64_t changes = next(driver, 3); changes > 0 && used > 0; changes--)
        out[next(driver, used)] = (char)next(driver, 256);
    for (uint64_t pieces = next(driver, 4); pieces > 0; pieces--)
        used = insert_piece(driver, out, used, next(driver, used + 1));
    return used;
}

/* A changed seed, or a few pieces, or many. */
static size_t make_input(struct driver *driver, uint64_t number, char *out) {
    size_t used = 0;
    driver->random = (driver->start + number) * UINT64_C(0x9e3779b97f4a7c15) | 1;
    for (int i = 0; i < 4; i++)
        next(driver, 2);
    if (driver->seed_count > 0 && next(driver, 2) == 0)
        return change_seed(driver, out);
    for (uint64_t pieces = next(driver, next(driver, 2) ? PIECES_MAX : 8); pieces > 0; pieces--)
        used = insert_piece(driver, out, used, used);
    return used;
}

static void write_words(void) {
    for (size_t i = 0; fuzz_words[i]; i++) {
        printf("\"");
        for (const char *c = fuzz_words[i]; *c; c++)
            printf("\\x%02x", (unsigned)(unsigned char)*c);
        printf("\"\n");
    }
}

/* In memory of just its size, so that checkers see whoever reads beyond it. */
static void run(const char *bytes, size_t size) {
    uint8_t *exact = malloc(size ? size : 1);
    if (!exact)
        abort();
    memcpy(exact, bytes, size);
    LLVMFuzzerTestOneInput(exact, size);
    free(exact);
}

static void run_all(struct driver *driver, const char *name) {
    static char input[INPUT_MAX];
    setvbuf(stdout, NULL, _IOLBF, 0);
    printf("1..1\n");
    for (size_t i = 0; i < driver->seed_count; i++)
        run(driver->seeds[i].bytes, driver->seeds[i].size);
    for (uint64_t number = 0; number < driver->count; number++) {
        size_t size = make_input(driver, number, input);
        if (driver->verbose)
            printf("# input %" PRIu64 ": %zu bytes\n", number, size);
        run(input, size);
    }
    printf("ok 1 - %s: %zu seeds, %" PRIu64 " inputs of seed %" PRIu64 "\n", name,
           driver->seed_count, driver->count, driver->start);
}

int main(int argc, char **argv) {
    static struct driver driver = {.start = 1, .count = 10000};
    static char input[INPUT_MAX];
    int64_t dump = -1;
    bool words = false;
    const char *name = strrchr(argv[0], '/') ? strrchr(argv[0], '/') + 1 : argv[0];
    for (int option; (option = getopt(argc, argv, "n:s:d:vw")) != -1;) {
        if (option == '?')
            return 2;
        driver.verbose |= option == 'v';
        words |= option == 'w';
        driver.count = option == 'n' ? strtoull(optarg, NULL, 10) : driver.count;
        driver.start = option == 's' ? strtoull(optarg, NULL, 10) : driver.start;
        dump = option == 'd' ? strtoll(optarg, NULL, 10) : dump;
    }
    while (fuzz_words[driver.word_count])
        driver.word_count++;
    for (int i = optind; i < argc; i++)
        if (!add_path(&driver, argv[i]))
            return 2;
    if (words)
        write_words();
    else if (dump >= 0)
        fwrite(input, 1, make_input(&driver, (uint64_t)dump, input), stdout);
    else
        run_all(&driver, name);
    for (size_t i = 0; i < driver.seed_count; i++)
        free(driver.seeds[i].bytes);
    return 0;
}
