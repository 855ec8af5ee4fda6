// The two memory layouts that programs use: row-major, and channels-last for ranks 4 and 5.
#include "ir/layout.h"

static const uint8_t nhwc_order[] = {0, 2, 3, 1};
static const uint8_t ndhwc_order[] = {0, 2, 3, 4, 1};

bool sc_spec_is_nhwc(sc_exprs *exprs, const sc_spec *spec) {
    if (spec->rank != 4 && spec->rank != 5) return false;
    if (sc_spec_is_contiguous(exprs, spec)) return false;
    return spec->rank == 4 ? sc_spec_is_channels_last(exprs, spec)
                           : sc_spec_is_channels_last_3d(exprs, spec);
}

void sc_spec_set_layout(sc_exprs *exprs, sc_spec *spec, bool nhwc) {
    SC_ASSERT(!nhwc || spec->rank == 4 || spec->rank == 5);
    sc_dim strides[SC_RANK_MAX];
    spec->offset = sc_dim_int(0);
    spec->strides = strides;
    if (nhwc)
        sc_spec_set_order(exprs, spec, spec->rank == 4 ? nhwc_order : ndhwc_order);
    else
        sc_spec_set_contiguous(exprs, spec);
    spec->strides = sc_dims_share(exprs, strides, spec->rank);
}

static bool has_strides(const sc_spec *spec, const sc_spec *like) {
    for (uint32_t i = 0; i < spec->rank; i++)
        if (!sc_dim_equal(spec->strides[i], like->strides[i])) return false;
    return sc_dim_is(spec->offset, 0);
}

void sc_spec_canonicalise(sc_exprs *exprs, sc_spec *spec) {
    sc_dim strides[SC_RANK_MAX];
    sc_spec wanted = *spec;
    wanted.strides = strides;
    wanted.offset = sc_dim_int(0);
    if (sc_spec_is_nhwc(exprs, spec))
        sc_spec_set_order(exprs, &wanted, spec->rank == 4 ? nhwc_order : ndhwc_order);
    else
        sc_spec_set_contiguous(exprs, &wanted);
    if (has_strides(spec, &wanted)) return;
    wanted.strides = sc_dims_share(exprs, strides, spec->rank);
    *spec = wanted;
}

sc_arg sc_arg_dim_order(sc_arena *arena, sc_exprs *exprs, const sc_spec *spec) {
    int64_t order[SC_RANK_MAX];
    bool nhwc = sc_spec_is_nhwc(exprs, spec);
    for (uint32_t i = 0; i < spec->rank; i++)
        order[i] = !nhwc ? i : spec->rank == 4 ? nhwc_order[i] : ndhwc_order[i];
    return sc_arg_ints(arena, order, spec->rank);
}
