// What to do about operators that cannot be lowered: the rows of foreign.def, and what holds of all
// others of a kind.
#include <stdio.h>

#include "ops/op.h"

static const struct {
    const char *name, *hint;
} foreign[] = {
#define FOREIGN(name, hint) {name, hint},
#include "ops/foreign.def"
#undef FOREIGN
};

enum { NAME_MAX_BYTES = 160 };

// Does a name fit a pattern whose '*' stand for anything?
static bool fits(const char *name, const char *pattern) {
    for (; *pattern && *pattern != '*'; name++, pattern++)
        if (*name != *pattern) return false;
    if (!*pattern) return !*name;
    for (; *name; name++)
        if (fits(name, pattern + 1)) return true;
    return !pattern[1];
}

const char *sc_op_advice(const sc_op *op) {
    if (strlen(op->name) > NAME_MAX_BYTES) return NULL;
    for (size_t i = 0; i < SC_COUNT_OF(foreign); i++)
        if (fits(op->name, foreign[i].name)) return foreign[i].hint;
    return NULL;
}

// Is it a form with numbers of an operator that is known with tensors?
static bool has_tensor_form(const char *name) {
    if (strlen(name) > NAME_MAX_BYTES || !fits(name, "*.*calar*")) return false;
    const int base = (int)strcspn(name, ".");
    char with_tensors[NAME_MAX_BYTES + 8];
    snprintf(with_tensors, sizeof with_tensors, "%.*s.Tensor", base, name);
    return sc_op_find((sc_str){name, (size_t)base}) || sc_op_find(sc_str_from(with_tensors));
}

const char *sc_op_foreign_hint(const sc_op *op) {
    const char *advice = sc_op_advice(op);
    if (advice) return advice;
    if (has_tensor_form(op->name)) return "Pass its numbers as tensors, such as torch.tensor(2.0).";
    if (sc_str_starts_with(sc_str_from(op->name), "aten::"))
        return "Write this line with other operators; `sconce operators` tells which are known.";
    return "Call plain functions of PyTorch here: torch.export looks into those, but not into the "
           "operators of other libraries.";
}
