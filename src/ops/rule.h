// Shared by the shape rules: reading arguments, broadcasting, layouts, publishing results.
// Prefix: sc_rule_, functions that shape rules call. Only ops/infer*.c include this.
#ifndef SC_RULE_H
#define SC_RULE_H

#include "ops/infer.h"

enum { RULE_OPERAND_MAX = 8 };

// Every rule that a row names.
#define INFER(rule) sc_status sc_infer_##rule(struct sc_infer *in);
#define BY_EXPANSION
#define OP(id, schema, out, infer, ...) infer
#include "ops/ops.def"
#undef OP
#undef BY_EXPANSION
#undef INFER

// --- Arguments -----------------------------------------------------------------------------------
// sc_infer_run has checked kinds against the schema, so these trust them. A parameter that the op
// does not have reads as None.

const sc_iarg *sc_rule_arg(const sc_infer *in, const char *param);
// The tensor at a position or under a name; NULL when None.
const sc_spec *sc_rule_tensor(const sc_infer *in, uint32_t index);
const sc_spec *sc_rule_tensor_named(const sc_infer *in, const char *param);
bool sc_rule_is_none(const sc_infer *in, const char *param);
bool sc_rule_bool(const sc_infer *in, const char *param, bool otherwise);
sc_dim sc_rule_dim(const sc_infer *in, const char *param, int64_t otherwise);
sc_dtype sc_rule_dtype(const sc_infer *in, const char *param, sc_dtype otherwise);
// An integer that shape computation must know; SC_ERR_UNSUPPORTED when it is symbolic.
sc_status sc_rule_int(const sc_infer *in, const sc_iarg *arg, const char *what, int64_t *out);
bool sc_rule_is_int(const sc_iarg *arg);
sc_dim sc_rule_item_dim(const sc_iarg *arg);  // of an int or bool
double sc_rule_number(const sc_iarg *arg);    // concrete numbers of any kind
sc_category sc_rule_category(const sc_iarg *arg);

// SC_ERR_LIMIT when a tensor cannot have so many dims.
sc_status sc_rule_fits_rank(const sc_infer *in, uint32_t rank);
// a / b, rounded up; b is positive.
sc_dim sc_rule_ceildiv(const sc_infer *in, sc_dim a, sc_dim b);

// -rank <= dim < rank into [0, rank); rank 0 counts as 1.
sc_status sc_rule_wrap_dim(const sc_infer *in, int64_t dim, uint32_t rank, uint32_t *out);
sc_status sc_rule_wrapped(const sc_infer *in, const char *param, uint32_t rank, uint32_t *out);
// A dim list or single dim as flags; None and (if `empty_is_all`) the empty list mean all dims.
sc_status sc_rule_dim_set(const sc_infer *in, const char *param, uint32_t rank, bool empty_is_all,
                          bool *flags);
// Item of an int list of 1 or `expected` items; `otherwise` when the list is None or empty.
sc_status sc_rule_item(const sc_infer *in, const char *param, uint32_t i, sc_dim otherwise,
                       sc_dim *out);

// --- Results -------------------------------------------------------------------------------------

sc_spec sc_rule_new(sc_infer *in, sc_dtype dtype, uint32_t rank);
sc_spec sc_rule_like(sc_infer *in, sc_dtype dtype,
                     const sc_spec *sizes);  // same sizes, no strides yet
// One tensor result; sc_rule_set for more, after sc_infer_outs.
sc_status sc_rule_publish(sc_infer *in, sc_spec spec);
sc_status sc_rule_publish_contiguous(sc_infer *in, sc_spec spec);
// A result whose first size the data tells: `most` of it at most.
sc_dim sc_rule_counted(sc_infer *in, sc_dim most);
sc_status sc_rule_publish_counted(sc_infer *in, sc_spec spec);                       // contiguous
sc_status sc_rule_publish_like(sc_infer *in, sc_dtype dtype, const sc_spec *sizes);  // contiguous
sc_status sc_rule_publish_preserved(sc_infer *in, sc_dtype dtype, const sc_spec *model);
// Values and, of the same sizes, where they were found.
sc_status sc_rule_publish_indexed(sc_infer *in, sc_spec values);
void sc_rule_set(sc_iout *out, sc_spec spec);
void sc_rule_contiguous(sc_infer *in, sc_spec *spec);
// One more result, of one dimension.
void sc_rule_set_vector(sc_infer *in, sc_iout *out, sc_dtype dtype, sc_dim size);
// Channels-last or row-major, as PyTorch's suggested format of `model` says.
void sc_rule_follow_format(sc_infer *in, sc_spec *spec, const sc_spec *model);
void sc_rule_set_format(sc_infer *in, sc_spec *spec, sc_memory_format format);
// Dense strides in the order that a list of dims gives; `what` names the list in messages.
sc_status sc_rule_set_order(sc_infer *in, sc_spec *spec, const sc_iarg *list, const char *what);
// Strides of empty_like(model): dense in the model's order.
void sc_rule_preserve(sc_infer *in, sc_spec *spec, const sc_spec *model);
// Strides of clone(model): a dense model's own, to the strides of dims of size 1.
void sc_rule_copied(sc_infer *in, sc_spec *spec, const sc_spec *model);
// Strides of what is computed from contiguous(model) and broadcast statistics of it.
void sc_rule_normalized(sc_infer *in, sc_spec *spec, const sc_spec *model);
// Physical order of an elementwise result; operands enter with stride 0 where they broadcast.
void sc_rule_elementwise_strides(sc_infer *in, sc_spec *spec, const sc_spec *const *operands,
                                 uint32_t count);
void sc_rule_perm_strides(sc_infer *in, sc_spec *spec, const sc_spec *const *operands,
                          uint32_t count);
sc_status sc_rule_broadcast(sc_infer *in, const sc_spec *const *operands, uint32_t count,
                            sc_spec *out);
// The common size of two dims that must agree; `what` names them in the message.
sc_status sc_rule_same(sc_infer *in, sc_dim a, sc_dim b, const char *what);
// a < b by proof, else by hint, else `otherwise`.
bool sc_rule_less(sc_dim a, sc_dim b, bool otherwise);

// Text for messages, on scratch.
const char *sc_rule_text(const sc_infer *in, const sc_spec *spec);
const char *sc_rule_dim_text(const sc_infer *in, sc_dim d);

#define sc_rule_fail(in, code, ...) sc_fail((in)->ctx, code, NULL, __VA_ARGS__)

#endif
