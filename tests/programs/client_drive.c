/* The extension's session with the launcher, driven by lines on standard input, as the editor's
 * main thread drives it:
 *
 *     client_drive TETHER WORD… [-- COMMAND…]
 *
 * The words follow `tether launch`. Orders:
 *
 *     new                  makes a client                  destroy     waits for the client's end
 *     start                stop      force (stop all the same)         restart
 *     setup                tells what to launch, again     activate    offer
 *     leave REASON         hurry REASON  ("-" for none)
 *     nap MS               takes no orders for so long, but goes on with the frames
 *     sleep MS             runs no frames either
 *
 * Prints what comes from the client ("state NAME JSON", "failed CODE TEXT", "refused TEXT",
 * "adopted PID", "launcher LINE", "bridge STATE", "call NUMBER NAME"), "destroyed MS", and for
 * "files" how many are open. A call is answered with its own arguments. */
#include "session/control_client.h"

#include <stdlib.h>
#include <string.h>
#ifdef _WIN32
#include <windows.h>
#else
#include <poll.h>
#endif

#include "os/os.h"
#include "protocol/lines.h"
#include "protocol/message.h"
#include "say.h"

enum { FRAME_MS = 5 };

struct drive {
    struct control_client *client;
    char **words;
    int64_t nap_until;
    uv_loop_t loop;
    uv_pipe_t input;
    uv_timer_t frames;
    struct buffer lines;
    char buffer[4096];
};

static char *copy(const char *text) {
    char *made = malloc(strlen(text) + 1);
    if (!made)
        abort();
    return memcpy(made, text, strlen(text) + 1);
}

static void set_up(const struct drive *drive, struct launch_setup *setup) {
    *setup = (struct launch_setup){.program = copy(drive->words[0]),
                                   .project = copy("Drive"),
                                   .path = copy("/"),
                                   .godot = copy("4.6.0"),
                                   .is_builtin = true};
    text_list_add(&setup->words, "tether");
    text_list_add(&setup->words, "launch");
    text_list_add(&setup->aliases, "DRIVE_OWNER");
    for (char **word = drive->words + 1; *word; word++) {
        setup->is_builtin = setup->is_builtin && strcmp(*word, "--") != 0;
        text_list_add(&setup->words, *word);
    }
    os_environment(&setup->environment);
}

/* ---- events ---- */

static char *answer_text(const json_t *arguments) {
    int64_t size = message_number(arguments, "size", 0);
    char *text = size ? malloc((size_t)size + 1) : json_dumps(arguments, JSON_COMPACT);
    if (size && text) {
        memset(text, 'x', (size_t)size);
        text[size] = 0;
    }
    return text;
}

static void give(const struct drive *drive, struct mailbox_command command) {
    control_client_tell(drive->client, command);
}

static void answer(struct drive *drive, const struct control_event *event) {
    char *text = answer_text(json_object_get(event->json, "arguments"));
    give(drive,
         (struct mailbox_command){.kind = COMMAND_ANSWER,
                                  .call = event->number,
                                  .json = json_pack("{s:[{s:s, s:s}]}", "content", "type", "text",
                                                    "text", text ? text : "nothing")});
    free(text);
}

static void print_event(struct drive *drive, const struct control_event *event) {
    char *json = event->json ? json_dumps(event->json, JSON_COMPACT) : NULL;
    if (event->kind == CONTROL_STATE)
        say("state %s %s\n", event->text, json ? json : "");
    else if (event->kind == CONTROL_FAILED)
        say("failed %d %s\n", (int)event->number, event->text);
    else if (event->kind == CONTROL_REFUSED)
        say("refused %s\n", event->text);
    else if (event->kind == CONTROL_ADOPTED)
        say("adopted %d\n", (int)event->number);
    else if (event->kind == CONTROL_LOG && strcmp(event->stream, "launcher") == 0)
        say("launcher %s\n", event->text);
    else if (event->kind == CONTROL_BRIDGE)
        say("bridge %s\n", event->text);
    else if (event->kind == CONTROL_CALL)
        say("call %d %s\n", (int)event->number, message_text(event->json, "name"));
    if (event->kind == CONTROL_CALL)
        answer(drive, event);
    free(json);
}

static void frame(struct drive *drive) {
    struct control_event *event = drive->client ? control_client_take(drive->client) : NULL, *next;
    for (; event; event = next) {
        next = event->next;
        print_event(drive, event);
        control_event_free(event);
    }
}

/* ---- orders ---- */

static void leave(struct drive *drive, const char *reason, bool hurry) {
    give(drive, (struct mailbox_command){
                    .kind = COMMAND_LEAVE, .reason = control_reason(reason), .hurry = hurry});
}

static void destroy(struct drive *drive) {
    int64_t began = os_clock_ms();
    control_client_destroy(drive->client);
    drive->client = NULL;
    say("destroyed %d\n", (int)(os_clock_ms() - began));
}

static void count_files(void) {
#ifdef _WIN32
    DWORD count = 0;
    GetProcessHandleCount(GetCurrentProcess(), &count);
#else
    int count = 0;
    struct pollfd file = {.events = 0};
    for (file.fd = 0; file.fd < 256; file.fd++)
        count += poll(&file, 1, 0) >= 0 && !(file.revents & POLLNVAL);
#endif
    say("files %d\n", (int)count);
}

static void make(struct drive *drive) {
    struct launch_setup setup;
    set_up(drive, &setup);
    drive->client = control_client_create(&setup);
}

static void tell_setup(struct drive *drive) {
    struct launch_setup setup;
    set_up(drive, &setup);
    give(drive, (struct mailbox_command){.kind = COMMAND_SET_UP, .setup = setup});
}

static void offer(struct drive *drive) {
    give(drive,
         (struct mailbox_command){.kind = COMMAND_OFFER,
                                  .json = json_pack("{s:[{s:s, s:{s:s}}]}", "tools", "name", "echo",
                                                    "inputSchema", "type", "object")});
}

static bool obey_client(struct drive *drive, const char *line) {
    if (strcmp(line, "start") == 0)
        give(drive, (struct mailbox_command){.kind = COMMAND_START});
    else if (strcmp(line, "stop") == 0)
        give(drive, (struct mailbox_command){.kind = COMMAND_STOP});
    else if (strcmp(line, "force") == 0)
        give(drive, (struct mailbox_command){.kind = COMMAND_STOP, .force = true});
    else if (strcmp(line, "restart") == 0)
        give(drive, (struct mailbox_command){.kind = COMMAND_RESTART});
    else if (strcmp(line, "activate") == 0)
        give(drive, (struct mailbox_command){.kind = COMMAND_ACTIVATE});
    else if (strcmp(line, "offer") == 0)
        offer(drive);
    else if (strcmp(line, "setup") == 0)
        tell_setup(drive);
    else if (strncmp(line, "leave ", 6) == 0)
        leave(drive, line + 6, false);
    else if (strncmp(line, "hurry ", 6) == 0)
        leave(drive, line + 6, true);
    else if (strcmp(line, "destroy") == 0)
        destroy(drive);
    else
        return false;
    return true;
}

static bool obey(const char *line, size_t length, void *context) {
    struct drive *drive = context;
    (void)length;
    if (strcmp(line, "new") == 0 && !drive->client)
        make(drive);
    else if (strcmp(line, "files") == 0)
        count_files();
    else if (strncmp(line, "nap ", 4) == 0)
        drive->nap_until = os_clock_ms() + strtol(line + 4, NULL, 10);
    else if (strncmp(line, "sleep ", 6) == 0)
        uv_sleep((unsigned)strtoul(line + 6, NULL, 10));
    else if (!drive->client || !obey_client(drive, line))
        abort(); /* a test's mistake */
    while (os_clock_ms() < drive->nap_until) {
        frame(drive);
        uv_sleep(FRAME_MS);
    }
    return true;
}

static void on_frame(uv_timer_t *timer) {
    frame(timer->data);
}

static void on_alloc(uv_handle_t *handle, size_t suggested, uv_buf_t *buf) {
    struct drive *drive = handle->data;
    (void)suggested;
    *buf = uv_buf_init(drive->buffer, sizeof drive->buffer);
}

static void on_input(uv_stream_t *stream, ssize_t count, const uv_buf_t *buf) {
    struct drive *drive = stream->data;
    if (count < 0)
        uv_stop(&drive->loop);
    else if (count > 0)
        lines_feed(&drive->lines, buf->base, (size_t)count, obey, drive);
}

static void run(struct drive *drive) {
    drive->input.data = drive->frames.data = drive;
    if (uv_loop_init(&drive->loop) < 0 || uv_pipe_init(&drive->loop, &drive->input, 0) < 0 ||
        uv_pipe_open(&drive->input, 0) < 0 || uv_timer_init(&drive->loop, &drive->frames) < 0)
        abort();
    uv_timer_start(&drive->frames, on_frame, 0, FRAME_MS);
    uv_read_start((uv_stream_t *)&drive->input, on_alloc, on_input);
    uv_run(&drive->loop, UV_RUN_DEFAULT);
}

int main(int argc, char **argv) {
    static struct drive drive;
    if (argc < 2)
        return 2;
    drive.words = argv + 1;
    run(&drive);
    buffer_finish(&drive.lines);
    if (drive.client) {
        leave(&drive, "-", true);
        destroy(&drive);
    }
    return 0;
}
