// Calls that many expansions share. Prefix: sc_f_, functions that add calls to a trace.
#ifndef SC_WORDS_CALLS_H
#define SC_WORDS_CALLS_H

#include "trace/trace.h"

sc_x sc_f_full(sc_trace *t, sc_x sizes, sc_x value, sc_dtype dtype);
sc_x sc_f_zeros(sc_trace *t, sc_x sizes, sc_dtype dtype);
sc_x sc_f_zeros_of(sc_trace *t, sc_x like);  // of the sizes and the dtype of `like`
// scalar_tensor(value, dtype, strided, cpu)
sc_x sc_f_scalar(sc_trace *t, sc_x value, sc_dtype dtype);
sc_x sc_f_scalar_like(sc_trace *t, sc_x value, sc_x like);  // in the dtype of `like`
// A number as a scalar tensor in the dtype of `like`; tensors stay.
sc_x sc_f_tensor_like(sc_trace *t, sc_x x, sc_x like);
// The dtype that a number and a tensor promote to: the tensor's, unless the number's category is
// higher.
sc_dtype sc_f_dtype_with(sc_x number, sc_x tensor);
sc_x sc_f_arange(sc_trace *t, sc_x start, sc_x end, sc_dtype dtype);  // dtype NONE: not given
sc_x sc_f_range(sc_trace *t, sc_x count, sc_dtype dtype);             // from 0
// Random numbers from [0, 1), as many as `like` has, in its dtype if that is a float.
sc_x sc_f_evenly(sc_trace *t, sc_x like);
sc_x sc_f_to(sc_trace *t, sc_x x, sc_dtype dtype);  // _to_copy unless it has that dtype
sc_x sc_f_to_dtype_of(sc_trace *t, sc_x x, sc_x like);
// The same, with layout and device, in a dtype that an argument gives; x itself if it is absent.
sc_x sc_f_to_given(sc_trace *t, sc_x x, sc_x dtype);
sc_x sc_f_widen(sc_trace *t, sc_x x);  // f16 and bf16 to the dtype that PyTorch computes in
sc_x sc_f_clone(sc_trace *t, sc_x x);  // clone(x, contiguous_format)
sc_x sc_f_contiguous(sc_trace *t, sc_x x);
sc_x sc_f_view(sc_trace *t, sc_x x, const sc_dim *sizes, uint32_t rank);
// x, or a copy of it whose elements lie so that view(x, sizes) is one.
sc_x sc_f_viewable(sc_trace *t, sc_x x, sc_x sizes);
sc_x sc_f_reshape(sc_trace *t, sc_x x, const sc_dim *sizes, uint32_t rank);
sc_x sc_f_permute(sc_trace *t, sc_x x, const int64_t *dims);
sc_x sc_f_transpose(sc_trace *t, sc_x x, int64_t dim0, int64_t dim1);  // a permute
sc_x sc_f_unsqueeze(sc_trace *t, sc_x x, int64_t dim);
sc_x sc_f_squeeze(sc_trace *t, sc_x x, int64_t dim);
sc_x sc_f_expand(sc_trace *t, sc_x x, const sc_dim *sizes, uint32_t rank);
sc_x sc_f_slice(sc_trace *t, sc_x x, int64_t dim, sc_x start, sc_x end);
sc_x sc_f_select(sc_trace *t, sc_x x, int64_t dim, int64_t index);
sc_x sc_f_cat(sc_trace *t, const sc_x *items, uint32_t count, int64_t dim);
sc_x sc_f_join(sc_trace *t, sc_x x, sc_x y, int64_t dim);  // the two, by cat
sc_x sc_f_sum(sc_trace *t, sc_x x, sc_x dims, bool keepdim);
// matmul and linear as products of the core dialect (product.c).
sc_x sc_f_matmul(sc_trace *t, sc_x a, sc_x b);
// For each of 0, 1, ... `count` - 1 the run that it belongs to: run g ends before ends[g]; int64.
sc_x sc_f_runs(sc_trace *t, sc_x ends, sc_dim count);
// Programs say that open sizes are positive, but PyTorch also runs them with 0.
bool sc_f_may_be_empty(sc_dim size);
// The largest element along dims. If a dim is empty in a run, the result is `value`, which must not
// be larger than any element.
sc_x sc_f_amax_or(sc_trace *t, sc_x x, sc_x dims, bool keepdim, double value);
sc_x sc_f_linear(sc_trace *t, sc_x x, sc_x weight, sc_x bias);
sc_x sc_f_reduce_loss(sc_trace *t, sc_x loss, sc_x reduction);  // 0 none, 1 mean, 2 sum
// The dtype in which PyTorch computes f16 and bf16; other dtypes stay.
sc_dtype sc_f_opmath(sc_dtype dtype);
// Replaces one -1 by the size that remains, with the arithmetic nodes that this needs.
bool sc_f_infer_size(sc_trace *t, sc_x x, sc_x sizes, sc_dim *out, uint32_t *rank);
sc_x sc_f_flat(sc_trace *t, sc_x x);  // reshape(x, [-1])

#endif
