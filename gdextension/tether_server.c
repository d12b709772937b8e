#include "tether_server.h"

#include "protocol/version.h"

#define COUNT(table) (sizeof(table) / sizeof(table)[0])
#define INT          GDEXTENSION_VARIANT_TYPE_INT
#define STRING       GDEXTENSION_VARIANT_TYPE_STRING

struct tether_server {
    int64_t http_port;
};

static void server_init(void *self) {
    struct tether_server *server = self;
    server->http_port = 8000;
}

static void get_http_port(void *self, const GDExtensionConstTypePtr *arguments,
                          GDExtensionTypePtr result) {
    const struct tether_server *server = self;
    (void)arguments;
    *(int64_t *)result = server->http_port;
}

static void set_http_port(void *self, const GDExtensionConstTypePtr *arguments,
                          GDExtensionTypePtr result) {
    struct tether_server *server = self;
    (void)result;
    server->http_port = *(const int64_t *)arguments[0];
}

static void get_version(void *self, const GDExtensionConstTypePtr *arguments,
                        GDExtensionTypePtr result) {
    (void)self;
    (void)arguments;
    engine_string_assign(result, tether_version);
}

static const struct class_method methods[] = {
    {"get_http_port", get_http_port, .result = INT, .is_const = true},
    {"set_http_port", set_http_port, .argument_count = 1, .arguments = {{"port", INT}}},
    {"get_version", get_version, .result = STRING, .is_const = true},
};

static const struct class_property properties[] = {
    {"http_port", INT, "get_http_port", "set_http_port"},
};

static const struct class_signal signals[] = {
    {"state_changed", 1, {{"state", STRING}}},
};

const struct class_description tether_server_class = {
    .name = "TetherServer",
    .parent = "RefCounted",
    .instance_size = sizeof(struct tether_server),
    .init = server_init,
    .methods = methods,
    .method_count = COUNT(methods),
    .properties = properties,
    .property_count = COUNT(properties),
    .signals = signals,
    .signal_count = COUNT(signals),
};
