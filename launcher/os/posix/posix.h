/* Shared by the POSIX parts of the OS layer; not for use outside os/. */
#ifndef TETHER_OS_POSIX_H
#define TETHER_OS_POSIX_H

#include "os/os_tree.h"

#include <sys/types.h>

/* A name that cannot lead out of its directory. */
bool posix_name_is_plain(const char *name);

/* Like os_dir_open, but the last `levels` (1 or 2) levels are ours. */
int posix_dir_open(struct os_dir *dir, const char *path, int levels, bool create,
                   struct error *err);

/* Writes "<directory>/<name>", or returns -ENAMETOOLONG. */
int posix_path_join(char *out, size_t size, const char *directory, const char *name);

/* Reads until the end or until size bytes, through interruptions. Returns the count or -errno. */
ssize_t posix_read_all(int fd, void *out, size_t size);

/* A socket (SOCK_STREAM or SOCK_DGRAM) that exec does not pass on. Returns it or -errno. */
int posix_socket(int domain, int type);

/* A non-blocking stream socket that is bound or connected to a path. Returns it or -errno. */
enum posix_local { POSIX_BIND, POSIX_CONNECT };
int posix_local_socket(const char *path, enum posix_local what);

/* Makes exec close the descriptor. */
int posix_cloexec(int fd);

/* Whether it is for lack of memory or descriptors, which others can use up. */
bool posix_is_shortage(int code);

/* Closes every descriptor from the first up. For single-threaded processes just before exec or just
 * after fork. */
void posix_close_from(int first);

/* The same but for these. Needs no new descriptor. */
void posix_close_but(int first, const os_handle *kept, size_t count);

/* posix_close_from by trying every number there may be. */
void posix_close_numbers(int first);

/* Copies a program into memory. Returns a descriptor by which it can be executed, or -errno. */
int posix_program_copy(const char *path);

/* Splits what waitpid() returned. */
struct os_exit posix_exit_of(int status);

/* Sends the signal to exactly this process. -ESRCH: it has been reaped. */
int process_signal(const struct os_process *process, int number);

/* What a name stood for when we made it, so that we remove nothing that another has put there. */
struct posix_node {
    dev_t device;
    ino_t inode;
};
int posix_node_of(const char *path, struct posix_node *node);
bool posix_node_is_there(const char *path, const struct posix_node *node);
void posix_node_remove(const char *path, const struct posix_node *node);

#endif
