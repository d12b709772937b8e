/* Words for what the machine is told and does: for traces and for rules that are broken. */
#ifndef TETHER_EXPLORE_NAMES_H
#define TETHER_EXPLORE_NAMES_H

#include "lifecycle/lifecycle.h"

const char *liveness_name(enum os_life);
const char *event_name(enum lifecycle_event_kind);
const char *leave_name(enum lifecycle_leave);
const char *action_name(enum lifecycle_action);
const char *answer_name(enum lifecycle_answer);

#endif
