#include "request_head.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base64.h"

static bool is_plain(const char *value) {
    size_t length = strlen(value);
    if (length > 0 && (value[0] == ' ' || value[length - 1] == ' '))
        return false;
    for (size_t i = 0; i < length; i++)
        if ((unsigned char)value[i] < 0x20 || (unsigned char)value[i] > 0x7e)
            return false;
    return strncmp(value, "=?base64?", 9) != 0;
}

void head_add_value(struct buffer *out, const char *value) {
    if (is_plain(value)) {
        buffer_add_text(out, value);
        return;
    }
    buffer_add_text(out, "=?base64?");
    base64_add(out, BASE64, value, strlen(value));
    buffer_add_text(out, "?=");
}

bool head_is_modern(const struct scan *scan) {
    return scan_is_string(&scan->spans[SCAN_VERSION]);
}

static void add_header(struct buffer *out, const char *name, const char *value) {
    if (!value || !value[0])
        return;
    buffer_add_text(out, name);
    buffer_add(out, ": ", 2);
    head_add_value(out, value);
    buffer_add(out, "\r\n", 2);
}

/* What the message names: a tool, a prompt, a resource. */
static const struct scan_span *named(const struct scan *scan) {
    const struct scan_span *method = &scan->spans[SCAN_METHOD];
    if (scan_is(method, "tools/call") || scan_is(method, "prompts/get"))
        return &scan->spans[SCAN_NAME];
    return scan_is(method, "resources/read") ? &scan->spans[SCAN_URI] : NULL;
}

static void add_scanned(struct buffer *out, const char *name, const struct scan_span *text) {
    char value[SCAN_TEXT_MAX];
    if (text && scan_decode(text, value, sizeof value))
        add_header(out, name, value);
}

/* The stateless era wants in the head what decides where the message goes. A notification says no
 * version itself; then the connection's counts. */
static void add_routing(struct buffer *out, const struct head *head) {
    char version[SCAN_TEXT_MAX];
    bool modern = head->scan && head_is_modern(head->scan) &&
                  scan_decode(&head->scan->spans[SCAN_VERSION], version, sizeof version);
    add_header(out, "MCP-Protocol-Version", modern ? version : head->version);
    if (!modern)
        add_header(out, "Mcp-Session-Id", head->session);
    if (!head->scan || (!modern && head->session && head->session[0]))
        return;
    add_scanned(out, "Mcp-Method", &head->scan->spans[SCAN_METHOD]);
    add_scanned(out, "Mcp-Name", named(head->scan));
}

void head_write(struct buffer *out, const struct head *head) {
    buffer_format(out, "%s /mcp%s HTTP/1.1\r\nHost: 127.0.0.1:%u\r\n", head->method,
                  head->target ? head->target : "", (unsigned)head->port);
    add_routing(out, head);
    add_header(out, "Last-Event-ID", head->last_event);
    if (head->token && head->token[0]) {
        buffer_add_text(out, "Authorization: Bearer ");
        head_add_value(out, head->token);
        buffer_add(out, "\r\n", 2);
    }
    if (head->more && head->more->length > 0)
        buffer_add(out, head->more->data, head->more->length);
    if (head->body > 0)
        buffer_format(out,
                      "Content-Type: application/json\r\nContent-Length: %" PRIu64 "\r\n"
                      "Accept: application/json, text/event-stream\r\n\r\n",
                      (uint64_t)head->body);
    else
        buffer_add_literal(out, "Accept: text/event-stream\r\n\r\n");
}
