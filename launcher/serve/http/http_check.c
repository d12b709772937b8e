#include "http_check.h"

#include <string.h>

#include <uv.h>

#include "caseless.h"

static const char *const header_names[HTTP_HEADER_COUNT] = {
    [HTTP_HOST] = "host",
    [HTTP_ACCEPT] = "accept",
    [HTTP_CONTENT_TYPE] = "content-type",
    [HTTP_SESSION_ID] = "mcp-session-id",
    [HTTP_PROTOCOL_VERSION] = "mcp-protocol-version",
    [HTTP_MCP_METHOD] = "mcp-method",
    [HTTP_MCP_NAME] = "mcp-name",
    [HTTP_ORIGIN] = "origin",
    [HTTP_AUTHORIZATION] = "authorization",
    [HTTP_EXPECT] = "expect",
    [HTTP_TRANSFER_ENCODING] = "transfer-encoding",
    [HTTP_LAST_EVENT_ID] = "last-event-id",
    [HTTP_CONTENT_LENGTH] = "content-length",
    [HTTP_CONNECTION] = "connection",
    [HTTP_UPGRADE] = "upgrade",
    [HTTP_WEBSOCKET_VERSION] = "sec-websocket-version",
    [HTTP_WEBSOCKET_KEY] = "sec-websocket-key",
};

enum http_header http_header_of(const char *name, size_t length) {
    enum http_header header = 0;
    while (header < HTTP_HEADER_COUNT &&
           (header_names[header][0] != (name[0] | 0x20) || strlen(header_names[header]) != length ||
            !caseless_equal_n(header_names[header], name, length)))
        header++;
    return header;
}

static bool take_v4_loopback(const char **at) {
    char address[16];
    unsigned char bytes[4];
    size_t length = strspn(*at, "0123456789.");
    if (length >= sizeof address)
        return false;
    memcpy(address, *at, length);
    address[length] = 0;
    *at += length;
    return uv_inet_pton(AF_INET, address, bytes) == 0 && bytes[0] == 127;
}

/* Moves past a name or address of the loopback. */
static bool take_loopback(const char **at) {
    static const char *const names[] = {"localhost", "[::1]"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        size_t length = strlen(names[i]);
        if (caseless_equal_n(*at, names[i], length)) {
            *at += length;
            return true;
        }
    }
    return take_v4_loopback(at);
}

/* The end, or a colon and a port. -1: neither; 0: no port. */
static int take_port(const char *at) {
    int port = 0, digits = 0;
    if (*at == 0)
        return 0;
    if (*at++ != ':')
        return -1;
    for (; *at >= '0' && *at <= '9' && digits < 6; digits++)
        port = port * 10 + (*at++ - '0');
    return *at == 0 && digits > 0 && port > 0 && port <= UINT16_MAX ? port : -1;
}

bool http_host_is_ours(const char *host, uint16_t port) {
    int given;
    if (!take_loopback(&host))
        return false;
    given = take_port(host);
    return given == 0 || given == port;
}

bool http_origin_is_ours(const char *origin, const char *host, uint16_t port) {
    static const char scheme[] = "http://";
    const char *name = origin + sizeof scheme - 1, *end = name;
    size_t length;
    int given;
    if (!caseless_equal_n(origin, scheme, sizeof scheme - 1) || !take_loopback(&end))
        return false;
    length = (size_t)(end - name);
    given = take_port(end);
    return (given == port || (given == 0 && port == 80)) && caseless_equal_n(name, host, length) &&
           (host[length] == 0 || host[length] == ':');
}

/* Whether the element, without its parameters, is this type or a range that includes it. */
static bool includes(const char *element, size_t length, const char *type) {
    const char *slash = strchr(type, '/');
    size_t major = (size_t)(slash - type);
    if (length == 3 && strncmp(element, "*/*", 3) == 0)
        return true;
    if (length == major + 2 && caseless_equal_n(element, type, major + 1) &&
        element[length - 1] == '*')
        return true;
    return length == strlen(type) && caseless_equal_n(element, type, length);
}

bool http_accepts(const char *accept, const char *type) {
    if (!accept)
        return true;
    while (*accept) {
        size_t length;
        accept += strspn(accept, ", \t");
        length = strcspn(accept, ",; \t");
        if (length > 0 && includes(accept, length, type))
            return true;
        accept += strcspn(accept, ",");
    }
    return false;
}

bool http_is_json(const char *content_type) {
    static const char json[] = "application/json";
    size_t length = sizeof json - 1;
    return content_type && caseless_equal_n(content_type, json, length) &&
           (content_type[length] == 0 || strchr("; \t", content_type[length]));
}

bool http_token_matches(const char *authorization, const char *token) {
    size_t given, wanted = strlen(token);
    unsigned char difference = 0;
    if (!authorization || !caseless_equal_n(authorization, "Bearer ", 7))
        return false;
    authorization += 7;
    authorization += strspn(authorization, " "); /* RFC 9110: one or more between the two */
    given = strlen(authorization);
    for (size_t i = 0; i < given; i++)
        difference |= (unsigned char)(authorization[i] ^ token[wanted ? i % wanted : 0]);
    return given == wanted && wanted > 0 && difference == 0;
}

const char *http_reason(int status) {
    static const struct {
        int status;
        const char *reason;
    } reasons[] = {
        {200, "OK"},
        {101, "Switching Protocols"},
        {202, "Accepted"},
        {204, "No Content"},
        {400, "Bad Request"},
        {401, "Unauthorized"},
        {403, "Forbidden"},
        {404, "Not Found"},
        {405, "Method Not Allowed"},
        {406, "Not Acceptable"},
        {408, "Request Timeout"},
        {413, "Content Too Large"},
        {415, "Unsupported Media Type"},
        {417, "Expectation Failed"},
        {426, "Upgrade Required"},
        {431, "Request Header Fields Too Large"},
        {500, "Internal Server Error"},
        {501, "Not Implemented"},
        {503, "Service Unavailable"},
        {505, "HTTP Version Not Supported"},
    };
    for (size_t i = 0; i < sizeof reasons / sizeof reasons[0]; i++)
        if (reasons[i].status == status)
            return reasons[i].reason;
    return "";
}
