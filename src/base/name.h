// Interned strings. Equal names are the same pointer, and a debugger shows their text.
// Prefixes: sc_name_ makes or reads one name; sc_names_ is the table of all names.
#ifndef SC_NAME_H
#define SC_NAME_H

#include "base/str.h"

typedef struct sc_name {
    uint32_t size;
    char text[];  // NUL-terminated copy
} sc_name;

typedef struct sc_names sc_names;

sc_names *sc_names_new(sc_arena *arena);
const sc_name *sc_name_intern(sc_names *names, sc_str s);
static inline sc_str sc_name_str(const sc_name *name) { return (sc_str){name->text, name->size}; }

#endif
