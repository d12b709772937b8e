/* Why a signal sent from here cannot reach a stranger.
 *
 * A child of the caller keeps its number until the caller reaps it. What says of itself that the
 * caller is its parent may be signalled by number as long as nothing was reaped since.
 *
 * Any other process gets onto the list by a proof: it names as its parent a process already on the
 * list, and that one, read once more after this, still has the start token it is listed with. So
 * the parent's number meant the listed process throughout, and who is below an adopter stays below
 * it. Before a signal the process is pinned by a pidfd, then found to have its own listed token
 * still, and the signal goes through the pidfd: it reaches that process or nobody. (A number and
 * token return together only if all numbers are used up within one clock tick.)
 *
 * Why no descendant gets away: a process that is being killed cannot finish a fork(), so once
 * SIGKILL is sent, the list of its children is final. Each process is killed before its list is
 * read, and a child whose parent died meanwhile turns up on the caller's own list, which is read
 * again until it brings nothing new. Then everybody is dying, and what is left is to reap. Who was
 * missed all the same (born by CLONE_PARENT, adopted by a dying adopter inside the tree) becomes a
 * child of the caller when its parents are dead, and the rounds of reaping find it.
 *
 * Before that all are stopped once and killed from the youngest generation upwards, so that nobody
 * gets to react to the death of another. That alone would not do: since Linux 4.19 a fork() under
 * way goes on in spite of SIGSTOP, and its child runs. */
#include "tree_kill.h"

#include "os/posix/posix.h"
#include "pidfd.h"
#include "proc.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdint.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

enum {
    BATCH = 1024, /* processes frozen in one go; the rest comes up as these die */
    RESWEEP = 64, /* rounds of killing children before the whole tree is looked at again */
    WATCHED = 16, /* dying children watched for the first that is gone */
    MISSES = 16,  /* times that a list is read again because the tree moved meanwhile */
    REFUSALS = 16,
    PATIENCE_MS = 50,
    PATIENCE_MAX_MS = 1000,
};

struct member {
    int pid;
    bool direct; /* a child of the caller, not reaped since */
    uint64_t start;
};

struct sweep {
    const struct tree_kill *how;
    int self;
    const struct member *parent; /* whose list is being read; NULL: the caller's own */
    bool missed;                 /* somebody on it had another parent a moment later */
    size_t count;
    struct member members[BATCH];
};

/* One pass over the caller's children. */
struct pass {
    const struct tree_kill *how;
    int reaped;
    int refused;        /* alive, and not ours to signal */
    int left;           /* killed, and not gone yet */
    int dying[WATCHED]; /* the first of those left */
};

/* Signals the process if it is still the one listed, no zombie, and in the group (0: any). Kernels
 * before 5.3 have no pidfd: there only direct children are signalled, and the others when they have
 * become such. */
static bool signal_member(const struct member *it, int group, int signal) {
    struct proc_stat stat;
    bool sent = false;
    int pidfd = it->direct ? -1 : pidfd_open_pid(it->pid);

    if (!it->direct && pidfd < 0)
        return false;
    if (proc_read_stat(it->pid, &stat) == 0 && stat.start == it->start &&
        !proc_stat_is_dead(&stat) && (group == 0 || stat.group == group))
        sent = it->direct ? kill(it->pid, signal) == 0
                          : syscall(SYS_pidfd_send_signal, pidfd, signal, NULL, 0) == 0;
    if (pidfd >= 0)
        close(pidfd);
    return sent;
}

static bool is_listed(const struct sweep *sweep, int pid) {
    for (size_t i = 0; i < sweep->count; i++) {
        if (sweep->members[i].pid == pid)
            return true;
    }
    return false;
}

/* The proof of descent; see the top of this file. */
static bool is_below(const struct sweep *sweep, const struct proc_stat *child) {
    const struct member *parent = sweep->parent;
    struct proc_stat now;

    return child->parent == sweep->self ||
           (parent && child->parent == parent->pid && proc_read_stat(parent->pid, &now) == 0 &&
            now.start == parent->start);
}

static void add_member(void *context, int pid) {
    struct sweep *sweep = context;
    struct proc_stat stat;

    if (sweep->count == BATCH || pid == sweep->how->spared || is_listed(sweep, pid))
        return;
    if (proc_read_stat(pid, &stat) < 0)
        return;
    if (!is_below(sweep, &stat)) {
        sweep->missed = true;
        return;
    }
    sweep->members[sweep->count] =
        (struct member){.pid = pid, .direct = stat.parent == sweep->self, .start = stat.start};
    sweep->count++;
}

/* Lists the tree, parents before children, and sends each process the signal (0: none) before its
 * children are read. Ends: every turn adds a process, for which there is limited room, or is a
 * miss. Returns how many were signalled. */
static int sweep_list(struct sweep *sweep, const struct tree_kill *how, int signal) {
    size_t next = 0;
    size_t before;
    int misses = 0;
    int sent = 0;

    sweep->how = how;
    sweep->self = getpid();
    sweep->count = 0;
    do {
        before = sweep->count;
        sweep->missed = false;
        sweep->parent = NULL;
        proc_each_child(sweep->self, add_member, sweep);
        for (; next < sweep->count; next++) {
            sweep->parent = &sweep->members[next];
            if (signal)
                sent += signal_member(sweep->parent, 0, signal);
            proc_each_child(sweep->parent->pid, add_member, sweep);
        }
        misses += sweep->missed;
    } while (sweep->count > before || (sweep->missed && misses < MISSES));
    return sent;
}

/* Youngest generation first: the death of a parent can wake a stopped child (the kernel continues
 * a process group that it orphans), so a child is to be dead before its parent dies. */
static void sweep_freeze_and_kill(struct sweep *sweep, const struct tree_kill *how) {
    sweep_list(sweep, how, SIGSTOP);
    for (size_t i = sweep->count; i-- > 0;)
        signal_member(&sweep->members[i], 0, SIGKILL);
}

/* __WALL, because a guard has another exit signal than SIGCHLD and plain waitpid() overlooks it. */
static bool reap_child(int pid, int *status) {
    return waitpid(pid, status, WNOHANG | __WALL) == pid;
}

static void end_child(void *context, int pid) {
    struct pass *pass = context;
    int status;

    if (pid == pass->how->spared)
        return;
    if (reap_child(pid, &status)) {
        pass->reaped++;
        if (pass->how->reaped)
            pass->how->reaped(pass->how->context, pid, posix_exit_of(status));
    } else if (kill(pid, SIGKILL) < 0 && errno == EPERM) {
        pass->refused++;
    } else {
        if (pass->left < WATCHED)
            pass->dying[pass->left] = pid;
        pass->left++;
    }
}

static int raise_priority(void) {
    int before = getpriority(PRIO_PROCESS, 0);
    setpriority(PRIO_PROCESS, 0, -20);
    return before;
}

/* Waits until one of the dying is gone, as long as patience lasts: 1 one is, 0 time is up, negative
 * somebody interrupted. A zombie that cannot be reaped (its tracer holds it) would make its pidfd
 * ready for ever; after one wait that led to nothing, only time is left to wait for. */
static int wait_for_one(const struct pass *pass, bool in_vain, int patience_ms) {
    struct pollfd events[WATCHED] = {{.fd = -1}};
    nfds_t count = pass->left < WATCHED ? (nfds_t)pass->left : WATCHED;
    siginfo_t info;
    int ready;

    for (nfds_t i = 0; i < count; i++)
        events[i] = (struct pollfd){.fd = pidfd_open_pid(pass->dying[i]), .events = POLLIN};
    if (events[0].fd == -ENOSYS)
        return waitid(P_PID, (id_t)pass->dying[0], &info, WEXITED | WNOWAIT | __WALL) == 0 ? 1 : -1;
    ready = poll(events, in_vain ? 0 : count, patience_ms);
    for (nfds_t i = 0; i < count; i++) {
        if (events[i].fd >= 0)
            close(events[i].fd);
    }
    return ready;
}

/* Kills and reaps children round by round. A pass that reaps nothing and leaves nothing has read a
 * complete list without a child in it: that is the end. Returns -EAGAIN when the tree should be
 * looked at as a whole again: the rounds are used up, or nothing moves. */
static int end_children(const struct tree_kill *how, int *patience_ms) {
    bool in_vain = false;
    int ready;
    int result;

    for (int round = 0; round < RESWEEP; round++) {
        struct pass pass = {.how = how};
        result = proc_each_child(getpid(), end_child, &pass);
        if (posix_is_shortage(result)) { /* and nothing tells when others give it back */
            poll(NULL, 0, *patience_ms);
            break;
        }
        if (result < 0)
            return result;
        if (pass.reaped > 0) {
            in_vain = false;
            *patience_ms = PATIENCE_MS;
            continue;
        }
        if (pass.left == 0)
            return pass.refused > 0 ? -EPERM : 0;
        ready = wait_for_one(&pass, in_vain, *patience_ms);
        if (ready == 0) {
            *patience_ms = *patience_ms * 2 < PATIENCE_MAX_MS ? *patience_ms * 2 : PATIENCE_MAX_MS;
            break;
        }
        in_vain = ready > 0;
    }
    return -EAGAIN;
}

/* Whether another sweep can change anything. Processes that refuse may have had others below them
 * that do not; a few sweeps find those, and a program that replaces them for ever is left alone. */
static bool is_over(int result, int killed, int *refusals) {
    if (result == -EPERM)
        return killed == 0 || ++*refusals == REFUSALS;
    return result != -EAGAIN;
}

int tree_kill_all(const struct tree_kill *how) {
    struct sweep sweep;
    int patience_ms = PATIENCE_MS;
    int priority = raise_priority();
    int refusals = 0;
    int killed;
    int result;

    sweep_freeze_and_kill(&sweep, how);
    for (;;) {
        killed = sweep_list(&sweep, how, SIGKILL);
        result = end_children(how, &patience_ms);
        if (is_over(result, killed, &refusals))
            break;
        if (how->give_up && how->give_up(how->context)) {
            result = -ECANCELED;
            break;
        }
    }
    setpriority(PRIO_PROCESS, 0, priority);
    return result;
}

void tree_signal_group(int group, int signal) {
    static const struct tree_kill everything = {0};
    struct sweep sweep;

    sweep_list(&sweep, &everything, 0);
    for (size_t i = 0; i < sweep.count; i++)
        signal_member(&sweep.members[i], group, signal);
}

static void reap_stray(void *context, int pid) {
    struct pass *pass = context;
    int status;

    if (pid != pass->how->spared)
        pass->reaped += reap_child(pid, &status);
}

int tree_reap_strays(int spared) {
    const struct tree_kill how = {.spared = spared};
    struct pass pass = {.how = &how};
    int result = proc_each_child(getpid(), reap_stray, &pass);

    return result < 0 ? result : pass.reaped;
}

int tree_adopt_orphans(void) {
    return prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) < 0 ? -errno : 0;
}
