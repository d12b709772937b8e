#include "stateless_check.h"

#include <stdlib.h>
#include <string.h>

#include "base64.h"
#include "caseless.h"
#include "mcp.h"
#include "utf8.h"

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
    same = base64_decode(&decoded, BASE64, header + sizeof head - 1, length - around) &&
           !decoded.failed && decoded.length == strlen(text) &&
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

/* ---- x-mcp-header ---- */

enum { SCHEMA_DEPTH_MOST = 16 };

struct parameters {
    const struct http_parameter *given;
    size_t count;
    char *text;
    size_t size;
};

static const char *given_value(const struct parameters *all, const char *name) {
    for (size_t i = 0; i < all->count; i++)
        if (caseless_equal(all->given[i].name, name))
            return all->given[i].value;
    return NULL;
}

static bool is_same_number(const char *header, json_int_t number) {
    char *end;
    double value = strtod(header, &end);
    return end != header && *end == 0 && is_printable(header) && value == (double)number;
}

static bool value_is_repeated(const char *header, const json_t *value) {
    if (json_is_string(value))
        return strlen(json_string_value(value)) == json_string_length(value) &&
               modern_value_matches(header, json_string_value(value));
    if (json_is_integer(value))
        return is_same_number(header, json_integer_value(value));
    return json_is_boolean(value) && strcmp(header, json_is_true(value) ? "true" : "false") == 0;
}

static int check_one(const struct parameters *all, const char *name, const json_t *value) {
    const char *header = given_value(all, name);
    char full[96];
    bool absent = !value || json_is_null(value);
    if (absent ? !header : header && value_is_repeated(header, value))
        return 0;
    snprintf(full, sizeof full, "Mcp-Param-%.*s", (int)utf8_cut(name, 60), name);
    return mismatch(all->text, all->size, full, header, "the argument of the tool");
}

/* Only what chains of "properties" lead to can have a header. */
static int check_level(const struct parameters *all, const json_t *schema, const json_t *arguments,
                       int depth) {
    const char *key;
    json_t *property;
    json_object_foreach(json_object_get(schema, "properties"), key, property) {
        const char *name = rpc_text(property, "x-mcp-header");
        const json_t *value = json_object_get(arguments, key);
        int code = name ? check_one(all, name, value) : 0;
        if (code == 0 && depth > 0)
            code = check_level(all, property, value, depth - 1);
        if (code != 0)
            return code;
    }
    return 0;
}

int modern_check_parameters(const struct http_parameter *given, size_t count, const json_t *schema,
                            const json_t *arguments, char *text, size_t size) {
    const struct parameters all = {given, count, text, size};
    return check_level(&all, schema, arguments, SCHEMA_DEPTH_MOST);
}
