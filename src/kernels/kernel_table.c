// The kernel column of the operator table. It names no kernel itself: a row with a kernel that does
// not exist fails to link.
#include "kernels/kernel.h"
#include "ops/kept.h"

#define KERNEL(name, takes)    extern const sc_kernel sc_k_##name;
#define POINTWISE(name, takes) extern const sc_kernel sc_k_pw_##name;
#define PRIM(name)
#define NO_KERNEL
#define OP(id, schema, out, infer, expand, kernel, ...) kernel
#include "ops/ops.def"
#undef OP
#undef NO_KERNEL
#undef PRIM
#undef POINTWISE
#undef KERNEL

#define KERNEL(name, takes)    &sc_k_##name
#define POINTWISE(name, takes) &sc_k_pw_##name
#define PRIM(name)             NULL
#define NO_KERNEL              NULL
static const sc_kernel *const kernels[SC_OP_COUNT] = {
#define OP(id, schema, out, infer, expand, kernel, ...) SC_KEPT(id, [SC_OP_##id] = kernel, )
#include "ops/ops.def"
#undef OP
};

const sc_kernel *sc_kernel_get(sc_op_id id) {
    return (unsigned)id < SC_OP_COUNT ? kernels[id] : NULL;
}
