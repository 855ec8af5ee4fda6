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

static bool is_known_space(const char *name) {
    for (size_t i = 0; i < SC_COUNT_OF(namespaces); i++)
        if (is_within(name, namespaces[i].name)) return true;
    return false;
}

bool sc_op_is_elsewhere(const sc_op *op) {
    return sc_op_has(op, SC_FOREIGN) && !is_known_space(op->name);
}

bool sc_op_name_may_be_own(const char *name) {
    const char *colons = strstr(name, "::");
    return colons && colons != name && !is_known_space(name) && !sc_op_advice_for(name);
}

bool sc_op_may_be_own(const sc_op *op) {
    return sc_op_has(op, SC_FOREIGN) && !sc_op_has(op, SC_REFUSED) &&
           sc_op_name_may_be_own(op->name);
}

const char *sc_op_library(const sc_op *op) {
    for (size_t i = 0; i < SC_COUNT_OF(namespaces); i++)
        if (is_within(op->name, namespaces[i].name))
            return namespaces[i].is_library ? namespaces[i].name : NULL;
    sc_panic(__FILE__, __LINE__, "an operator's namespace has no row in ops/namespaces.def");
}
