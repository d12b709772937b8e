/* Where the engine enters the library.
 *
 * The engine calls `initialize` for every level, whatever minimum was asked for, and loads the
 * library into games that are run from the editor too: all of Tether lives at the EDITOR level. */
#include <string.h>

#include "docs.h"
#include "engine/engine.h"
#include "frame/editor_loop.h"
#include "os/os.h"

/* The only symbol that the library shows; its name stands in tether.gdextension. */
__attribute__((visibility("default"))) GDExtensionBool
tether_entry(GDExtensionInterfaceGetProcAddress find, GDExtensionClassLibraryPtr library,
             GDExtensionInitialization *initialization);

static void initialize(void *userdata, GDExtensionInitializationLevel level) {
    (void)userdata;
    if (level != GDEXTENSION_INITIALIZATION_EDITOR)
        return;
    os_library_begin();
    editor_loop_register();
    for (size_t i = 0; editor_is_attended() && i < docs_class_count; i++)
        engine.help_load_xml(docs_classes[i], (GDExtensionInt)strlen(docs_classes[i]));
}

static void deinitialize(void *userdata, GDExtensionInitializationLevel level) {
    (void)userdata;
    if (level != GDEXTENSION_INITIALIZATION_EDITOR)
        return;
    editor_loop_finish();
}

GDExtensionBool tether_entry(GDExtensionInterfaceGetProcAddress find,
                             GDExtensionClassLibraryPtr library,
                             GDExtensionInitialization *initialization) {
    if (!engine_load(find, library))
        return false;
    initialization->minimum_initialization_level = GDEXTENSION_INITIALIZATION_SCENE;
    initialization->userdata = NULL;
    initialization->initialize = initialize;
    initialization->deinitialize = deinitialize;
    return true;
}
