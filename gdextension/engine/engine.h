/* The engine's C interface, loaded once at the start of the library.
 *
 * The engine gives one function that finds all others by name. A name that it lacks is logged as an
 * error there, so only names of the oldest supported engine (4.5) are asked for; newer ones would
 * be gated by `engine.version`. Strings, names and variants are opaque storage of known sizes
 * (64-bit, single precision); whoever makes one destroys it. */
#ifndef TETHER_ENGINE_H
#define TETHER_ENGINE_H

#include <stdbool.h>
#include <stdint.h>

#include <gdextension_interface.h>

/* X(field, type suffix, name): field `engine.field` holds the function the engine calls `name`. */
#define ENGINE_FUNCTIONS(X)                                                                        \
    X(print_error, PrintError)                                                                     \
    X(print_warning, PrintWarning)                                                                 \
    X(get_library_path, GetLibraryPath)                                                            \
    X(global_get_singleton, GlobalGetSingleton)                                                    \
    X(register_main_loop_callbacks, RegisterMainLoopCallbacks)                                     \
    X(get_variant_from_type_constructor, GetVariantFromTypeConstructor)                            \
    X(get_variant_to_type_constructor, GetVariantToTypeConstructor)                                \
    X(variant_get_ptr_constructor, VariantGetPtrConstructor)                                       \
    X(variant_get_ptr_destructor, VariantGetPtrDestructor)                                         \
    X(variant_get_type, VariantGetType)                                                            \
    X(variant_new_nil, VariantNewNil)                                                              \
    X(variant_new_copy, VariantNewCopy)                                                            \
    X(variant_destroy, VariantDestroy)                                                             \
    X(variant_construct, VariantConstruct)                                                         \
    X(variant_call, VariantCall)                                                                   \
    X(variant_set, VariantSet)                                                                     \
    X(variant_get, VariantGet)                                                                     \
    X(variant_iter_init, VariantIterInit)                                                          \
    X(variant_iter_next, VariantIterNext)                                                          \
    X(variant_iter_get, VariantIterGet)                                                            \
    X(variant_booleanize, VariantBooleanize)                                                       \
    X(variant_stringify, VariantStringify)                                                         \
    X(variant_can_convert_strict, VariantCanConvertStrict)                                         \
    X(string_new_with_utf8_chars, StringNewWithUtf8Chars)                                          \
    X(string_to_utf8_chars, StringToUtf8Chars)                                                     \
    X(string_name_new_with_utf8_chars, StringNameNewWithUtf8Chars)                                 \
    X(object_set_instance, ObjectSetInstance)                                                      \
    X(object_method_bind_ptrcall, ObjectMethodBindPtrcall)                                         \
    X(classdb_construct_object2, ClassdbConstructObject2)                                          \
    X(classdb_get_method_bind, ClassdbGetMethodBind)                                               \
    X(classdb_register_extension_class5, ClassdbRegisterExtensionClass5)                           \
    X(classdb_register_extension_class_method, ClassdbRegisterExtensionClassMethod)                \
    X(classdb_register_extension_class_property, ClassdbRegisterExtensionClassProperty)            \
    X(classdb_register_extension_class_signal, ClassdbRegisterExtensionClassSignal)                \
    X(classdb_unregister_extension_class, ClassdbUnregisterExtensionClass)

struct engine {
    GDExtensionClassLibraryPtr library;
    GDExtensionGodotVersion2 version;
    GDExtensionsInterfaceEditorHelpLoadXmlFromUtf8CharsAndLen help_load_xml;
#define ENGINE_FIELD(field, type) GDExtensionInterface##type field;
    ENGINE_FUNCTIONS(ENGINE_FIELD)
#undef ENGINE_FIELD
};

/* Filled by engine_load, read-only afterwards: the one global of the library. */
extern struct engine engine;

/* Fills `engine`. False, with an error in the engine's log, if this engine cannot be used. */
bool engine_load(GDExtensionInterfaceGetProcAddress find, GDExtensionClassLibraryPtr library);

/* Opaque storage for the engine's values. */
struct engine_string {
    _Alignas(8) unsigned char bytes[8];
};
struct engine_name {
    _Alignas(8) unsigned char bytes[8];
};
/* Room for the native form of any argument or result: the largest used is a Callable, 16 bytes. */
struct engine_value {
    _Alignas(8) unsigned char bytes[16];
};

/* Each makes a value in raw storage from UTF-8 text; end it with the matching finish. */
void engine_string_init(struct engine_string *string, const char *text);
void engine_string_finish(struct engine_string *string);
void engine_name_init(struct engine_name *name, const char *text);
void engine_name_finish(struct engine_name *name);

/* Replaces the constructed String at `target` (as a ptrcall hands it over) by UTF-8 text. */
void engine_string_assign(GDExtensionTypePtr target, const char *text);

/* Makes the empty value of a type in raw storage, and ends such a value. */
void engine_value_init(struct engine_value *value, GDExtensionVariantType type);
void engine_value_finish(GDExtensionTypePtr value, GDExtensionVariantType type);

#endif
