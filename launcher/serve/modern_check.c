#include "modern_check.h"

#include <string.h>

#include "../utf8.h"
#include "mcp.h"

static int complain(char *text, size_t size, int code, const char *complaint) {
    snprintf(text, size, "%s", complaint);
    return code;
}

static int mismatch(char *text, size_t size, const char *header, const char *value,
                    const char *body) {
    if (!value)
        snprintf(text, size, "Header mismatch: %s is missing", header);
    else
        snprintf(text, size, "Header mismatch: %s does not match the body (%.*s)", header,
                 (int)utf8_cut(body, 100), body);
    return MCP_HEADER_MISMATCH;
}

static bool is_printable(const char *value) {
    for (; *value; value++)
        if ((*value < ' ' && *value != '\t') || *value > '~')
            return false;
    return true;
}

bool modern_value_matches(const char *header, const char *text) {
    static const char head[] = "=?base64?", tail[] = "?=";
    size_t length = strlen(header), around = sizeof head - 1 + sizeof tail - 1;
    struct buffer decoded = {0};
    bool same;
    if (!is_printable(header))
        return false;
    if (length < around || strncmp(header, head, sizeof head - 1) != 0 ||
        strcmp(header + length - (sizeof tail - 1), tail) != 0)
        return strcmp(header, text) == 0;
    same = base64_decode(&decoded, header + sizeof head - 1, length - around) && !decoded.failed &&
           decoded.length == strlen(text) &&
           (decoded.length == 0 || memcmp(decoded.data, text, decoded.length) == 0);
    buffer_finish(&decoded);
    return same;
}

/* What Mcp-Name repeats, for the methods that have it. */
static const char *name_of(const struct rpc_message *message) {
    if (strcmp(message->method, "tools/call") == 0 || strcmp(message->method, "prompts/get") == 0)
        return rpc_text(message->params, "name");
    if (strcmp(message->method, "resources/read") == 0)
        return rpc_text(message->params, "uri");
    return NULL;
}

static int check_meta(const json_t *meta, char *text, size_t size) {
    if (!json_is_object(meta))
        return complain(text, size, RPC_INVALID_PARAMS, "params must have \"_meta\"");
    if (!rpc_text(meta, META_VERSION))
        return complain(text, size, RPC_INVALID_PARAMS, "_meta must have \"" META_VERSION "\"");
    if (!json_is_object(json_object_get(meta, META_CAPABILITIES)))
        return complain(text, size, RPC_INVALID_PARAMS,
                        "_meta must have \"" META_CAPABILITIES "\"");
    return 0;
}

int modern_check(const struct modern_headers *headers, const struct rpc_message *message,
                 const json_t *meta, char *text, size_t size) {
    int code = check_meta(meta, text, size);
    const char *version = rpc_text(meta, META_VERSION), *name;
    if (code != 0)
        return code;
    if (!headers->version || strcmp(headers->version, version) != 0)
        return mismatch(text, size, "MCP-Protocol-Version", headers->version, version);
    if (strcmp(version, MCP_MODERN) != 0)
        return complain(text, size, MCP_UNSUPPORTED_VERSION, "Unsupported protocol version");
    if (!headers->method || strcmp(headers->method, message->method) != 0)
        return mismatch(text, size, "Mcp-Method", headers->method, message->method);
    name = name_of(message);
    if (name && (!headers->name || !modern_value_matches(headers->name, name)))
        return mismatch(text, size, "Mcp-Name", headers->name, name);
    return 0;
}
