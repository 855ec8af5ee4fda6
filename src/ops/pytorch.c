// PyTorch's own list of operators (pytorch.def), of which the table has most.
#include <stdlib.h>

#include "ops/op.h"

static const char *const names[] = {
#define VERSION(text)
#define PYTORCH(...) __VA_ARGS__,
#include "ops/pytorch.def"
#undef PYTORCH
#undef VERSION
};

static const char version[] =
#define PYTORCH(...)
#define VERSION(text) text
#include "ops/pytorch.def"
#undef VERSION
#undef PYTORCH
    ;

uint32_t sc_pytorch_count(void) { return SC_COUNT_OF(names); }

const char *sc_pytorch_name(uint32_t index) {
    SC_ASSERT(index < SC_COUNT_OF(names));
    return names[index];
}

const char *sc_pytorch_version(void) { return version; }

static int compare(const void *name, const void *row) {
    return strcmp(name, *(const char *const *)row);
}

bool sc_op_is_pytorch(const sc_op *op) {
    return bsearch(op->name, names, SC_COUNT_OF(names), sizeof *names, compare) != NULL;
}
