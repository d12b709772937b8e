/* A file of another program's: read whole, and replaced whole or not at all. */
#ifndef TETHER_CLIENTS_FILE_H
#define TETHER_CLIENTS_FILE_H

#include <stdbool.h>

#include "buffer.h"
#include "error.h"
#include "os/os.h"

struct client_file {
    char path[OS_PATH_MAX]; /* behind all links */
    bool exists, has_mark;  /* a byte order mark, which is not in the text */
    struct buffer text;
    unsigned mode;
    int64_t owner, group;
};

/* Reads it; 0 also if there is none. An error tells in words why it is left alone: it is no text,
 * no file, or more than a person looks at. To be finished either way. */
int client_file_read(struct client_file *file, const char *path, struct error *err);

/* Puts a text in its place, with the mode and the owner that it had; folders on the way are made.
 * An error, too, if nobody is to write to it; UV_EAGAIN: it is another file by now than was read.
 */
int client_file_replace(struct client_file *file, const struct buffer *text, struct error *err);

void client_file_finish(struct client_file *file);

/* What is there: 'd' a folder, 'f' a file, 'o' something else, '?' what cannot be told, 0 nothing.
 */
char client_file_kind(const char *path);

#endif
