#include "class.h"

#include <stdlib.h>

enum {
    PROPERTY_USAGE_DEFAULT = 6, /* stored in files and shown in the inspector */
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

/* ---- calls
 * --------------------------------------------------------------------------------------- */

static void call_error(GDExtensionCallError *error, GDExtensionCallErrorType type, int32_t argument,
                       int32_t expected) {
    *error = (GDExtensionCallError){.error = type, .argument = argument, .expected = expected};
}

/* True if the arguments fit the method's table; says in `error` what does not. */
static bool check_arguments(const struct class_method *method,
                            const GDExtensionConstVariantPtr *arguments, GDExtensionInt count,
                            GDExtensionCallError *error) {
    if (count != method->argument_count) {
        call_error(error,
                   count < method->argument_count ? GDEXTENSION_CALL_ERROR_TOO_FEW_ARGUMENTS
                                                  : GDEXTENSION_CALL_ERROR_TOO_MANY_ARGUMENTS,
                   0, (int32_t)method->argument_count);
        return false;
    }
    for (uint32_t i = 0; i < method->argument_count; i++) {
        if (engine.variant_get_type(arguments[i]) != method->arguments[i].type) {
            call_error(error, GDEXTENSION_CALL_ERROR_INVALID_ARGUMENT, (int32_t)i,
                       (int32_t)method->arguments[i].type);
            return false;
        }
    }
    return true;
}

static void method_call(void *userdata, GDExtensionClassInstancePtr self,
                        const GDExtensionConstVariantPtr *arguments, GDExtensionInt count,
                        GDExtensionVariantPtr result, GDExtensionCallError *error) {
    const struct class_method *method = userdata;
    struct engine_value values[CLASS_MAX_ARGUMENTS], returned;
    GDExtensionConstTypePtr pointers[CLASS_MAX_ARGUMENTS];

    if (!check_arguments(method, arguments, count, error))
        return;
    for (uint32_t i = 0; i < method->argument_count; i++) {
        /* The conversion does not change the Variant; its type in C only lacks the const. */
        GDExtensionVariantPtr variant = as_userdata(arguments[i]);
        engine.get_variant_to_type_constructor(method->arguments[i].type)(&values[i], variant);
        pointers[i] = &values[i];
    }
    engine_value_init(&returned, method->result);
    method->run(self, pointers, &returned);
    if (method->result != GDEXTENSION_VARIANT_TYPE_NIL)
        engine.get_variant_from_type_constructor(method->result)(result, &returned);
    engine_value_finish(&returned, method->result);
    for (uint32_t i = 0; i < method->argument_count; i++)
        engine_value_finish(&values[i], method->arguments[i].type);
}

static void method_ptrcall(void *userdata, GDExtensionClassInstancePtr self,
                           const GDExtensionConstTypePtr *arguments, GDExtensionTypePtr result) {
    const struct class_method *method = userdata;
    method->run(self, arguments, result);
}

/* ---- instances
 * ----------------------------------------------------------------------------------- */

static void *instance_create(const struct class_description *description) {
    void *self = calloc(1, description->instance_size);
    if (!self)
        abort(); /* the engine has no way to be told, and aborts itself when memory is gone */
    if (description->init)
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

    engine_name_init(&name, description->name);
    engine_name_init(&parent, description->parent);
    object = engine.classdb_construct_object2(&parent);
    engine.object_set_instance(object, &name, instance_create(description));
    if (postinitialize)
        notify_postinitialize(object);
    engine_name_finish(&parent);
    engine_name_finish(&name);
    return object;
}

/* After a hot reload the engine keeps the object and asks only for new data; it restores the
 * properties itself. */
static GDExtensionClassInstancePtr class_recreate(void *userdata, GDExtensionObjectPtr object) {
    (void)object;
    return instance_create(userdata);
}

static void class_free(void *userdata, GDExtensionClassInstancePtr self) {
    const struct class_description *description = userdata;
    if (!self)
        return;
    if (description->finish)
        description->finish(self);
    free(self);
}

/* ---- registration
 * -------------------------------------------------------------------------------- */

static void register_method(const struct engine_name *class_name,
                            const struct class_method *method) {
    struct engine_name name;
    struct property_scratch result;
    struct argument_list arguments;
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
    };

    engine_name_init(&name, method->name);
    argument_list_init(&arguments, method->arguments, method->argument_count);
    engine.classdb_register_extension_class_method(engine.library, class_name, &info);
    argument_list_finish(&arguments);
    engine_name_finish(&name);
    property_finish(&result);
}

static void register_property(const struct engine_name *class_name,
                              const struct class_property *property) {
    struct property_scratch scratch;
    struct engine_name getter, setter;
    GDExtensionPropertyInfo info = property_init(&scratch, property->name, property->type);

    engine_name_init(&getter, property->getter);
    engine_name_init(&setter, property->setter);
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
        register_property(&name, &description->properties[i]);
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
