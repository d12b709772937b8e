#include "server_setup.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "buffer.h"
#include "memory.h"
#include "os/os.h"

static void add_pair(struct text_list *words, const char *flag, char *value) {
    text_list_add(words, flag);
    text_list_take(words, value);
}

/* Only what is set: the rest is for the launcher's own defaults and variables to say. */
static void add_text(struct text_list *words, const char *flag,
                     const struct engine_variant *value) {
    char *text = variant_text(value);
    if (text[0])
        add_pair(words, flag, text);
    else
        free(text);
}

static void add_number(struct text_list *words, const char *flag,
                       const struct engine_variant *value) {
    if (variant_int(value) > 0)
        add_pair(words, flag, variant_text(value));
}

static void add_element(const struct engine_variant *element, void *context) {
    text_list_take(context, variant_text(element));
}

struct additions {
    const struct engine_variant *dictionary;
    struct launch_setup *setup;
};

static void add_variable(const struct engine_variant *key, void *context) {
    const struct additions *additions = context;
    struct engine_variant value;
    char *name = variant_text(key), *text;
    variant_init_member(&value, additions->dictionary, name);
    text = variant_text(&value);
    if (name[0] && !strchr(name, '=')) {
        environment_set(&additions->setup->environment, name, text);
        environment_set(&additions->setup->additions, name, text);
    }
    free(text);
    free(name);
    variant_finish(&value);
}

static void read_environment(struct launch_setup *setup, const struct engine_variant *added) {
    struct additions additions = {added, setup};
    os_environment(&setup->environment);
    variant_each(added, add_variable, &additions);
}

static void read_words(struct launch_setup *setup, const struct server_properties *properties) {
    struct text_list *words = &setup->words, command = {0};
    text_list_add(words, "tether");
    text_list_add(words, "launch");
    add_pair(words, "--http-port", variant_text(&properties->http_port));
    add_pair(words, "--ws-port", variant_text(&properties->ws_port));
    add_text(words, "--ports", &properties->ports);
    add_text(words, "--ready", &properties->ready);
    add_text(words, "--restart", &properties->restart_policy);
    add_number(words, "--ready-timeout-ms", &properties->ready_timeout_ms);
    add_number(words, "--grace-ms", &properties->grace_ms);
    add_number(words, "--stop-grace-ms", &properties->stop_grace_ms);
    add_number(words, "--idle-limit-ms", &properties->idle_limit_ms);
    add_number(words, "--linger-ms", &properties->linger_ms);
    if (variant_is_true(&properties->hold_ports))
        text_list_add(words, "--hold-ports");
    for (size_t i = 0; i < setup->aliases.count; i++) {
        text_list_add(words, "--owner-env");
        text_list_add(words, setup->aliases.items[i]);
    }
    variant_each(&properties->command, add_element, &command);
    if (command.count > 0)
        add_text(words, "--transport", &properties->transport);
    if (command.count > 0)
        text_list_add(words, "--");
    for (size_t i = 0; i < command.count; i++)
        text_list_add(words, command.items[i]);
    setup->is_builtin = command.count == 0;
    text_list_finish(&command);
}

/* The launcher that was delivered with this library, in the same folder. */
static char *program_beside_library(void) {
    struct engine_string path;
    struct engine_variant variant;
    struct buffer program = {0};
    char *text, *slash;
    engine.get_library_path(engine.library, &path);
    variant_init_native(&variant, GDEXTENSION_VARIANT_TYPE_STRING, &path);
    text = variant_text(&variant);
    variant_finish(&variant);
    engine_string_finish(&path);
    slash = strrchr(text, '/');
    buffer_add(&program, text, slash ? (size_t)(slash - text) + 1 : 0);
    buffer_add_literal(&program, TETHER_PROGRAM_NAME);
    free(text);
    return program.data;
}

/* What a method of the project's settings answers to one text, or to that and an empty one. */
static char *ask_project(const char *method, const char *about, int count) {
    struct engine_variant arguments[2];
    char *text;
    variant_init_text(&arguments[0], about);
    variant_init_text(&arguments[1], "");
    text = singleton_text("ProjectSettings", method, arguments, count);
    variant_finish(&arguments[1]);
    variant_finish(&arguments[0]);
    return text;
}

static char *engine_version(void) {
    char text[48];
    snprintf(text, sizeof text, "%u.%u.%u", engine.version.major, engine.version.minor,
             engine.version.patch);
    return memory_text(text, strlen(text));
}

void server_setup_init(struct launch_setup *setup, const struct server_properties *properties) {
    char *program = variant_text(&properties->launcher);
    *setup = (struct launch_setup){0};
    if (program[0] == 0) {
        free(program);
        program = program_beside_library();
    }
    setup->program = program;
    setup->project = ask_project("get_setting", "application/config/name", 2);
    setup->path = ask_project("globalize_path", "res://", 1);
    setup->godot = engine_version();
    setup->is_unowned = variant_is_true(&properties->keep_on_exit);
    variant_each(&properties->owner_aliases, add_element, &setup->aliases);
    setup->http_port = variant_int(&properties->http_port);
    setup->ws_port = variant_int(&properties->ws_port);
    read_environment(setup, &properties->environment);
    read_words(setup, properties);
}
