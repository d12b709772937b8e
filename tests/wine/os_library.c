/* The extension as a guest: what stays behind in a process when the library has gone out of it.
 *
 * The engine here is one function that takes every call and does nothing, which is enough to begin
 * and to end the library as an editor does it when it reloads it. */
#include "tap.h"

#include <gdextension_interface.h>

static const char library_name[] = "..\\..\\libtether.windows.editor.x86_64.dll";

static int interrupts;

static BOOL WINAPI on_interrupt(DWORD event) {
    interrupts += event == CTRL_C_EVENT;
    return TRUE;
}

/* Also a constructor, a destructor: whatever the library asks the engine for. */
static void *take_any_call(void) {
    return (void *)(uintptr_t)take_any_call;
}

static void tell_version(GDExtensionGodotVersion2 *version) {
    *version = (GDExtensionGodotVersion2){.major = 4, .minor = 6};
}

static GDExtensionInterfaceFunctionPtr find_function(const char *name) {
    return strcmp(name, "get_godot_version2") == 0
               ? (GDExtensionInterfaceFunctionPtr)(void (*)(void))tell_version
               : (GDExtensionInterfaceFunctionPtr)(void (*)(void))take_any_call;
}

static HMODULE load(void) {
    char path[MAX_PATH + sizeof library_name];
    GetModuleFileNameA(NULL, path, MAX_PATH);
    strcpy(strrchr(path, '\\') + 1, library_name);
    return LoadLibraryA(path);
}

/* The library is loaded, begins, ends, and is unloaded. */
static bool come_and_go(void) {
    HMODULE library = load();
    GDExtensionInitialization all = {0};
    union {
        FARPROC found;
        GDExtensionInitializationFunction entry;
    } entry = {.found = library ? GetProcAddress(library, "tether_entry") : NULL};
    if (!entry.found || !entry.entry(find_function, NULL, &all))
        return false;
    for (int level = 0; level < GDEXTENSION_MAX_INITIALIZATION_LEVEL; level++)
        all.initialize(all.userdata, (GDExtensionInitializationLevel)level);
    for (int level = GDEXTENSION_MAX_INITIALIZATION_LEVEL; level-- > 0;)
        all.deinitialize(all.userdata, (GDExtensionInitializationLevel)level);
    return FreeLibrary(library) && !GetModuleHandleA("libtether.windows.editor.x86_64.dll");
}

/* Row G8. What the library had left with the system would be called first, and is not there. */
static void test_an_interrupt_after_a_reload_reaches_who_is_there(void) {
    check(SetConsoleCtrlHandler(on_interrupt, TRUE));
    check(come_and_go());
    check(GenerateConsoleCtrlEvent(CTRL_C_EVENT, 0));
    for (int i = 0; i < 1000 && interrupts == 0; i++)
        Sleep(10); /* it comes on a thread of the system's */
    SetConsoleCtrlHandler(on_interrupt, FALSE);
    check(interrupts == 1);
}

/* Row G8. Whether a crash of the editor is shown is for the editor to say. */
static void test_the_error_mode_of_the_editor_stays(void) {
    UINT before = SetErrorMode(SEM_FAILCRITICALERRORS);
    check(come_and_go());
    UINT after = SetErrorMode(before);
    check(after == SEM_FAILCRITICALERRORS);
}

/* Row G8. Else any program could find, and take for its own, what libuv calls the same. */
static void test_the_library_shows_its_entry_alone(void) {
    HMODULE library = load();
    bool has_entry = library && GetProcAddress(library, "tether_entry");
    bool has_more = library && GetProcAddress(library, "uv_run");
    if (library)
        FreeLibrary(library);
    check(has_entry && !has_more);
}

int main(int argc, char **argv) {
    static const struct tap_test tests[] = {
        TEST(test_an_interrupt_after_a_reload_reaches_who_is_there),
        TEST(test_the_error_mode_of_the_editor_stays),
        TEST(test_the_library_shows_its_entry_alone),
    };
    FreeConsole();
    AllocConsole();
    return tap_run(tests, sizeof tests / sizeof tests[0], argc > 1 ? argv[1] : NULL);
}
