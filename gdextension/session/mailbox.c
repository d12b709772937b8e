#include "mailbox.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bell.h"
#include "memory.h"

enum { LINES_MOST = 20000 };

void command_free(struct mailbox_command *command) {
    launch_setup_finish(&command->setup);
    json_decref(command->json);
    free(command);
}

void control_event_free(struct control_event *event) {
    json_decref(event->json);
    free(event->text);
    free(event);
}

void mailbox_init(struct mailbox *box, uv_loop_t *loop, uv_async_cb on_wake, void *context) {
    *box = (struct mailbox){0};
    uv_mutex_init(&box->mutex);
    uv_async_init(loop, &box->wake, on_wake);
    box->wake.data = context;
    box->commands_end = &box->commands;
    box->events_end = &box->events;
}

void mailbox_close(struct mailbox *box) {
    atomic_store(&box->is_closed, true);
    uv_close((uv_handle_t *)&box->wake, NULL);
}

void mailbox_finish(struct mailbox *box) {
    struct mailbox_command *command = box->commands, *next_command;
    struct control_event *event = box->events, *next_event;
    for (; command; command = next_command) {
        next_command = command->next;
        command_free(command);
    }
    for (; event; event = next_event) {
        next_event = event->next;
        control_event_free(event);
    }
    uv_mutex_destroy(&box->mutex);
}

void mailbox_put_command(struct mailbox *box, struct mailbox_command what) {
    struct mailbox_command *command = calloc(1, sizeof *command);
    if (!command)
        abort(); /* as the engine does when memory is gone */
    *command = what;
    uv_mutex_lock(&box->mutex);
    *box->commands_end = command;
    box->commands_end = &command->next;
    uv_mutex_unlock(&box->mutex);
    if (!atomic_load(&box->is_closed))
        uv_async_send(&box->wake);
}

/* NULL without memory. */
static struct control_event *event_create(enum control_event_kind kind, const char *text,
                                          int64_t number, json_t *json) {
    struct control_event *event = calloc(1, sizeof *event);
    if (!event) {
        json_decref(json);
        return NULL;
    }
    event->kind = kind;
    event->number = number;
    event->json = json;
    event->text = text ? memory_text(text, strlen(text)) : NULL;
    return event;
}

/* Takes the event over, which may be NULL. */
static void put_event(struct mailbox *box, struct control_event *event) {
    bool is_line = event && event->kind == CONTROL_LOG, kept = event != NULL;
    uv_mutex_lock(&box->mutex);
    if (is_line && box->lines >= LINES_MOST)
        kept = false;
    if (kept) {
        *box->events_end = event;
        box->events_end = &event->next;
        box->lines += is_line;
    }
    uv_mutex_unlock(&box->mutex);
    if (kept)
        atomic_store(&box->has_events, true);
    else if (event)
        control_event_free(event);
    if (kept && !is_line)
        bell_ring(); /* lines of a log can wait */
}

void mailbox_tell(struct mailbox *box, enum control_event_kind kind, const char *text,
                  int64_t number, json_t *json) {
    put_event(box, event_create(kind, text, number, json));
}

void mailbox_tell_log(struct mailbox *box, const char *stream, const char *line) {
    struct control_event *event = event_create(CONTROL_LOG, line, 0, NULL);
    if (event)
        snprintf(event->stream, sizeof event->stream, "%s", stream);
    put_event(box, event);
}

void mailbox_tell_logged(struct mailbox *box, const char *line) {
    const char *stream = strchr(line, ' '), *text = stream ? strchr(stream + 1, ' ') : NULL;
    char name[12];
    if (!text)
        return;
    snprintf(name, sizeof name, "%.*s", (int)(text - stream - 1), stream + 1);
    mailbox_tell_log(box, name, text + 1);
}

struct mailbox_command *mailbox_take_commands(struct mailbox *box) {
    struct mailbox_command *commands;
    uv_mutex_lock(&box->mutex);
    commands = box->commands;
    box->commands = NULL;
    box->commands_end = &box->commands;
    uv_mutex_unlock(&box->mutex);
    return commands;
}

struct control_event *mailbox_take_events(struct mailbox *box) {
    struct control_event *events;
    if (!atomic_load_explicit(&box->has_events, memory_order_relaxed))
        return NULL; /* as in nearly every frame */
    atomic_store(&box->has_events, false);
    uv_mutex_lock(&box->mutex);
    events = box->events;
    box->events = NULL;
    box->events_end = &box->events;
    box->lines = 0;
    uv_mutex_unlock(&box->mutex);
    return events;
}

bool mailbox_withdraw_call(struct mailbox *box, int64_t call) {
    bool found = false;
    uv_mutex_lock(&box->mutex);
    for (struct control_event *event = box->events; event && !found; event = event->next) {
        found = event->kind == CONTROL_CALL && event->number == call;
        if (found)
            event->kind = CONTROL_NOTHING;
    }
    uv_mutex_unlock(&box->mutex);
    return found;
}
