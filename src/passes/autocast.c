// torch.autocast on the CPU: inside such a region some operators compute in the low-precision
// dtype, some in float32, some in the widest dtype among their operands; the others take what
// comes. The lists are PyTorch's, as far as their operators are in our table. A listed operator's
// own expansion runs with autocast off; that of any other operator runs with it on.
#include "passes/trace.h"

static const uint16_t in_low_precision[] = {
    SC_OP_conv1d,
    SC_OP_conv1d_padding,
    SC_OP_conv2d,
    SC_OP_conv2d_padding,
    SC_OP_conv3d,
    SC_OP_conv3d_padding,
    SC_OP_conv_transpose1d,
    SC_OP_conv_transpose2d_input,
    SC_OP_conv_transpose3d_input,
    SC_OP_bmm,
    SC_OP_mm,
    SC_OP_baddbmm,
    SC_OP_addmm,
    SC_OP_linear,
    SC_OP_matmul,
    SC_OP_prelu,
    SC_OP_scaled_dot_product_attention,
};

static const uint16_t in_float[] = {
    SC_OP_avg_pool3d,
    SC_OP_max_pool3d,
    SC_OP_adaptive_avg_pool3d,
    SC_OP_adaptive_max_pool3d,
    SC_OP_binary_cross_entropy,
    SC_OP_binary_cross_entropy_with_logits,
    SC_OP_cross_entropy_loss,
    SC_OP_nll_loss,
    SC_OP_nll_loss2d,
    SC_OP_mse_loss,
    SC_OP_l1_loss,
    SC_OP_smooth_l1_loss,
    SC_OP_huber_loss,
    SC_OP_soft_margin_loss,
    SC_OP_kl_div,
    SC_OP_grid_sampler,
    SC_OP_prod,
    SC_OP_prod_dim_int,
    SC_OP_cdist,
    SC_OP_trace,
    SC_OP_stft,
    SC_OP_polar,
    SC_OP_view_as_complex,
    SC_OP_reflection_pad1d,
    SC_OP_reflection_pad2d,
    SC_OP_replication_pad1d,
    SC_OP_replication_pad2d,
    SC_OP_replication_pad3d,
    SC_OP_fft_fft,
    SC_OP_fft_rfft,
    SC_OP_fft_irfft,
    SC_OP_fft_fft2,
    SC_OP_linalg_inv_ex,
    SC_OP_linalg_cholesky_ex,
};

static const uint16_t in_widest[] = {SC_OP_cat, SC_OP_stack, SC_OP_index_copy};

static bool lists(const uint16_t *ids, size_t count, const sc_op *op) {
    for (size_t i = 0; i < count; i++)
        if (ids[i] == op->id) return true;
    return false;
}

// float64 never takes part.
static bool is_castable(sc_x x) {
    return x->kind == SC_X_TENSOR && x_is_float(x) && x_dtype_of(x) != SC_DTYPE_F64;
}

static sc_dtype widest(sc_x x, sc_dtype found) {
    if (is_castable(x)) return x_dtype_of(x) == SC_DTYPE_F32 ? SC_DTYPE_F32 : found;
    for (uint32_t i = 0; x->kind == SC_X_LIST && i < x->count; i++)
        found = widest(x->items[i], found);
    return found;
}

static sc_x cast(sc_trace *t, sc_x x, sc_dtype dtype) {
    if (is_castable(x)) return f_to(t, x, dtype);
    if (x->kind != SC_X_LIST) return x;
    sc_x *items = sc_new_array(t->arena, sc_x, x->count + 1);
    for (uint32_t i = 0; i < x->count; i++) items[i] = cast(t, x->items[i], dtype);
    return x_list_of(t, items, x->count);
}

bool sc_trace_autocast(sc_trace *t, const sc_op *op, sc_x *args, uint32_t count) {
    sc_dtype dtype = SC_DTYPE_NONE;
    if (lists(in_low_precision, SC_COUNT_OF(in_low_precision), op))
        dtype = (sc_dtype)t->autocast.dtype;
    else if (lists(in_float, SC_COUNT_OF(in_float), op))
        dtype = SC_DTYPE_F32;
    else if (!lists(in_widest, SC_COUNT_OF(in_widest), op))
        return false;
    t->autocast.enabled = false;
    for (uint32_t i = 0; dtype == SC_DTYPE_NONE && i < count; i++)
        if (widest(args[i], SC_DTYPE_NONE) == SC_DTYPE_F32) dtype = SC_DTYPE_F32;
    for (uint32_t i = 0; dtype != SC_DTYPE_NONE && i < count; i++)
        args[i] = cast(t, args[i], dtype);
    return true;
}
