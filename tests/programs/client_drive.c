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

#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "os/os.h"
#include "protocol/lines.h"
#include "protocol/message.h"

enum { FRAME_MS = 5 };

struct drive {
    struct control_client *client;
    char **words;
    int64_t nap_until;
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

static void tell(const struct drive *drive, struct mailbox_command command) {
    control_client_tell(drive->client, command);
}

static void answer(struct drive *drive, const struct control_event *event) {
    char *text = answer_text(json_object_get(event->json, "arguments"));
    tell(drive,
         (struct mailbox_command){.kind = COMMAND_ANSWER,
                                  .call = event->number,
                                  .json = json_pack("{s:[{s:s, s:s}]}", "content", "type", "text",
                                                    "text", text ? text : "nothing")});
    free(text);
}

static void print_event(struct drive *drive, const struct control_event *event) {
    char *json = event->json ? json_dumps(event->json, JSON_COMPACT) : NULL;
    if (event->kind == CONTROL_STATE)
        printf("state %s %s\n", event->text, json ? json : "");
    else if (event->kind == CONTROL_FAILED)
        printf("failed %d %s\n", (int)event->number, event->text);
    else if (event->kind == CONTROL_REFUSED)
        printf("refused %s\n", event->text);
    else if (event->kind == CONTROL_ADOPTED)
        printf("adopted %d\n", (int)event->number);
    else if (event->kind == CONTROL_LOG && strcmp(event->stream, "launcher") == 0)
        printf("launcher %s\n", event->text);
    else if (event->kind == CONTROL_BRIDGE)
        printf("bridge %s\n", event->text);
    else if (event->kind == CONTROL_CALL)
        printf("call %d %s\n", (int)event->number, message_text(event->json, "name"));
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
    tell(drive, (struct mailbox_command){
                    .kind = COMMAND_LEAVE, .reason = control_reason(reason), .hurry = hurry});
}

static void destroy(struct drive *drive) {
    int64_t began = os_clock_ms();
    control_client_destroy(drive->client);
    drive->client = NULL;
    printf("destroyed %d\n", (int)(os_clock_ms() - began));
}

static void count_files(void) {
    int count = 0;
    struct pollfd file = {.events = 0};
    for (file.fd = 0; file.fd < 256; file.fd++)
        count += poll(&file, 1, 0) >= 0 && !(file.revents & POLLNVAL);
    printf("files %d\n", count);
}

static void make(struct drive *drive) {
    struct launch_setup setup;
    set_up(drive, &setup);
    drive->client = control_client_create(&setup);
}

static void tell_setup(struct drive *drive) {
    struct launch_setup setup;
    set_up(drive, &setup);
    tell(drive, (struct mailbox_command){.kind = COMMAND_SET_UP, .setup = setup});
}

static void offer(struct drive *drive) {
    tell(drive,
         (struct mailbox_command){.kind = COMMAND_OFFER,
                                  .json = json_pack("{s:[{s:s, s:{s:s}}]}", "tools", "name", "echo",
                                                    "inputSchema", "type", "object")});
}

static bool obey_client(struct drive *drive, const char *line) {
    if (strcmp(line, "start") == 0)
        tell(drive, (struct mailbox_command){.kind = COMMAND_START});
    else if (strcmp(line, "stop") == 0)
        tell(drive, (struct mailbox_command){.kind = COMMAND_STOP});
    else if (strcmp(line, "force") == 0)
        tell(drive, (struct mailbox_command){.kind = COMMAND_STOP, .force = true});
    else if (strcmp(line, "restart") == 0)
        tell(drive, (struct mailbox_command){.kind = COMMAND_RESTART});
    else if (strcmp(line, "activate") == 0)
        tell(drive, (struct mailbox_command){.kind = COMMAND_ACTIVATE});
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
        poll(NULL, 0, (int)strtol(line + 6, NULL, 10));
    else if (!drive->client || !obey_client(drive, line))
        abort(); /* a test's mistake */
    while (os_clock_ms() < drive->nap_until) {
        frame(drive);
        poll(NULL, 0, FRAME_MS);
    }
    return true;
}

int main(int argc, char **argv) {
    struct drive drive = {.words = argv + 1};
    struct buffer lines = {0};
    struct pollfd input = {.fd = 0, .events = POLLIN};
    char buffer[4096];
    int64_t count = 1;
    setvbuf(stdout, NULL, _IOLBF, 0);
    if (argc < 2)
        return 2;
    while (count > 0) {
        frame(&drive);
        if (poll(&input, 1, FRAME_MS) > 0) {
            count = os_read(0, buffer, sizeof buffer);
            if (count > 0)
                lines_feed(&lines, buffer, (size_t)count, obey, &drive);
        }
    }
    buffer_finish(&lines);
    if (drive.client) {
        leave(&drive, "-", true);
        destroy(&drive);
    }
    return 0;
}
