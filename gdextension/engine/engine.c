#include "engine.h"

#include <string.h>

struct engine engine;

static bool version_suffices(const GDExtensionGodotVersion2 *version) {
    return version->major > 4 || (version->major == 4 && version->minor >= 5);
}

/* The engine finds every function as a `void (*)(void)`; C has no generic function pointer, so the
 * bits are copied into the typed field. */
static bool find_function(GDExtensionInterfaceGetProcAddress find, const char *name, void *field) {
    GDExtensionInterfaceFunctionPtr function = find(name);
    memcpy(field, &function, sizeof function);
    return function != NULL;
}

bool engine_load(GDExtensionInterfaceGetProcAddress find, GDExtensionClassLibraryPtr library) {
    GDExtensionInterfaceGetGodotVersion2 get_version;
    bool found = true;

    engine.library = library;
    if (!find_function(find, "get_godot_version2", &get_version))
        return false;
    get_version(&engine.version);
#define ENGINE_FIND(field, type) found = find_function(find, #field, &engine.field) && found;
    ENGINE_FUNCTIONS(ENGINE_FIND)
#undef ENGINE_FIND
    found = find_function(find, "editor_help_load_xml_from_utf8_chars_and_len",
                          &engine.help_load_xml) &&
            found;
    if (found && version_suffices(&engine.version))
        return true;
    if (engine.print_error)
        engine.print_error(
            "Tether needs Godot 4.5 or newer; update the editor or disable the addon.", __func__,
            __FILE__, __LINE__, true);
    return false;
}

void engine_value_init(struct engine_value *value, GDExtensionVariantType type) {
    memset(value, 0, sizeof *value);
    /* Constructor 0 of each type is the one without arguments. Nil and plain numbers need none. */
    if (type > GDEXTENSION_VARIANT_TYPE_FLOAT)
        engine.variant_get_ptr_constructor(type, 0)(value, NULL);
}

void engine_value_finish(GDExtensionTypePtr value, GDExtensionVariantType type) {
    GDExtensionPtrDestructor destroy = engine.variant_get_ptr_destructor(type);
    if (destroy) /* plain data has none */
        destroy(value);
}

void engine_string_init(struct engine_string *string, const char *text) {
    engine.string_new_with_utf8_chars(string, text);
}

void engine_string_finish(struct engine_string *string) {
    engine.variant_get_ptr_destructor(GDEXTENSION_VARIANT_TYPE_STRING)(string);
}

void engine_string_assign(GDExtensionTypePtr target, const char *text) {
    engine.variant_get_ptr_destructor(GDEXTENSION_VARIANT_TYPE_STRING)(target);
    engine.string_new_with_utf8_chars(target, text);
}

void engine_name_init(struct engine_name *name, const char *text) {
    engine.string_name_new_with_utf8_chars(name, text);
}

void engine_name_finish(struct engine_name *name) {
    engine.variant_get_ptr_destructor(GDEXTENSION_VARIANT_TYPE_STRING_NAME)(name);
}
