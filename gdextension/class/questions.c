#include "questions.h"

#include <stdio.h>
#include <stdlib.h>

#include "memory.h"
#include "protocol/message.h"

enum { MORE = 16 };

static struct question {
    int64_t number;
    GDExtensionObjectPtr object;
} * questions;
static size_t count, room;
static int64_t last_number;

static void name_of(int64_t number, char name[32]) {
    snprintf(name, 32, "answered_%lld", (long long)number);
}

/* Emits the signal and takes it away. */
static void tell_answer(GDExtensionObjectPtr object, int64_t number, json_t *answer) {
    struct engine_variant self, arguments[2];
    char name[32];
    name_of(number, name);
    variant_init_object(&self, object); /* holds a reference meanwhile */
    variant_init_text(&arguments[0], name);
    variant_init_json(&arguments[1], answer);
    variant_call(&self, "emit_signal", arguments, 2, NULL);
    variant_call(&self, "remove_user_signal", arguments, 1, NULL);
    variant_finish(&arguments[1]);
    variant_finish(&arguments[0]);
    variant_finish(&self);
    json_decref(answer);
}

/* None is given up for another: whoever waits for it could ask again at once. */
static void note(int64_t number, GDExtensionObjectPtr object) {
    if (count == room) {
        struct question *more = memory_resize(questions, (room + MORE) * sizeof *more);
        if (!more)
            return;
        questions = more;
        room += MORE;
    }
    questions[count++] = (struct question){number, object};
}

int64_t questions_ask(GDExtensionObjectPtr object, struct engine_variant *signal) {
    struct engine_variant parts[2];
    GDExtensionConstVariantPtr pointers[2] = {&parts[0], &parts[1]};
    GDExtensionCallError error;
    char name[32];
    name_of(++last_number, name);
    variant_init_object(&parts[0], object);
    variant_init_text(&parts[1], name);
    variant_call(&parts[0], "add_user_signal", &parts[1], 1, NULL);
    engine.variant_construct(GDEXTENSION_VARIANT_TYPE_SIGNAL, signal, pointers, 2, &error);
    variant_finish(&parts[1]);
    variant_finish(&parts[0]);
    note(last_number, object);
    return last_number;
}

static GDExtensionObjectPtr take(size_t i) {
    GDExtensionObjectPtr object = questions[i].object;
    for (count--; i < count; i++)
        questions[i] = questions[i + 1];
    if (count == 0) {
        free(questions);
        questions = NULL;
        room = 0;
    }
    return object;
}

void questions_answer(int64_t number, const json_t *message) {
    json_t *result = json_object_get(message, "result");
    const char *why = message_text(json_object_get(message, "error"), "message");
    for (size_t i = 0; i < count; i++) {
        if (questions[i].number == number) {
            tell_answer(
                take(i), number,
                result ? json_incref(result)
                       : json_pack("{s:s}", "error",
                                   why[0] ? why : "Nobody is there any more who could answer."));
            return;
        }
    }
}

/* Not those that are asked because of that: who asks until somebody answers would never end. */
void questions_lose_all(void) {
    int64_t last = last_number;
    while (count > 0 && questions[0].number <= last)
        questions_answer(questions[0].number, NULL);
}

void questions_forget(GDExtensionObjectPtr object) {
    for (size_t i = count; i > 0; i--)
        if (questions[i - 1].object == object)
            take(i - 1);
}
