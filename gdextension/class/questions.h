/* What scripts ask the client of a call: its user (elicitation), or its model (sampling).
 *
 * A question is a signal of the object that asks, made for it alone, so that a script awaits it. */
#ifndef TETHER_CLASS_QUESTIONS_H
#define TETHER_CLASS_QUESTIONS_H

#include <stdint.h>

#include <jansson.h>

#include "engine/variant.h"

/* Makes the signal of a new question, whose number is returned. The object must live as long as it
 * waits, or say questions_forget. */
int64_t questions_ask(GDExtensionObjectPtr object, struct engine_variant *signal);

/* The message that answered it; NULL: nobody will. Emits the signal once, with a Dictionary. */
void questions_answer(int64_t number, const json_t *message);
void questions_lose_all(void);

void questions_forget(GDExtensionObjectPtr object);

#endif
