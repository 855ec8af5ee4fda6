// The namespaces of the operator table, and which of them are those of libraries.
#include "ops/library.h"

typedef struct namespace_row {
    const char *name;
    bool is_library;
} namespace_row;

static const namespace_row namespaces[] = {
#define NAMESPACE(name, is_library) {#name, is_library},
#include "ops/namespaces.def"
#undef NAMESPACE
};

static bool is_within(const char *name, const char *space) {
    const size_t size = strlen(space);
    return strncmp(name, space, size) == 0 && name[size] == ':';
}

bool sc_op_is_elsewhere(const sc_op *op) {
    if (!sc_op_has(op, SC_FOREIGN)) return false;
    for (size_t i = 0; i < SC_COUNT_OF(namespaces); i++)
        if (is_within(op->name, namespaces[i].name)) return false;
    return true;
}

const char *sc_op_library(const sc_op *op) {
    for (size_t i = 0; i < SC_COUNT_OF(namespaces); i++)
        if (is_within(op->name, namespaces[i].name))
            return namespaces[i].is_library ? namespaces[i].name : NULL;
    sc_panic(__FILE__, __LINE__, "an operator's namespace has no row in ops/namespaces.def");
}
