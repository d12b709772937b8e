#include "class.h"

#include <stdio.h>
#include <stdlib.h>

enum {
    PROPERTY_USAGE_STORAGE = 2,
    PROPERTY_USAGE_DEFAULT = 6, /* stored in files and shown in the inspector */
    PROPERTY_USAGE_NIL_IS_VARIANT = 1 << 17,
    PROPERTY_HINT_ENUM = 2,
    NOTIFICATION_POSTINITIALIZE = 0,
};

/* ---- names and property descriptions that live as long as one registration call ---- */

struct property_scratch {
    struct engine_name name, class_name;
    struct engine_string hint;
};

/* The engine copies what it is given; the empty class name and hint are there because it follows
 * both pointers unasked. */
static GDExtensionPropertyInfo property_init(struct property_scratch *scratch, const char *name,
                                             GDExtensionVariantType type) {
    engine_name_init(&scratch->name, name);
    engine_name_init(&scratch->class_name, "");
    engine_string_init(&scratch->hint, "");
    return (GDExtensionPropertyInfo){.type = type,
                                     .name = &scratch->name,
                                     .class_name = &scratch->class_name,
                                     .hint_string = &scratch->hint,
                                     .usage = PROPERTY_USAGE_DEFAULT};
}

static void property_finish(struct property_scratch *scratch) {
    engine_string_finish(&scratch->hint);
    engine_name_finish(&scratch->class_name);
    engine_name_finish(&scratch->name);
}

struct argument_list {
    uint32_t count;
    struct property_scratch scratch[CLASS_MAX_ARGUMENTS];
    GDExtensionPropertyInfo infos[CLASS_MAX_ARGUMENTS];
    GDExtensionClassMethodArgumentMetadata metadata[CLASS_MAX_ARGUMENTS];
};

static void argument_list_init(struct argument_list *list, const struct class_argument *arguments,
                               uint32_t count) {
    list->count = count;
    for (uint32_t i = 0; i < count; i++) {
        list->infos[i] = property_init(&list->scratch[i], arguments[i].name, arguments[i].type);
        if (arguments[i].type == GDEXTENSION_VARIANT_TYPE_NIL)
            list->infos[i].usage |= PROPERTY_USAGE_NIL_IS_VARIANT;
        list->metadata[i] = GDEXTENSION_METHOD_ARGUMENT_METADATA_NONE;
    }
}

static void argument_list_finish(struct argument_list *list) {
    for (uint32_t i = 0; i < list->count; i++)
        property_finish(&list->scratch[i]);
}

/* The engine hands user data back as it got it, but takes it without const. */
static void *as_userdata(const void *table) {
    return (void *)(uintptr_t)table;
}

/* ---- calls ---- */

static void call_error(GDExtensionCallError *error, GDExtensionCallErrorType type, int32_t argument,
                       int32_t expected) {
    *error = (GDExtensionCallError){.error = type, .argument = argument, .expected = expected};
}

/* True if the arguments fit the method's table; says in `error` what does not. */
static bool check_arguments(const struct class_method *method,
                            const GDExtensionConstVariantPtr *arguments, GDExtensionInt count,
                            GDExtensionCallError *error) {
    uint32_t most = method->argument_count, fewest = most - (method->has_default ? 1 : 0);
    if (count < fewest || count > most) {
        call_error(error,
                   count < fewest ? GDEXTENSION_CALL_ERROR_TOO_FEW_ARGUMENTS
                                  : GDEXTENSION_CALL_ERROR_TOO_MANY_ARGUMENTS,
                   0, (int32_t)(count < fewest ? fewest : most));
        return false;
    }
    for (uint32_t i = 0; i < count; i++) {
        GDExtensionVariantType given = engine.variant_get_type(arguments[i]);
        if (method->arguments[i].type != GDEXTENSION_VARIANT_TYPE_NIL &&
            given != method->arguments[i].type &&
            !engine.variant_can_convert_strict(given, method->arguments[i].type)) {
            call_error(error, GDEXTENSION_CALL_ERROR_INVALID_ARGUMENT, (int32_t)i,
                       (int32_t)method->arguments[i].type);
            return false;
        }
    }
    return true;
}

/* The default of the method's last argument. */
static void init_default(struct engine_variant *out, const struct class_method *method) {
    if (method->arguments[method->argument_count - 1].type == GDEXTENSION_VARIANT_TYPE_BOOL)
        variant_init_bool(out, method->default_value != 0);
    else
        variant_init_int(out, method->default_value);
}

/* The native form of an argument, made in `value` unless it is a Variant as it stands. */
static GDExtensionConstTypePtr argument_init(struct engine_value *value,
                                             const struct class_method *method, uint32_t i,
                                             GDExtensionConstVariantPtr given) {
    struct engine_variant fallback;
    if (given && method->arguments[i].type == GDEXTENSION_VARIANT_TYPE_NIL)
        return given;
    if (!given)
        init_default(&fallback, method);
    variant_make_native(value, method->arguments[i].type, given ? given : &fallback);
    if (!given)
        variant_finish(&fallback);
    return value;
}

static void method_call(void *userdata, GDExtensionClassInstancePtr self,
                        const GDExtensionConstVariantPtr *arguments, GDExtensionInt count,
                        GDExtensionVariantPtr result, GDExtensionCallError *error) {
    const struct class_method *method = userdata;
    struct engine_value values[CLASS_MAX_ARGUMENTS], returned;
    GDExtensionConstTypePtr pointers[CLASS_MAX_ARGUMENTS];

    if (!check_arguments(method, arguments, count, error))
        return;
    for (uint32_t i = 0; i < method->argument_count; i++)
        pointers[i] = argument_init(&values[i], method, i, i < count ? arguments[i] : NULL);
    engine_value_init(&returned, method->result);
    method->run(&(struct class_call){method, self, pointers, &returned});
    if (method->result != GDEXTENSION_VARIANT_TYPE_NIL)
        engine.get_variant_from_type_constructor(method->result)(result, &returned);
    engine_value_finish(&returned, method->result);
    for (uint32_t i = 0; i < method->argument_count; i++)
        if (pointers[i] == &values[i])
            engine_value_finish(&values[i], method->arguments[i].type);
}

static void method_ptrcall(void *userdata, GDExtensionClassInstancePtr self,
                           const GDExtensionConstTypePtr *arguments, GDExtensionTypePtr result) {
    const struct class_method *method = userdata;
    method->run(&(struct class_call){method, self, arguments, result});
}

/* ---- properties ---- */

static struct engine_variant *property_value(void *self, const struct class_property *property) {
    return (struct engine_variant *)(void *)((char *)self + property->offset);
}

static void property_value_init(void *self, const struct class_property *property) {
    struct engine_variant given;
    if (property->type == GDEXTENSION_VARIANT_TYPE_STRING)
        variant_init_text(&given, property->default_text ? property->default_text : "");
    else if (property->type == GDEXTENSION_VARIANT_TYPE_INT ||
             property->type == GDEXTENSION_VARIANT_TYPE_BOOL)
        variant_init_int(&given, property->default_number);
    else
        variant_init_nil(&given);
    variant_init_converted(property_value(self, property), property->type, &given);
    variant_finish(&given);
}

static void property_set(void *self, const struct class_property *property,
                         const struct engine_variant *value) {
    struct engine_variant *kept = property_value(self, property), before = *kept;
    variant_init_converted(kept, property->type, value);
    variant_finish(&before); /* may be the last to hold an object, whose end runs a script */
    if (property->changed)
        property->changed(self);
}

static void run_get(const struct class_call *call) {
    const struct class_property *property = call->method->property;
    variant_assign_native(call->result, property->type, property_value(call->self, property));
}

static void run_set(const struct class_call *call) {
    const struct class_property *property = call->method->property;
    struct engine_variant value;
    variant_init_native(&value, property->type, call->arguments[0]);
    property_set(call->self, property, &value);
    variant_finish(&value);
}

/* ---- instances ---- */

static void *instance_create(const struct class_description *description) {
    void *self = calloc(1, description->instance_size);
    if (!self)
        abort(); /* the engine has no way to be told, and aborts itself when memory is gone */
    for (size_t i = 0; i < description->property_count; i++)
        property_value_init(self, &description->properties[i]);
    description->init(self);
    return self;
}

static void notify_postinitialize(GDExtensionObjectPtr object) {
    struct engine_name class_name, method_name;
    GDExtensionMethodBindPtr bind;
    const int64_t what = NOTIFICATION_POSTINITIALIZE, notification_hash = 4023243586;
    const uint8_t reversed = 0;
    const GDExtensionConstTypePtr arguments[] = {&what, &reversed};

    engine_name_init(&class_name, "Object");
    engine_name_init(&method_name, "notification");
    bind = engine.classdb_get_method_bind(&class_name, &method_name, notification_hash);
    if (bind)
        engine.object_method_bind_ptrcall(bind, object, arguments, NULL);
    engine_name_finish(&method_name);
    engine_name_finish(&class_name);
}

static GDExtensionObjectPtr class_create(void *userdata, GDExtensionBool postinitialize) {
    const struct class_description *description = userdata;
    struct engine_name name, parent;
    GDExtensionObjectPtr object;
    void *self;

    engine_name_init(&name, description->name);
    engine_name_init(&parent, description->parent);
    object = engine.classdb_construct_object2(&parent);
    self = instance_create(description);
    description->attached(self, object);
    engine.object_set_instance(object, &name, self);
    if (postinitialize)
        notify_postinitialize(object);
    engine_name_finish(&parent);
    engine_name_finish(&name);
    return object;
}

/* After a hot reload the engine keeps the object and asks only for new data; it restores the
 * properties itself. */
static GDExtensionClassInstancePtr class_recreate(void *userdata, GDExtensionObjectPtr object) {
    const struct class_description *description = userdata;
    void *self = instance_create(description);
    description->attached(self, object);
    return self;
}

static void class_free(void *userdata, GDExtensionClassInstancePtr self) {
    const struct class_description *description = userdata;
    if (!self)
        return;
    description->finish(self);
    for (size_t i = 0; i < description->property_count; i++)
        variant_finish(property_value(self, &description->properties[i]));
    free(self);
}

/* ---- registration ---- */

static void register_method(const struct engine_name *class_name,
                            const struct class_method *method) {
    struct engine_name name;
    struct property_scratch result;
    struct argument_list arguments;
    struct engine_variant fallback;
    GDExtensionVariantPtr defaults[] = {&fallback};
    GDExtensionPropertyInfo result_info = property_init(&result, "", method->result);
    GDExtensionClassMethodInfo info = {
        .name = &name,
        .method_userdata = as_userdata(method),
        .call_func = method_call,
        .ptrcall_func = method_ptrcall,
        .method_flags = GDEXTENSION_METHOD_FLAGS_DEFAULT |
                        (method->is_const ? GDEXTENSION_METHOD_FLAG_CONST : 0u),
        .has_return_value = method->result != GDEXTENSION_VARIANT_TYPE_NIL,
        .return_value_info = &result_info,
        .argument_count = method->argument_count,
        .arguments_info = arguments.infos,
        .arguments_metadata = arguments.metadata,
        .default_argument_count = method->has_default ? 1 : 0,
        .default_arguments = defaults,
    };

    engine_name_init(&name, method->name);
    argument_list_init(&arguments, method->arguments, method->argument_count);
    if (method->has_default)
        init_default(&fallback, method);
    engine.classdb_register_extension_class_method(engine.library, class_name, &info);
    if (method->has_default)
        variant_finish(&fallback);
    argument_list_finish(&arguments);
    engine_name_finish(&name);
    property_finish(&result);
}

static void register_property(const struct engine_name *class_name,
                              const struct class_property *property, struct class_accessors *made) {
    struct property_scratch scratch;
    struct engine_name getter, setter;
    GDExtensionPropertyInfo info = property_init(&scratch, property->name, property->type);

    snprintf(made->names[0], sizeof made->names[0], "get_%s", property->name);
    snprintf(made->names[1], sizeof made->names[1], "set_%s", property->name);
    made->get = (struct class_method){.name = made->names[0],
                                      .run = run_get,
                                      .property = property,
                                      .result = property->type,
                                      .is_const = true};
    made->set = (struct class_method){.name = made->names[1],
                                      .run = run_set,
                                      .property = property,
                                      .argument_count = 1,
                                      .arguments = {{"value", property->type}}};
    register_method(class_name, &made->get);
    register_method(class_name, &made->set);
    if (property->hint) {
        info.hint = PROPERTY_HINT_ENUM;
        engine_string_assign(&scratch.hint, property->hint);
    }
    if (property->is_hidden)
        info.usage = PROPERTY_USAGE_STORAGE;
    engine_name_init(&getter, made->names[0]);
    engine_name_init(&setter, made->names[1]);
    engine.classdb_register_extension_class_property(engine.library, class_name, &info, &setter,
                                                     &getter);
    engine_name_finish(&setter);
    engine_name_finish(&getter);
    property_finish(&scratch);
}

static void register_signal(const struct engine_name *class_name,
                            const struct class_signal *signal) {
    struct engine_name name;
    struct argument_list arguments;

    engine_name_init(&name, signal->name);
    argument_list_init(&arguments, signal->arguments, signal->argument_count);
    engine.classdb_register_extension_class_signal(engine.library, class_name, &name,
                                                   arguments.infos, signal->argument_count);
    argument_list_finish(&arguments);
    engine_name_finish(&name);
}

void class_register(const struct class_description *description) {
    struct engine_name name, parent;
    GDExtensionClassCreationInfo5 info = {
        .is_exposed = true,
        .is_runtime = false,
        .create_instance_func = class_create,
        .recreate_instance_func = class_recreate,
        .free_instance_func = class_free,
        .class_userdata = as_userdata(description),
    };

    engine_name_init(&name, description->name);
    engine_name_init(&parent, description->parent);
    engine.classdb_register_extension_class5(engine.library, &name, &parent, &info);
    for (size_t i = 0; i < description->method_count; i++)
        register_method(&name, &description->methods[i]);
    for (size_t i = 0; i < description->property_count; i++)
        register_property(&name, &description->properties[i], &description->accessors[i]);
    for (size_t i = 0; i < description->signal_count; i++)
        register_signal(&name, &description->signals[i]);
    engine_name_finish(&parent);
    engine_name_finish(&name);
}

void class_unregister(const struct class_description *description) {
    struct engine_name name;
    engine_name_init(&name, description->name);
    engine.classdb_unregister_extension_class(engine.library, &name);
    engine_name_finish(&name);
}
