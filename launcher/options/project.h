/* Which Godot project is meant. */
#ifndef TETHER_PROJECT_H
#define TETHER_PROJECT_H

#include <stdbool.h>

#include "os/os.h"

/* Whether it is the folder of a project. */
bool project_is_at(const char *folder);

/* The folder of the project that this process was started in, or below; if there is none, false,
 * and `out` is the folder that it was started in, or "". */
bool project_near(char out[OS_PATH_MAX]);

/* The folder as the system calls it, so that the editor's own path is the same; what is not there
 * stays as it was said. Its project.godot stands for the folder, too. */
void project_folder(const char *said, char out[OS_PATH_MAX]);

#endif
