/* The modern era: every request says all about itself; POST only. */
#include <string.h>

#include "caller.h"
#include "serve/relay/calls.h"
#include "stateless_check.h"
#include "subscriptions.h"

static bool is_date(const char *text) {
    static const char form[] = "0000-00-00";
    size_t i = 0;
    for (; text[i] && form[i]; i++)
        if (form[i] == '0' ? text[i] < '0' || text[i] > '9' : text[i] != form[i])
            return false;
    return text[i] == 0 && form[i] == 0;
}

bool modern_is_meant(const char *version_header, const json_t *meta) {
    if (json_object_get(meta, META_VERSION))
        return true;
    return version_header && is_date(version_header) && strcmp(version_header, MCP_MODERN) >= 0;
}

static json_t *supported(const json_t *meta) {
    return json_pack("{s:[s, s, s, s], s:O}", "supported", MCP_MODERN, "2025-11-25", "2025-06-18",
                     "2025-03-26", "requested", json_object_get(meta, META_VERSION));
}

static void discover(struct mcp_request *request) {
    struct buffer members = {0};
    buffer_add_literal(&members, "\"supportedVersions\":[\"" MCP_MODERN
                                 "\",\"2025-11-25\",\"2025-06-18\",\"2025-03-26\"],");
    mcp_add_capabilities(&members, request, request->serve->offers);
    mcp_reply_members(request, true, members.data, members.length);
    buffer_finish(&members);
}

static void run(struct mcp_request *request) {
    static const struct mcp_method methods[] = {
        {"server/discover", discover, 0},
        {"subscriptions/listen", listen_start, 0},
    };
    if (!mcp_run(request, methods, sizeof methods / sizeof methods[0]))
        mcp_run_shared(request);
}

void modern_post(struct mcp_request *request) {
    struct error err;
    if (request->serve->selections)
        caller_name(request);
    if (request->message.kind == RPC_NOTIFICATION)
        mcp_accepted(request);
    else if (request->message.kind == RPC_RESPONSE)
        mcp_reply_refusal(request, 400, "clients send no responses in this protocol version");
    else if (modern_check(request->http, &request->message, request->meta, &err) == 0)
        run(request);
    else
        mcp_reply_status(request, 400, err.code, err.message,
                         err.code == MCP_UNSUPPORTED_VERSION ? supported(request->meta) : NULL);
}
