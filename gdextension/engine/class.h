/* Classes described by constant tables and registered from them.
 *
 * A method is written once, in the form of a ptrcall: `arguments` are pointers to native values
 * (int64_t, bool as uint8_t, String storage, …), `result` to a constructed value of the declared
 * type. Calls with Variants (from untyped scripts) are checked and converted here. */
#ifndef TETHER_ENGINE_CLASS_H
#define TETHER_ENGINE_CLASS_H

#include <stddef.h>

#include "engine.h"

#define CLASS_MAX_ARGUMENTS 4

struct class_argument {
    const char *name;
    GDExtensionVariantType type;
};

struct class_method {
    const char *name;
    void (*run)(void *self, const GDExtensionConstTypePtr *arguments, GDExtensionTypePtr result);
    GDExtensionVariantType result; /* Nil: nothing is returned */
    bool is_const;                 /* does not change the object */
    uint32_t argument_count;
    struct class_argument arguments[CLASS_MAX_ARGUMENTS];
};

/* Getter and setter are methods of the same table. */
struct class_property {
    const char *name;
    GDExtensionVariantType type;
    const char *getter, *setter;
};

struct class_signal {
    const char *name;
    uint32_t argument_count;
    struct class_argument arguments[CLASS_MAX_ARGUMENTS];
};

struct class_description {
    const char *name, *parent;
    size_t instance_size;
    void (*init)(void *self); /* on zeroed memory */
    void (*finish)(void *self);
    const struct class_method *methods;
    size_t method_count;
    const struct class_property *properties;
    size_t property_count;
    const struct class_signal *signals;
    size_t signal_count;
};

/* Registers a class and all in its tables, which must live until class_unregister. */
void class_register(const struct class_description *description);
void class_unregister(const struct class_description *description);

#endif
