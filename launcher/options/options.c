#include "options.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include <uv.h>

#include "nearest.h"
#include "os/os_tree.h"
#include "readable.h"

#define UNCERTAIN "TETHER_UNCERTAIN_TREE"

enum { PAIRS_MOST = 100, CLIENTS_MOST = 128, CLIENTS_USUAL = 16 };

#define COUNT(table) (sizeof(table) / sizeof(table)[0])

/* ---- values ---- */

static bool parse_number(const char *text, uint64_t most, uint64_t *number) {
    char *end;
    if (text[0] < '0' || text[0] > '9')
        return false;
    errno = 0;
    *number = strtoull(text, &end, 10);
    return errno == 0 && *end == 0 && *number <= most;
}

static bool is_off(const char *value) {
    return strcmp(value, "off") == 0 || strcmp(value, "0") == 0 || strcmp(value, "false") == 0;
}

static bool set_port(const char *value, uint64_t least, uint16_t *port) {
    uint64_t number;
    if (!parse_number(value, UINT16_MAX, &number) || number < least)
        return false;
    *port = (uint16_t)number;
    return true;
}

static bool set_http_port(struct options *options, const char *value) {
    options->http_port_named = true;
    return set_port(value, 1, &options->http_port);
}

static bool set_ws_port(struct options *options, const char *value) {
    options->ws_port_named = true;
    return set_port(value, 0, &options->ws_port);
}

static bool set_ports(struct options *options, const char *value) {
    options->ports_auto = strcmp(value, "auto") == 0;
    return options->ports_auto || strcmp(value, "fixed") == 0;
}

/* A wrong owner arms nothing, also where an earlier one was right. Pid 1 is refused: it is what an
 * orphan sees as its parent, and it never ends. */
static bool set_owner_pid(struct options *options, const char *value) {
    int64_t pid = 0;
    bool valid = value[0] == 0 || (os_pid_parse(value, &pid) == 0 && pid != 1);
    options->owner_named = true;
    options->owner_wrong |= !valid;
    options->owner.pid = valid ? pid : 0;
    return valid;
}

static bool set_owner_start(struct options *options, const char *value) {
    uint64_t start = 0;
    bool valid = value[0] == 0 || os_start_parse(value, &start) == 0;
    options->owner_wrong |= !valid;
    options->owner.start = start;
    return valid;
}

static bool set_owner_role(struct options *options, const char *value) {
    options->owner_is_front = strcmp(value, "front") == 0;
    return options->owner_is_front || strcmp(value, "editor") == 0;
}

static bool is_variable_name(const char *name) {
    static const char allowed[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz_0123456789";
    return name[0] && (name[0] < '0' || name[0] > '9') && strspn(name, allowed) == strlen(name);
}

static bool set_owner_env(struct options *options, const char *value) {
    for (size_t i = 0; i < options->alias_count; i++)
        if (strcmp(options->aliases[i], value) == 0)
            return true;
    if (!is_variable_name(value) || options->alias_count == OPTIONS_MAX_ALIASES)
        return false;
    options->aliases[options->alias_count++] = value;
    return true;
}

static const char *const ready_names[] = {[READY_PORTS] = "ports",
                                          [READY_NOTIFY] = "notify",
                                          [READY_HTTP] = "http:",
                                          [READY_NONE] = "none"};

static bool set_ready(struct options *options, const char *value) {
    if (strncmp(value, "http:/", 6) == 0) {
        if (strpbrk(value, " \t\r\n") || strlen(value) >= 512)
            return false;
        options->ready = READY_HTTP;
        options->ready_path = value + 5;
        return true;
    }
    for (size_t i = READY_PORTS; i < COUNT(ready_names); i++) {
        if (i != READY_HTTP && strcmp(ready_names[i], value) == 0) {
            options->ready = (enum ready_kind)i;
            return true;
        }
    }
    return false;
}

static bool set_restart(struct options *options, const char *value) {
    bool never = strcmp(value, "never") == 0;
    options->config.restart = never ? LIFECYCLE_RESTART_NEVER : LIFECYCLE_RESTART_ON_FAILURE;
    return never || strcmp(value, "on-failure") == 0;
}

static bool set_watchdog(struct options *options, const char *value) {
    options->config.parent_watchdog = !is_off(value);
    return true;
}

static bool set_transport(struct options *options, const char *value) {
    options->stdio = strcmp(value, "stdio") == 0;
    options->http = strcmp(value, "http") == 0;
    return options->stdio || options->http;
}

static bool set_stdio(struct options *options, const char *value) {
    return is_off(value) || set_transport(options, "stdio");
}

static bool set_clients(struct options *options, const char *value) {
    uint64_t number;
    if (!parse_number(value, CLIENTS_MOST, &number) || number == 0)
        return false;
    options->clients_most = (int64_t)number;
    return true;
}

static bool set_project(struct options *options, const char *value) {
    options->project = value;
    return value[0] != 0;
}

static bool set_tools(struct options *options, const char *value) {
    options->tools = value;
    return true;
}

static bool set_log_file(struct options *options, const char *value) {
    options->log_file = value;
    return value[0] != 0;
}

/* ---- the flags ---- */

struct flag {
    const char *name; /* without its dashes */
    const char *help;
    const char *argument; /* NULL: takes none */
    const char *takes;    /* what its argument may be; NULL: that is what `argument` says */
    unsigned scope;
    bool lenient; /* a wrong value is a warning */
    bool (*set)(struct options *options, const char *value);
    /* Without it: a number up to `most`, or, if that is 0, a switch. */
    uint64_t most;
    size_t offset;                         /* of the int64_t or bool in the options */
    const struct lifecycle_knob *interval; /* it is this one; else NULL */
};

#define SWITCH(field)        .offset = offsetof(struct options, field)
#define NUMBER(limit, field) .most = (limit), .offset = offsetof(struct options, field)

static const struct flag flags[] = {
    {"http-port", "the server's port for HTTP (8000)", "N", "a number from 1 to 65535",
     SCOPE_INSTANCE, .set = set_http_port},
    {"ws-port", "its second port, for WebSocket (9500); 0: it has none", "N",
     "a number from 0 to 65535", SCOPE_INSTANCE, .set = set_ws_port},
    {"ports", "auto: if a stranger holds a port, take the next free pair", "fixed|auto", NULL,
     SCOPE_START, .set = set_ports},
    {"hold-ports", "listen for the server and hand the sockets down (LISTEN_FDS)", NULL, NULL,
     SCOPE_START, SWITCH(hold_ports)},
    {"owner-pid", "the process that the server belongs to", "PID", NULL, SCOPE_START, true,
     .set = set_owner_pid},
    {"owner-start", "the owner's start time, as /proc/PID/stat tells it (looked up)", "TOKEN", NULL,
     SCOPE_START, true, .set = set_owner_start},
    {"owner-role", "what the owner is: editor, or front for `tether mcp` (editor)", "ROLE",
     "editor or front", SCOPE_START, .set = set_owner_role},
    {"owner-env", "a further variable that tells the server its owner (repeatable)", "NAME",
     "the name of a variable, and there may be 8 of them", SCOPE_START, .set = set_owner_env},
    {"ready", "ports, notify, http:/PATH or none: when it counts as ready (ports)", "HOW",
     "ports, notify, http:/PATH or none", SCOPE_START, .set = set_ready},
    {"restart", "on-failure or never: after a crash (on-failure)", "WHEN", "on-failure or never",
     SCOPE_START | SCOPE_STDIO, .set = set_restart},
    {"transport", "how COMMAND speaks MCP: stdio is served over HTTP (http)", "http|stdio", NULL,
     SCOPE_START, .set = set_transport},
    {"stdio", "the same as --transport stdio", NULL, NULL, SCOPE_START | SCOPE_STDIO,
     .set = set_stdio},
    {"per-client", "with --stdio: a process of COMMAND for each client", NULL, NULL,
     SCOPE_START | SCOPE_STDIO, SWITCH(per_client)},
    {"clients", "with --per-client: so many processes at most (16)", "N", "a number from 1 to 128",
     SCOPE_START | SCOPE_STDIO, .set = set_clients},
    {"project", "the Godot project that is meant (the one that this is started in)", "PATH",
     "the folder of a project", SCOPE_FRONT | SCOPE_PROJECT, .set = set_project},
    {"stdio", "as a command that it starts: served before and after editors, too", NULL, NULL,
     SCOPE_WAY, SWITCH(stdio)},
    {"http", "by the server's address, which there is while an editor runs", NULL, NULL, SCOPE_WAY,
     SWITCH(http)},
    {"tools", "only these: core, read and other profiles, or tools, with commas (all)", "NAMES",
     NULL, SCOPE_FRONT, .set = set_tools},
    {"log", "keep what COMMAND writes to standard error in this file, too", "FILE",
     "the path of a file", SCOPE_FRONT, .set = set_log_file},
    {"parent-watchdog", "end with the program that started `tether run` (on)", "on|off", NULL,
     SCOPE_START, true, .set = set_watchdog},
    {"json", "one line of JSON, for programs", NULL, NULL, SCOPE_JSON, SWITCH(json)},
    {"watch", "stay, and show every change", NULL, NULL, SCOPE_WATCH, SWITCH(watch)},
    {"check", "tell by the exit code whether the server is ready: 4 if not", NULL, NULL,
     SCOPE_WATCH, SWITCH(check)},
    {"force", "also while editors use the server", NULL, NULL, SCOPE_FORCE, SWITCH(force)},
    {"follow", "stay, and print new lines as they come (-f)", NULL, NULL, SCOPE_LOGS,
     SWITCH(follow)},
    {"lines", "print the last N lines first (20) (-n N)", "N", "a number up to 100000", SCOPE_LOGS,
     NUMBER(100000, line_count)},
    {"builtin", "", NULL, NULL, SCOPE_TOLD, SWITCH(builtin)},
    {"lock-handle", "", "N", NULL, SCOPE_DAEMON, NUMBER(INT32_MAX, lock_handle)},
    {"result-handle", "", "N", NULL, SCOPE_DAEMON, NUMBER(INT32_MAX, result_handle)},
};

static bool is_interval(const struct lifecycle_knob *knob) {
    return knob->help != NULL;
}

/* The flags of the table, and behind them the intervals as such. False: that is all. */
static bool get_flag(size_t at, struct flag *flag) {
    const struct lifecycle_knob *knob;
    if (at < COUNT(flags)) {
        *flag = flags[at];
        return true;
    }
    if (at - COUNT(flags) >= lifecycle_knob_count)
        return false;
    knob = &lifecycle_knobs[at - COUNT(flags)];
    *flag = (struct flag){.name = knob->name,
                          .argument = "milliseconds",
                          .scope = is_interval(knob) ? SCOPE_START | SCOPE_STDIO : 0,
                          .lenient = true,
                          .interval = knob};
    return true;
}

static bool find_flag(const char *name, size_t length, unsigned scopes, struct flag *flag) {
    for (size_t i = 0; get_flag(i, flag); i++)
        if ((flag->scope & scopes) && strlen(flag->name) == length &&
            strncmp(flag->name, name, length) == 0)
            return true;
    return false;
}

static bool set_interval(struct options *options, const struct lifecycle_knob *knob,
                         const char *value) {
    uint32_t *field = (uint32_t *)(void *)((char *)&options->config + knob->offset);
    uint64_t number;
    bool valid = parse_number(value, knob->most, &number) && number >= knob->least;
    *field = valid ? (uint32_t)number : knob->fallback;
    return valid;
}

static bool set_flag(struct options *options, const struct flag *flag, const char *value) {
    void *field = (char *)options + flag->offset;
    uint64_t number = 0;
    if (flag->interval)
        return set_interval(options, flag->interval, value);
    if (flag->set)
        return flag->set(options, value);
    if (flag->most && !parse_number(value, flag->most, &number))
        return false;
    if (flag->most)
        *(int64_t *)field = (int64_t)number;
    else
        *(bool *)field = !is_off(value);
    return true;
}

/* ---- reading ---- */

static void variable_name(char out[64], const char *flag) {
    size_t length = (size_t)snprintf(out, 64, "TETHER_%s", flag);
    for (size_t i = 0; i < length && i < 63; i++) {
        if (out[i] == '-')
            out[i] = '_';
        else if (out[i] >= 'a' && out[i] <= 'z')
            out[i] = (char)(out[i] - 'a' + 'A');
    }
}

static void warn(FILE *warnings, const char *where, const char *value, const struct flag *flag) {
    bool is_owner = flag->set == set_owner_pid || flag->set == set_owner_start;
    char shown[64];
    readable_cut(value, strlen(value), shown, sizeof shown);
    if (warnings)
        fprintf(warnings, "tether: warning: %s: '%s' is not valid here; %s\n", where, shown,
                is_owner ? "no owner is watched" : "the default is taken");
}

static void read_variables(struct options *options, unsigned scopes, FILE *warnings) {
    struct flag flag;
    char name[64];
    for (size_t i = 0; get_flag(i, &flag); i++) {
        const char *value;
        if (!(flag.scope & scopes & (SCOPE_INSTANCE | SCOPE_START)))
            continue;
        variable_name(name, flag.name);
        value = os_variable(name);
        if (value && !value[0] && !flag.argument)
            continue; /* set, but to nothing: not asked for */
        if (value && !set_flag(options, &flag, value))
            warn(warnings, name, value, &flag);
    }
}

struct words {
    char **next;
    unsigned scopes;
    FILE *warnings;
};

/* The flag of these scopes that was perhaps meant. */
static const char *nearest_flag(const char *name, unsigned scopes) {
    struct nearest nearest = {.typed = name, .length = strcspn(name, "=")};
    struct flag flag;
    for (size_t i = 0; get_flag(i, &flag); i++)
        if (flag.scope & scopes & ~(unsigned)SCOPE_DAEMON)
            nearest_offer(&nearest, flag.name);
    return nearest.word;
}

static int unknown_word(const char *word, unsigned scopes, struct error *err) {
    const char *meant = strncmp(word, "--", 2) == 0 ? nearest_flag(word + 2, scopes) : NULL;
    if (meant)
        return error_set(err, UV_EINVAL, "unknown option '%.100s'; is --%s meant?", word, meant);
    if (word[0] == '-')
        return error_set(err, UV_EINVAL, "unknown option '%.100s'", word);
    return error_set(err, UV_EINVAL,
                     "unexpected argument '%.100s'; a server's command goes behind \"--\"", word);
}

/* The value of a flag: behind '=' or the next word. */
static const char *take_value(struct words *words, const char *after_name) {
    if (*after_name == '=')
        return after_name + 1;
    return *words->next ? *words->next++ : NULL;
}

static int read_flag(struct options *options, struct words *words, const char *word,
                     struct error *err) {
    const char *name = word + 2, *value = "";
    size_t length = strcspn(name, "=");
    struct flag flag;
    if (!find_flag(name, length, words->scopes, &flag))
        return unknown_word(word, words->scopes, err);
    if (flag.argument) {
        value = take_value(words, name + length);
        if (!value)
            return error_set(err, UV_EINVAL, "option %s needs a value (%s)", word, flag.argument);
    } else if (name[length] == '=') {
        return error_set(err, UV_EINVAL, "option --%s takes no value", flag.name);
    }
    if (set_flag(options, &flag, value))
        return 0;
    if (!flag.lenient)
        return error_set(err, UV_EINVAL, "option --%s: '%.100s' is not valid; it takes %s",
                         flag.name, value, flag.takes ? flag.takes : flag.argument);
    warn(words->warnings, word, value, &flag);
    return 0;
}

/* The few short forms. */
static const char *long_form(const char *word) {
    if (strcmp(word, "-f") == 0)
        return "--follow";
    return strcmp(word, "-n") == 0 ? "--lines" : word;
}

static int read_words(struct options *options, struct words *words, struct error *err) {
    while (*words->next) {
        const char *word = long_form(*words->next++);
        int rc;
        if (strcmp(word, "--") == 0 && (words->scopes & (SCOPE_START | SCOPE_STDIO))) {
            options->command = *words->next ? words->next : NULL;
            return 0;
        }
        if (strncmp(word, "--", 2) != 0 || word[2] == 0)
            return unknown_word(word, words->scopes, err);
        rc = read_flag(options, words, word, err);
        if (rc < 0)
            return rc;
    }
    return 0;
}

int options_parse(struct options *options, unsigned scopes, char **arguments, FILE *warnings,
                  struct error *err) {
    struct words words = {arguments, scopes, warnings};
    struct os_identity variables;
    int rc;
    *options = (struct options){
        .http_port = 8000,
        .ws_port = 9500,
        .line_count = 20,
        .clients_most = CLIENTS_USUAL,
        .lock_handle = -1,
        .result_handle = -1,
        .state_dir = os_variable("TETHER_STATE_DIR"),
    };
    lifecycle_config_defaults(&options->config);
    if (!(scopes & SCOPE_DAEMON)) /* a daemon has been told everything by flags */
        read_variables(options, scopes, warnings);
    variables = options->owner;
    if (options->owner_wrong)
        variables.pid = variables.start = 0;
    options->owner = (struct os_identity){0};
    options->owner_named = options->owner_wrong = false;
    rc = read_words(options, &words, err);
    /* The start that a variable tells belongs to the pid that a variable tells. */
    if (!options->owner_named) {
        options->owner.pid = variables.pid;
        options->owner.start = options->owner.start ? options->owner.start : variables.start;
    }
    if (options->owner_wrong)
        options->owner = (struct os_identity){0};
    if (rc == 0 && options->http_port == options->ws_port)
        rc = error_set(err, UV_EINVAL,
                       "both ports are %u; give --http-port and --ws-port different numbers",
                       (unsigned)options->http_port);
    if (rc == 0 && options->hold_ports && options->ready == READY_PORTS)
        rc = error_set(err, UV_EINVAL,
                       "--ready ports tells nothing when the daemon itself listens (--hold-ports); "
                       "use --ready notify or --ready http:/PATH");
    if (rc == 0 && options->owner.pid == 0)
        options->owner.start = 0;
    return rc;
}

/* Tether's own server starts nothing and ends with its input, so that one cannot get away. */
static int check_promise(const struct options *options, struct error *err) {
    const char *accepted = os_variable(UNCERTAIN);
    if (os_tree_is_certain || options->builtin || (accepted && accepted[0] && !is_off(accepted)))
        return 0;
    return error_set(err, UV_ENOTSUP,
                     "on this system nobody can promise that all of what %.200s starts ends with "
                     "it, so it is not started; set " UNCERTAIN "=on to do without the promise",
                     options->command[0]);
}

int options_check_start(const struct options *options, struct error *err) {
    const struct os_identity *owner = &options->owner;
    struct os_identity now;
    int rc = check_promise(options, err);
    if (rc < 0)
        return rc;
    if (owner->pid == 0 || os_liveness(owner) != OS_DEAD)
        return 0;
    if (owner->start != 0 && os_identity_of(owner->pid, &now) == 0 && now.start != owner->start)
        return error_set(err, UV_ESRCH,
                         "pid %lld is another process than the owner meant: that one is dead, so "
                         "nothing is started for it (--owner-start)",
                         (long long)owner->pid);
    return error_set(err, UV_ESRCH,
                     "the owner, process %lld, does not live, so nothing is started for it; name "
                     "one that does (--owner-pid), or none",
                     (long long)owner->pid);
}

void options_instance(const struct options *options, char out[OPTIONS_INSTANCE_MAX]) {
    snprintf(out, OPTIONS_INSTANCE_MAX, "%u-%u", (unsigned)options->http_port,
             (unsigned)options->ws_port);
}

int options_dir(const struct options *options, struct os_dir *dir, bool create, struct error *err) {
    char path[OS_PATH_MAX], instance[OPTIONS_INSTANCE_MAX];
    int rc;
    options_instance(options, instance);
    rc = os_instance_path(options->state_dir, instance, path, sizeof path, err);
    return rc < 0 ? rc : os_dir_open(dir, path, create, err);
}

bool options_next_pair(struct options *options) {
    if (!options->ports_auto || options->pairs_passed == PAIRS_MOST ||
        options->http_port == UINT16_MAX || options->ws_port == UINT16_MAX)
        return false;
    options->pairs_passed++;
    options->http_port++;
    options->ws_port = options->ws_port ? (uint16_t)(options->ws_port + 1) : 0;
    return true;
}

enum ready_kind options_ready(const struct options *options) {
    if (options->ready != READY_DEFAULT)
        return options->ready;
    return options->hold_ports ? READY_NOTIFY : READY_PORTS;
}

/* ---- writing ---- */

void options_explain(unsigned scopes, FILE *out) {
    char text[64];
    for (size_t i = 0; i < COUNT(flags); i++) {
        if (!(flags[i].scope & scopes & ~(unsigned)(SCOPE_DAEMON | SCOPE_TOLD)))
            continue;
        snprintf(text, sizeof text, "--%s%s%s", flags[i].name, flags[i].argument ? " " : "",
                 flags[i].argument ? flags[i].argument : "");
        fprintf(out, "  %-24s %s\n", text, flags[i].help);
    }
    if (!(scopes & SCOPE_START))
        return;
    fprintf(out, "\nIntervals in milliseconds:\n");
    for (size_t i = 0; i < lifecycle_knob_count; i++)
        if (is_interval(&lifecycle_knobs[i]))
            fprintf(out, "  --%-22s %s (%" PRIu32 ")\n", lifecycle_knobs[i].name,
                    lifecycle_knobs[i].help, lifecycle_knobs[i].fallback);
    fprintf(out, "\nEach can be given as a variable too, --grace-ms as TETHER_GRACE_MS.\n");
}

static void emit_pair(struct text_list *to, const char *flag, const char *value) {
    char word[64];
    snprintf(word, sizeof word, "--%s", flag);
    text_list_add(to, word);
    text_list_add(to, value);
}

static void emit_number(struct text_list *to, const char *flag, uint64_t value) {
    char text[24];
    snprintf(text, sizeof text, "%" PRIu64, value);
    emit_pair(to, flag, text);
}

static void emit_ready(struct text_list *to, const struct options *options) {
    char text[640];
    enum ready_kind ready = options_ready(options);
    snprintf(text, sizeof text, "%s%s", ready_names[ready],
             ready == READY_HTTP ? options->ready_path : "");
    emit_pair(to, "ready", text);
}

static void emit_owner(struct text_list *to, const struct options *options) {
    if (options->owner.pid != 0) {
        emit_number(to, "owner-pid", (uint64_t)options->owner.pid);
        if (options->owner.start != 0)
            emit_number(to, "owner-start", options->owner.start);
        emit_pair(to, "owner-role", options->owner_is_front ? "front" : "editor");
    }
    for (size_t i = 0; i < options->alias_count; i++)
        emit_pair(to, "owner-env", options->aliases[i]);
}

void options_emit(const struct options *options, struct text_list *to) {
    emit_number(to, "http-port", options->http_port);
    emit_number(to, "ws-port", options->ws_port);
    emit_pair(to, "ports", options->ports_auto ? "auto" : "fixed");
    if (options->hold_ports)
        text_list_add(to, "--hold-ports");
    if (options->builtin)
        text_list_add(to, "--builtin");
    emit_owner(to, options);
    emit_ready(to, options);
    emit_pair(to, "restart",
              options->config.restart == LIFECYCLE_RESTART_NEVER ? "never" : "on-failure");
    emit_pair(to, "parent-watchdog", options->config.parent_watchdog ? "on" : "off");
    for (size_t i = 0; i < lifecycle_knob_count; i++) {
        const struct lifecycle_knob *knob = &lifecycle_knobs[i];
        uint32_t value;
        if (!is_interval(knob))
            continue;
        memcpy(&value, (const char *)&options->config + knob->offset, sizeof value);
        emit_number(to, knob->name, value);
    }
    if (options->lock_handle >= 0)
        emit_number(to, "lock-handle", (uint64_t)options->lock_handle);
    if (options->result_handle >= 0)
        emit_number(to, "result-handle", (uint64_t)options->result_handle);
    if (options->command) {
        text_list_add(to, "--");
        for (char **word = options->command; *word; word++)
            text_list_add(to, *word);
    }
}

void options_environment(struct text_list *environment) {
    static const char *const sharing[] = {"TETHER_TRANSPORT", "TETHER_STDIO", "TETHER_PER_CLIENT"};
    os_environment(environment);
    for (size_t i = 0; i < sizeof sharing / sizeof sharing[0]; i++)
        environment_set(environment, sharing[i], NULL);
}
