#include "nearest.h"

#include <string.h>

enum {
    LONGEST = 24, /* longer words are not compared */
    FARTHEST = 2, /* typing errors in a word */
};

static size_t least(size_t a, size_t b) {
    return a < b ? a : b;
}

/* How many letters are missing, too many, wrong, or swapped with their neighbour. */
static size_t distance(const char *a, size_t a_length, const char *b, size_t b_length) {
    size_t rows[LONGEST + 1][LONGEST + 1];
    for (size_t i = 0; i <= a_length; i++) {
        for (size_t k = 0; k <= b_length; k++) {
            if (i == 0 || k == 0) {
                rows[i][k] = i + k;
                continue;
            }
            rows[i][k] = least(least(rows[i - 1][k], rows[i][k - 1]) + 1,
                               rows[i - 1][k - 1] + (a[i - 1] != b[k - 1]));
            if (i > 1 && k > 1 && a[i - 1] == b[k - 2] && a[i - 2] == b[k - 1])
                rows[i][k] = least(rows[i][k], rows[i - 2][k - 2] + 1);
        }
    }
    return rows[a_length][b_length];
}

void nearest_offer(struct nearest *nearest, const char *word) {
    size_t length = strlen(word), found;
    if (nearest->length < 3 || nearest->length > LONGEST || length > LONGEST)
        return;
    found = distance(nearest->typed, nearest->length, word, length);
    if (found > FARTHEST || (nearest->word && found >= nearest->distance))
        return;
    nearest->word = word;
    nearest->distance = found;
}
