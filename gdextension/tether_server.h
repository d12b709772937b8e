/* The class TetherServer: a companion server that lives as long as the editors that use it. */
#ifndef TETHER_SERVER_H
#define TETHER_SERVER_H

#include "engine/class.h"

extern const struct class_description tether_server_class;

#endif
