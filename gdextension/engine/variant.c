#include "variant.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    DEPTH_MOST = 64,
    VALUES_MOST = 4 * 1024 * 1024, /* containers that hold each other become many */
};

/* ---- making and ending ---- */

void variant_init_nil(struct engine_variant *out) {
    engine.variant_new_nil(out);
}

void variant_init_native(struct engine_variant *out, GDExtensionVariantType type,
                         GDExtensionConstTypePtr native) {
    if (type == GDEXTENSION_VARIANT_TYPE_NIL)
        engine.variant_new_nil(out);
    else /* it is only read; the type in C lacks the const */
        engine.get_variant_from_type_constructor(type)(out, (void *)(uintptr_t)native);
}

void variant_init_bool(struct engine_variant *out, bool value) {
    uint8_t native = value;
    variant_init_native(out, GDEXTENSION_VARIANT_TYPE_BOOL, &native);
}

void variant_init_int(struct engine_variant *out, int64_t value) {
    variant_init_native(out, GDEXTENSION_VARIANT_TYPE_INT, &value);
}

void variant_init_text(struct engine_variant *out, const char *text) {
    struct engine_string string;
    engine_string_init(&string, text);
    variant_init_native(out, GDEXTENSION_VARIANT_TYPE_STRING, &string);
    engine_string_finish(&string);
}

void variant_init_object(struct engine_variant *out, GDExtensionObjectPtr object) {
    variant_init_native(out, GDEXTENSION_VARIANT_TYPE_OBJECT, &object);
}

void variant_init_empty(struct engine_variant *out, GDExtensionVariantType type) {
    GDExtensionCallError error;
    engine.variant_construct(type, out, NULL, 0, &error);
}

void variant_init_converted(struct engine_variant *out, GDExtensionVariantType type,
                            const struct engine_variant *from) {
    GDExtensionConstVariantPtr arguments[] = {from};
    GDExtensionCallError error = {0};
    if (variant_type(from) == type) {
        engine.variant_new_copy(out, from);
        return;
    }
    if (engine.variant_can_convert_strict(variant_type(from), type)) {
        engine.variant_construct(type, out, arguments, 1, &error);
        if (error.error == GDEXTENSION_CALL_OK)
            return;
        variant_finish(out);
    }
    variant_init_empty(out, type);
}

void variant_make_native(GDExtensionUninitializedTypePtr out, GDExtensionVariantType type,
                         const struct engine_variant *from) {
    struct engine_variant converted;
    variant_init_converted(&converted, type, from);
    engine.get_variant_to_type_constructor(type)(out, &converted);
    variant_finish(&converted);
}

void variant_assign_native(GDExtensionTypePtr target, GDExtensionVariantType type,
                           const struct engine_variant *from) {
    engine_value_finish(target, type);
    variant_make_native(target, type, from);
}

void variant_finish(struct engine_variant *variant) {
    engine.variant_destroy(variant);
}

/* ---- reading ---- */

GDExtensionVariantType variant_type(const struct engine_variant *variant) {
    return engine.variant_get_type(variant);
}

bool variant_is_true(const struct engine_variant *variant) {
    return engine.variant_booleanize(variant);
}

int64_t variant_int(const struct engine_variant *variant) {
    int64_t value = 0;
    variant_make_native(&value, GDEXTENSION_VARIANT_TYPE_INT, variant);
    return value;
}

static double variant_real(const struct engine_variant *variant) {
    double value = 0;
    variant_make_native(&value, GDEXTENSION_VARIANT_TYPE_FLOAT, variant);
    return value;
}

char *variant_text(const struct engine_variant *variant) {
    struct engine_string string;
    GDExtensionInt length;
    char *text;
    engine.variant_stringify(variant, &string);
    length = engine.string_to_utf8_chars(&string, NULL, 0);
    text = malloc((size_t)length + 1);
    if (!text)
        abort(); /* the engine aborts itself when memory is gone */
    engine.string_to_utf8_chars(&string, text, length);
    text[length] = 0;
    engine_string_finish(&string);
    return text;
}

void variant_each(const struct engine_variant *container,
                  void (*fn)(const struct engine_variant *element, void *context), void *context) {
    struct engine_variant at, element;
    GDExtensionBool valid = false;
    GDExtensionBool more;
    variant_init_nil(&at);
    for (more = engine.variant_iter_init(container, &at, &valid); more && valid;
         more = engine.variant_iter_next(container, &at, &valid)) {
        engine.variant_iter_get(container, &at, &element, &valid);
        if (valid)
            fn(&element, context);
        variant_finish(&element);
    }
    variant_finish(&at);
}

void variant_init_member(struct engine_variant *out, const struct engine_variant *container,
                         const char *key) {
    struct engine_variant name;
    GDExtensionBool valid = false;
    variant_init_text(&name, key);
    engine.variant_get(container, &name, out, &valid);
    if (!valid) {
        variant_finish(out);
        variant_init_nil(out);
    }
    variant_finish(&name);
}

/* ---- calls ---- */

bool variant_call(struct engine_variant *self, const char *method,
                  const struct engine_variant *arguments, int count,
                  struct engine_variant *result) {
    struct engine_name name;
    struct engine_variant returned;
    GDExtensionConstVariantPtr pointers[VARIANT_MAX_ARGUMENTS];
    GDExtensionCallError error = {0};
    for (int i = 0; i < count; i++)
        pointers[i] = &arguments[i];
    engine_name_init(&name, method);
    engine.variant_call(self, &name, pointers, count, &returned, &error);
    engine_name_finish(&name);
    if (result)
        *result = returned;
    else
        variant_finish(&returned);
    return error.error == GDEXTENSION_CALL_OK;
}

bool singleton_call(const char *singleton, const char *method,
                    const struct engine_variant *arguments, int count,
                    struct engine_variant *result) {
    struct engine_name name;
    struct engine_variant self;
    bool ok;
    engine_name_init(&name, singleton);
    variant_init_object(&self, engine.global_get_singleton(&name));
    engine_name_finish(&name);
    ok = variant_call(&self, method, arguments, count, result);
    variant_finish(&self);
    return ok;
}

static bool take_truth(struct engine_variant *value) {
    bool yes = variant_is_true(value);
    variant_finish(value);
    return yes;
}

bool variant_says(struct engine_variant *self, const char *method) {
    struct engine_variant result;
    variant_call(self, method, NULL, 0, &result);
    return take_truth(&result);
}

bool singleton_says(const char *singleton, const char *method) {
    struct engine_variant result;
    singleton_call(singleton, method, NULL, 0, &result);
    return take_truth(&result);
}

char *singleton_text(const char *singleton, const char *method,
                     const struct engine_variant *arguments, int count) {
    struct engine_variant result;
    char *text;
    singleton_call(singleton, method, arguments, count, &result);
    text = variant_text(&result);
    variant_finish(&result);
    return text;
}

/* ---- JSON ---- */

static json_t *to_json(const struct engine_variant *variant, int depth, size_t *left);

struct collecting {
    json_t *into;
    const struct engine_variant *container; /* of keys */
    int depth;
    size_t *left;   /* values that may still come */
    bool is_single; /* its numbers have 32 bits */
};

/* What is kept in 32 bits comes with digits that nobody wrote: 0.7 is 0.699999988079071 then. */
static double shortest_single(double value) {
    char text[32];
    for (int digits = 6; digits < 9; digits++) {
        snprintf(text, sizeof text, "%.*g", digits, value);
        if ((float)strtod(text, NULL) == (float)value)
            return strtod(text, NULL);
    }
    return value;
}

static void add_element(const struct engine_variant *element, void *context) {
    const struct collecting *collecting = context;
    json_t *json = to_json(element, collecting->depth, collecting->left);
    if (collecting->is_single && json_is_real(json))
        json_real_set(json, shortest_single(json_real_value(json)));
    json_array_append_new(collecting->into, json);
}

static void add_member(const struct engine_variant *key, void *context) {
    const struct collecting *collecting = context;
    struct engine_variant value;
    GDExtensionBool valid = false;
    char *name = variant_text(key);
    engine.variant_get(collecting->container, key, &value, &valid);
    json_object_set_new(collecting->into, name,
                        to_json(&value, collecting->depth, collecting->left));
    variant_finish(&value);
    free(name);
}

static json_t *text_json(const struct engine_variant *variant) {
    char *text = variant_text(variant);
    json_t *json =
        json_string(text); /* NULL if it is no UTF-8, which the engine's text always is */
    free(text);
    return json ? json : json_null();
}

static json_t *real_json(double value) {
    return isfinite(value) ? json_real(value) : json_null();
}

static bool is_array(GDExtensionVariantType type) {
    return type == GDEXTENSION_VARIANT_TYPE_ARRAY ||
           (type >= GDEXTENSION_VARIANT_TYPE_PACKED_BYTE_ARRAY &&
            type <= GDEXTENSION_VARIANT_TYPE_PACKED_VECTOR4_ARRAY);
}

static json_t *to_json(const struct engine_variant *variant, int depth, size_t *left) {
    GDExtensionVariantType type = variant_type(variant);
    struct collecting collecting = {NULL, variant, depth - 1, left,
                                    type == GDEXTENSION_VARIANT_TYPE_PACKED_FLOAT32_ARRAY};
    if (type == GDEXTENSION_VARIANT_TYPE_NIL || depth == 0 || *left == 0)
        return json_null();
    --*left;
    if (type == GDEXTENSION_VARIANT_TYPE_BOOL)
        return json_boolean(variant_is_true(variant));
    if (type == GDEXTENSION_VARIANT_TYPE_INT)
        return json_integer(variant_int(variant));
    if (type == GDEXTENSION_VARIANT_TYPE_FLOAT)
        return real_json(variant_real(variant));
    if (is_array(type)) {
        collecting.into = json_array();
        variant_each(variant, add_element, &collecting);
        return collecting.into;
    }
    if (type == GDEXTENSION_VARIANT_TYPE_DICTIONARY) {
        collecting.into = json_object();
        variant_each(variant, add_member, &collecting);
        return collecting.into;
    }
    return text_json(variant);
}

json_t *variant_json(const struct engine_variant *variant) {
    size_t left = VALUES_MOST;
    return to_json(variant, DEPTH_MOST, &left);
}

static void init_array(struct engine_variant *out, const json_t *json) {
    variant_init_empty(out, GDEXTENSION_VARIANT_TYPE_ARRAY);
    for (size_t i = 0; i < json_array_size(json); i++) {
        struct engine_variant element;
        variant_init_json(&element, json_array_get(json, i));
        variant_call(out, "append", &element, 1, NULL);
        variant_finish(&element);
    }
}

static void init_dictionary(struct engine_variant *out, const json_t *json) {
    const char *name;
    json_t *member;
    variant_init_empty(out, GDEXTENSION_VARIANT_TYPE_DICTIONARY);
    json_object_foreach((json_t *)(uintptr_t)json, name, member) { /* only read */
        struct engine_variant key, value;
        GDExtensionBool valid;
        variant_init_text(&key, name);
        variant_init_json(&value, member);
        engine.variant_set(out, &key, &value, &valid);
        variant_finish(&value);
        variant_finish(&key);
    }
}

/* The engine's strings end at a NUL: in its place comes the character for what cannot be shown. */
static void init_string(struct engine_variant *out, const json_t *json) {
    static const char replacement[] = "\xef\xbf\xbd";
    const char *text = json_string_value(json);
    size_t length = json_string_length(json), used = 0;
    char *copy;
    if (strlen(text) == length) {
        variant_init_text(out, text);
        return;
    }
    copy = malloc(length * strlen(replacement) + 1);
    if (!copy)
        abort();
    for (size_t i = 0; i < length; i++) {
        size_t count = text[i] ? 1 : strlen(replacement);
        memcpy(copy + used, text[i] ? text + i : replacement, count);
        used += count;
    }
    copy[used] = 0;
    variant_init_text(out, copy);
    free(copy);
}

void variant_init_json(struct engine_variant *out, const json_t *json) {
    const double real = json_real_value(json);
    if (json_is_object(json))
        init_dictionary(out, json);
    else if (json_is_array(json))
        init_array(out, json);
    else if (json_is_string(json))
        init_string(out, json);
    else if (json_is_integer(json))
        variant_init_int(out, json_integer_value(json));
    else if (json_is_real(json))
        variant_init_native(out, GDEXTENSION_VARIANT_TYPE_FLOAT, &real);
    else if (json_is_boolean(json))
        variant_init_bool(out, json_is_true(json));
    else
        variant_init_nil(out);
}
