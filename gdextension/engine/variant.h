/* The engine's variants, as far as this library needs them: text, numbers, JSON, and calls by name.
 *
 * A `struct engine_variant` is raw storage until one of the functions that make a value has filled
 * it; then it is ended with variant_finish. Only for the main thread. */
#ifndef TETHER_ENGINE_VARIANT_H
#define TETHER_ENGINE_VARIANT_H

#include <jansson.h>

#include "engine.h"

struct engine_variant {
    _Alignas(8) unsigned char bytes[24];
};

void variant_init_nil(struct engine_variant *out);
void variant_init_bool(struct engine_variant *out, bool value);
void variant_init_int(struct engine_variant *out, int64_t value);
void variant_init_text(struct engine_variant *out, const char *text);
void variant_init_object(struct engine_variant *out, GDExtensionObjectPtr object);

/* From the native form of a type, as a ptrcall has it. */
void variant_init_native(struct engine_variant *out, GDExtensionVariantType type,
                         GDExtensionConstTypePtr native);

/* Makes the native form of the variant's value in raw storage, as engine_value_init does; or puts
 * it in place of the constructed one at `target` (as a ptrcall hands it over). */
void variant_make_native(GDExtensionUninitializedTypePtr out, GDExtensionVariantType type,
                         const struct engine_variant *from);
void variant_assign_native(GDExtensionTypePtr target, GDExtensionVariantType type,
                           const struct engine_variant *from);

/* The value converted to a type (an empty one if it cannot be). */
void variant_init_converted(struct engine_variant *out, GDExtensionVariantType type,
                            const struct engine_variant *from);

/* The empty value of a type. */
void variant_init_empty(struct engine_variant *out, GDExtensionVariantType type);

/* The same value in the engine's terms: objects, arrays, text, numbers. NULL becomes nil. */
void variant_init_json(struct engine_variant *out, const json_t *json);

void variant_finish(struct engine_variant *variant);

GDExtensionVariantType variant_type(const struct engine_variant *variant);
bool variant_is_true(const struct engine_variant *variant);
int64_t variant_int(const struct engine_variant *variant);

/* The value as UTF-8 text: that of a string, or how the engine would print anything else. For the
 * caller to free; never NULL. */
char *variant_text(const struct engine_variant *variant);

/* The value as JSON, a new reference, never NULL. What JSON has no form for becomes text; what is
 * nested too deeply, or comes after millions of others, or is no number at all, becomes null. */
json_t *variant_json(const struct engine_variant *variant);

/* What the engine's container has under a text key: a copy, or nil. */
void variant_init_member(struct engine_variant *out, const struct engine_variant *container,
                         const char *key);

/* Calls fn for each element of an array, or each key of a dictionary. */
void variant_each(const struct engine_variant *container,
                  void (*fn)(const struct engine_variant *element, void *context), void *context);

/* Calls a method by its name. The result is made in any case (nil on failure); pass NULL if it is
 * of no interest. False if there is no such method or the arguments do not fit. */
bool variant_call(struct engine_variant *self, const char *method,
                  const struct engine_variant *arguments, int count, struct engine_variant *result);

/* The same for a singleton of the engine. */
bool singleton_call(const char *singleton, const char *method,
                    const struct engine_variant *arguments, int count,
                    struct engine_variant *result);

/* What a method without arguments answers, as yes or no; and of a singleton, what any answers, as
 * variant_text. */
bool variant_says(struct engine_variant *self, const char *method);
bool singleton_says(const char *singleton, const char *method);
char *singleton_text(const char *singleton, const char *method,
                     const struct engine_variant *arguments, int count);

#define VARIANT_MAX_ARGUMENTS 6

#endif
