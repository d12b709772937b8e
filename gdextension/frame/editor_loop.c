#include "editor_loop.h"

#include <stdlib.h>
#include <string.h>

#include "class/tether_server.h"
#include "engine/variant.h"
#include "frame_pace.h"
#include "os/os.h"

enum {
    /* How long a dropped server waits for a shutdown before it counts as disabled. An editor that
     * closes gets from one to the other within a frame or two. */
    PARTING_FRAMES = 5,
    PARTING_MS = 500,
    /* And for one that is just being launched: it may come for the same server, and a system that
     * looks through programs before they run takes its time. */
    PARTING_MOST_MS = 10000,
};

struct parting {
    struct parting *next;
    struct control_client *client;
    bool has_left;
    int frames;
    int64_t since;
};

/* The engine's callbacks carry no context. */
static struct {
    struct parting *parting;
    bool is_registered; /* the class */
    bool is_in_frame;   /* scripts may run, and have the engine run frames of its own */
    struct editor_loop_cost cost;
} editor;

void editor_loop_part(struct control_client *client, bool has_left) {
    struct parting *parting = calloc(1, sizeof *parting);
    if (!parting)
        abort();
    *parting = (struct parting){editor.parting, client, has_left, 0, os_clock_ms()};
    editor.parting = parting;
}

/* ---- frames ---- */

static bool is_settled(struct parting *parting) {
    if (!parting->has_left && ++parting->frames > PARTING_FRAMES &&
        os_clock_ms() - parting->since >
            (tether_servers_are_launching() ? PARTING_MOST_MS : PARTING_MS)) {
        control_client_tell(parting->client,
                            (struct mailbox_command){.kind = COMMAND_LEAVE, .reason = "disable"});
        parting->has_left = true;
    }
    return parting->has_left && control_client_is_done(parting->client);
}

static void settle_parting(void) {
    struct parting **link = &editor.parting;
    while (*link) {
        struct parting *parting = *link;
        if (is_settled(parting)) {
            *link = parting->next;
            control_client_destroy(parting->client);
            free(parting);
        } else {
            link = &parting->next;
        }
    }
}

static void count_cost(bool was_busy, uint64_t ns) {
    struct editor_loop_cost *cost = &editor.cost;
    *(was_busy ? &cost->busy_frames : &cost->idle_frames) += 1;
    *(was_busy ? &cost->busy_ns : &cost->idle_ns) += ns;
    if (ns > cost->worst_ns)
        cost->worst_ns = ns;
}

struct editor_loop_cost editor_loop_cost(void) {
    return editor.cost;
}

/* While a tool or a handler runs, an import may run frames of its own: in those nothing is begun,
 * so that events keep their order and a session that is on the stack is not ended. */
static void on_frame(void) {
    uint64_t began = uv_hrtime();
    bool was_busy;
    if (editor.is_in_frame)
        return;
    editor.is_in_frame = true;
    was_busy = tether_servers_frame();
    if (editor.parting)
        settle_parting();
    editor.is_in_frame = false;
    count_cost(was_busy, uv_hrtime() - began);
    frame_pace_wait(tether_servers_may_be_called());
}

/* ---- the end ---- */

/* The tree of an editor that ends has lost its root by now; when only this library is replaced, all
 * is still there. */
static bool is_ending(void) {
    struct engine_variant loop;
    bool has_root;
    singleton_call("Engine", "get_main_loop", NULL, 0, &loop);
    has_root = variant_says(&loop, "get_root");
    variant_finish(&loop);
    return !has_root;
}

/* Says the farewell for all servers, and waits until it is out. True if there was an object. */
static bool end_all(const char *reason) {
    bool had_any = tether_servers_part();
    for (struct parting *parting = editor.parting; parting; parting = parting->next)
        control_client_tell(parting->client,
                            (struct mailbox_command){.kind = COMMAND_LEAVE,
                                                     .reason = parting->has_left ? NULL : reason,
                                                     .hurry = true});
    while (editor.parting) {
        struct parting *parting = editor.parting;
        editor.parting = parting->next;
        control_client_destroy(parting->client);
        free(parting);
    }
    return had_any;
}

static void unregister(void) {
    if (editor.is_registered)
        class_unregister(&tether_server_class);
    editor.is_registered = false;
}

/* An editor that comes upon an extension while it looks through a project for the first time has
 * the help made anew, by a deferred call. If it ends before a frame makes that, the call is made
 * after the help is gone, and crashes at the first class of an extension. So ours goes before. */
static void on_shutdown(void) {
    bool ends = is_ending();
    const char *reason = !ends                                            ? "reload"
                         : singleton_says("OS", "is_restart_on_exit_set") ? "restart"
                                                                          : "quit";
    frame_pace_release();
    if (!end_all(reason) && ends)
        unregister();
}

/* Whether the plugin is enabled or not, exported games hold nothing of ours. */
static void on_startup(void) {
    struct engine_variant path, script;
    if (!singleton_says("Engine", "is_editor_hint"))
        return;
    variant_init_text(&path, "res://addons/tether/export_guard.gd");
    singleton_call("ResourceLoader", "load", &path, 1, &script);
    variant_call(&script, "install", NULL, 0, NULL);
    variant_finish(&script);
    variant_finish(&path);
}

void editor_loop_register(void) {
    const GDExtensionMainLoopCallbacks callbacks = {on_startup, on_shutdown, on_frame};
    class_register(&tether_server_class);
    editor.is_registered = true;
    engine.register_main_loop_callbacks(engine.library, &callbacks);
}

void editor_loop_finish(void) {
    end_all("quit");
    unregister();
}

/* ---- what kind of process this is ---- */

static bool display_is_headless(void) {
    char *name = singleton_text("DisplayServer", "get_name", NULL, 0);
    bool headless = strcmp(name, "headless") == 0;
    free(name);
    return headless;
}

/* The engine takes these out of the arguments that it shows to scripts, so the system is asked. */
static bool has_argument(const char *word) {
    struct os_identity self;
    char command[4096], *at;
    size_t length = strlen(word);
    if (os_identity_self(&self) < 0 || os_process_command(&self, command, sizeof command) < 0)
        return false;
    for (at = strstr(command, word); at; at = strstr(at + 1, word))
        if (at > command && at[-1] == ' ' && (at[length] == ' ' || at[length] == 0))
            return true;
    return false;
}

bool editor_is_attended(void) {
    static const char *const chores[] = {
        "--import",       "--export-release", "--export-debug", "--export-pack",
        "--export-patch", "--headless",       "headless", /* --display-driver headless */
    };
    bool found = false;
    for (size_t i = 0; !found && i < sizeof chores / sizeof chores[0]; i++)
        found = has_argument(chores[i]);
    return !found && singleton_says("Engine", "is_editor_hint");
}

bool editor_is_in_use(const char **why_not) {
    const char *wanted = os_variable("TETHER_HEADLESS");
    *why_not = NULL;
    if (!singleton_says("Engine", "is_editor_hint"))
        *why_not = "servers are started in the editor only, not in a game";
    else if (wanted && strcmp(wanted, "1") == 0)
        return true;
    else if (display_is_headless())
        *why_not = "this editor is headless; set TETHER_HEADLESS=1 if it is to have a server";
    else if (!editor_is_attended())
        *why_not = "this editor only imports or exports";
    return !*why_not;
}
