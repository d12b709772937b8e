/* Classes described by constant tables and registered from them.
 *
 * A method is written once, in the form of a ptrcall. Calls with Variants (from untyped scripts)
 * are checked and converted here. */
#ifndef TETHER_ENGINE_CLASS_H
#define TETHER_ENGINE_CLASS_H

#include <stddef.h>

#include "variant.h"

#define CLASS_MAX_ARGUMENTS 4

struct class_argument {
    const char *name;
    GDExtensionVariantType type; /* Nil: any Variant */
};

struct class_call {
    const struct class_method *method;
    void *self;
    const GDExtensionConstTypePtr
        *arguments;            /* native values: int64_t, bool as uint8_t, String … */
    GDExtensionTypePtr result; /* a constructed value of the declared type */
};

struct class_method {
    const char *name;
    void (*run)(const struct class_call *call);
    GDExtensionVariantType result; /* Nil: nothing is returned */
    uint32_t argument_count;
    struct class_argument arguments[CLASS_MAX_ARGUMENTS];
    int64_t default_value; /* of the last argument, which is an int or a bool, … */
    bool has_default;      /* … if it has one */
    bool is_const;         /* does not change the object */
    const struct class_property *property; /* of an accessor */
};

/* A value that each instance has, at this offset, as a `struct engine_variant` of the declared
 * type. The getter is called get_NAME, the setter set_NAME; both are made here. */
struct class_property {
    const char *name;
    GDExtensionVariantType type;
    bool is_hidden; /* kept, but not shown in the inspector */
    size_t offset;
    const char *default_text;    /* for texts; NULL: empty */
    int64_t default_number;      /* for numbers and booleans */
    const char *hint;            /* of an enumeration, as in "fixed,auto"; NULL: none */
    void (*changed)(void *self); /* called after a set; may be NULL */
};

/* The methods by which a property is read and set. */
struct class_accessors {
    struct class_method get, set;
    char names[2][64];
};

struct class_signal {
    const char *name;
    uint32_t argument_count;
    struct class_argument arguments[CLASS_MAX_ARGUMENTS];
};

struct class_description {
    const char *name, *parent;
    size_t instance_size;
    void (*init)(void *self); /* on zeroed memory with the properties' defaults in it */
    void (*attached)(void *self, GDExtensionObjectPtr object);
    void (*finish)(void *self);
    const struct class_method *methods;
    size_t method_count;
    const struct class_property *properties;
    struct class_accessors *accessors; /* room for those of each property */
    size_t property_count;
    const struct class_signal *signals;
    size_t signal_count;
};

/* Registers a class and all in its tables, which must live until class_unregister. */
void class_register(const struct class_description *description);
void class_unregister(const struct class_description *description);

#endif
