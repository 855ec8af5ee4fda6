// What to do about operators that the table lacks and their authors can leave out.
#include "ops/op.h"

static const struct {
    const char *name, *hint;
} foreign[] = {
#define FOREIGN(name, hint) {name, hint},
#include "ops/foreign.def"
#undef FOREIGN
};

// What vmap and jvp leave in a graph stands for rules that only PyTorch has.
#define PREDISPATCH "torch._functorch.predispatch."

const char *sc_op_foreign_hint(const sc_op *op) {
    if (strncmp(op->name, PREDISPATCH, sizeof PREDISPATCH - 1) == 0)
        return "Save exported.run_decompositions() instead: it takes vmap and jvp apart.";
    for (size_t i = 0; i < sizeof foreign / sizeof *foreign; i++)
        if (sc_str_is(sc_str_from(op->name), foreign[i].name)) return foreign[i].hint;
    return "Rewrite this line with other operators of PyTorch.";
}
