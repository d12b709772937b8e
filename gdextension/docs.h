/* The class documentation of doc_classes/, embedded by the build. */
#ifndef TETHER_DOCS_H
#define TETHER_DOCS_H

#include <stddef.h>

extern const char *const docs_classes[]; /* XML, UTF-8 */
extern const size_t docs_class_count;

#endif
