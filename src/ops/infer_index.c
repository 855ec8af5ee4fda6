// Rules of ops that read or write by index tensors, masks and row numbers, and of those whose
// result size depends on values: that size becomes a fresh symbol, bounded by what is known.
#include "ops/rule.h"

// A size that depends on the data. At run time the result begins with room for the most elements,
// and the kernel makes it smaller.
static sc_status need_index(sc_infer *in, const sc_spec *index) {
    if (sc_dtype_is_integral((sc_dtype)index->dtype, false)) return SC_OK;
    return sc_rule_fail(in, SC_ERR_DTYPE, "%s needs an integer index, not %s", in->op->name,
                        sc_dtype_name((sc_dtype)index->dtype));
}

sc_status sc_infer_gather(sc_infer *in) {
    const sc_spec *self = sc_rule_tensor(in, 0), *index = sc_rule_tensor_named(in, "index");
    uint32_t dim;
    SC_TRY(sc_rule_wrapped(in, "dim", self->rank, &dim));
    SC_TRY(need_index(in, index));
    // PyTorch does not check an index that has no elements.
    if (!sc_dim_is(sc_spec_numel(in->exprs, index), 0) &&
        (self->rank ? self->rank : 1) != (index->rank ? index->rank : 1))
        return sc_rule_fail(in, SC_ERR_SHAPE, "%s: tensor %s and index %s differ in dimensions",
                            in->op->name, sc_rule_text(in, self), sc_rule_text(in, index));
    return sc_rule_publish_like(in, (sc_dtype)self->dtype, index);
}

sc_status sc_infer_index_select(sc_infer *in) {
    const sc_spec *self = sc_rule_tensor(in, 0), *index = sc_rule_tensor_named(in, "index");
    uint32_t dim;
    SC_TRY(sc_rule_wrapped(in, "dim", self->rank, &dim));
    SC_TRY(need_index(in, index));
    if (index->rank > 1)
        return sc_rule_fail(in, SC_ERR_SHAPE, "%s needs a one-dimensional index", in->op->name);
    sc_spec spec = sc_rule_like(in, (sc_dtype)self->dtype, self);
    if (self->rank) spec.sizes[dim] = index->rank ? index->sizes[0] : sc_dim_int(1);
    return sc_rule_publish_contiguous(in, spec);
}

// --- index.Tensor --------------------------------------------------------------------------------

// One entry for every dim of self: the index along it, or NULL for a whole dim. A mask of k dims
// stands for k index vectors of one common unknown length.
typedef struct index_plan {
    const sc_spec *by_dim[SC_RANK_MAX];
    uint32_t rank;
} index_plan;

static bool is_mask(const sc_spec *index) {
    return index->dtype == SC_DTYPE_BOOL || index->dtype == SC_DTYPE_U8;
}

// Vectors of a mask are broadcast with other indices, so their length must be known exactly.
static sc_dim mask_size(sc_infer *in, const sc_iarg *index) {
    sc_dim numel = sc_spec_numel(in->exprs, index->tensor);
    int64_t count = 0;
    if (!index->mask || numel.expr) return sc_rule_counted(in, numel);
    for (int64_t i = 0; i < numel.value; i++) count += index->mask[i] != 0;
    return sc_dim_int(count);
}

static sc_status add_mask(sc_infer *in, index_plan *plan, const sc_spec *self,
                          const sc_iarg *index) {
    const sc_spec *mask = index->tensor;
    sc_spec *vector = sc_new(in->arena, sc_spec);
    *vector = sc_rule_new(in, SC_DTYPE_I64, 1);
    vector->sizes[0] = mask_size(in, index);
    sc_rule_contiguous(in, vector);
    for (uint32_t d = 0; d < mask->rank; d++) {
        if (plan->rank == self->rank)
            return sc_rule_fail(in, SC_ERR_SHAPE, "%s: more indices than dimensions", in->op->name);
        SC_TRY(sc_rule_same(in, mask->sizes[d], self->sizes[plan->rank],
                            "the sizes of mask and tensor"));
        plan->by_dim[plan->rank++] = vector;
    }
    return SC_OK;
}

static sc_status plan_indices(sc_infer *in, const sc_spec *self, index_plan *plan) {
    const sc_iarg *indices = &in->args[1];
    for (uint32_t i = 0; i < indices->count; i++) {
        const sc_spec *index =
            indices->items[i].kind == SC_IARG_TENSOR ? indices->items[i].tensor : NULL;
        if (index && is_mask(index)) {
            SC_TRY(add_mask(in, plan, self, &indices->items[i]));
            continue;
        }
        if (index) SC_TRY(need_index(in, index));
        if (plan->rank == self->rank)
            return sc_rule_fail(in, SC_ERR_SHAPE, "%s: more indices than dimensions", in->op->name);
        plan->by_dim[plan->rank++] = index;
    }
    while (plan->rank < self->rank) plan->by_dim[plan->rank++] = NULL;
    return SC_OK;
}

// Whole dims between two indexed ones send the indexed part to the front.
static bool is_split(const index_plan *plan) {
    uint32_t runs = 0;
    for (uint32_t d = 0; d < plan->rank; d++)
        runs += plan->by_dim[d] && (d == 0 || !plan->by_dim[d - 1]);
    return runs > 1;
}

static sc_status joint_index(sc_infer *in, const index_plan *plan, sc_spec *joint) {
    const sc_spec *indices[SC_RANK_MAX];
    uint32_t count = 0;
    for (uint32_t d = 0; d < plan->rank; d++)
        if (plan->by_dim[d]) indices[count++] = plan->by_dim[d];
    return sc_rule_broadcast(in, indices, count, joint);
}

// The sizes of the result go to `out`. `source` gets the strides of self in that shape, 0 for dims
// that indices choose.
static void place_dims(const sc_spec *self, const index_plan *plan, const sc_spec *joint,
                       bool split, sc_spec *out, sc_spec *source) {
    uint32_t rank = 0;
    bool placed = false;
    for (uint32_t d = 0; d < self->rank; d++) {
        if (!placed && (split || plan->by_dim[d])) {
            placed = true;
            for (uint32_t i = 0; i < joint->rank; i++) {
                source->strides[rank] = sc_dim_int(0);
                out->sizes[rank++] = joint->sizes[i];
            }
        }
        if (!plan->by_dim[d]) {
            source->strides[rank] = self->strides[d];
            out->sizes[rank++] = self->sizes[d];
        }
    }
}

// With indices that have no dims, PyTorch pairs the remaining sizes with the strides of the first
// dims, indexed ones coming first when they are split.
static void first_strides(const sc_spec *self, const index_plan *plan, bool split,
                          sc_spec *source) {
    uint32_t count = 0;
    for (uint32_t pass = 0; pass < (split ? 2 : 1); pass++)
        for (uint32_t d = 0; d < self->rank && count < source->rank; d++)
            if (!split || (plan->by_dim[d] != NULL) == (pass == 0))
                source->strides[count++] = self->strides[d];
}

sc_status sc_infer_index(sc_infer *in) {
    const sc_spec *self = sc_rule_tensor(in, 0);
    index_plan plan = {.rank = 0};
    sc_spec joint = {0};
    SC_TRY(plan_indices(in, self, &plan));
    SC_TRY(joint_index(in, &plan, &joint));
    bool split = is_split(&plan);
    uint32_t rank = joint.rank;
    for (uint32_t d = 0; d < self->rank; d++) rank += !plan.by_dim[d];
    SC_TRY(sc_rule_fits_rank(in, rank));
    sc_spec spec = sc_rule_new(in, (sc_dtype)self->dtype, rank);
    sc_spec source = sc_rule_new(in, (sc_dtype)self->dtype, rank);
    place_dims(self, &plan, &joint, split, &spec, &source);
    if (joint.rank == 0) first_strides(self, &plan, split, &source);
    source.sizes = spec.sizes;
    const sc_spec *operand = &source;
    if (in->runtime || sc_dim_is(sc_spec_numel(in->exprs, self), 0))
        sc_rule_contiguous(in, &spec);
    else
        sc_rule_perm_strides(in, &spec, &operand, 1);
    return sc_rule_publish(in, spec);
}

// --- Sizes that depend on values -----------------------------------------------------------------

// PyTorch has the places of one dim after each other.
sc_status sc_infer_nonzero(sc_infer *in) {
    const sc_spec *self = sc_rule_tensor(in, 0);
    sc_spec spec = sc_rule_new(in, SC_DTYPE_I64, 2);
    spec.sizes[0] = sc_rule_counted(in, sc_spec_numel(in->exprs, self));
    spec.sizes[1] = sc_dim_int(self->rank);
    if (in->runtime) return sc_rule_publish_counted(in, spec);
    spec.strides[0] = sc_dim_int(1);
    spec.strides[1] = spec.sizes[0];
    return sc_rule_publish(in, spec);
}

sc_status sc_infer_masked_select(sc_infer *in) {
    const sc_spec *both[2] = {sc_rule_tensor(in, 0), sc_rule_tensor(in, 1)};
    sc_spec joint = {0};
    SC_TRY(sc_rule_broadcast(in, both, 2, &joint));
    sc_spec spec = sc_rule_new(in, (sc_dtype)both[0]->dtype, 1);
    spec.sizes[0] = sc_rule_counted(in, sc_spec_numel(in->exprs, &joint));
    return sc_rule_publish_counted(in, spec);
}

// Unlike other masked operators it makes its result as large as the mask.
sc_status sc_infer_masked_scatter(sc_infer *in) {
    const sc_spec *both[2] = {sc_rule_tensor(in, 0), sc_rule_tensor(in, 1)};
    sc_spec joint = sc_rule_new(in, (sc_dtype)both[0]->dtype, 0);
    SC_TRY(sc_rule_broadcast(in, both, 2, &joint));
    return sc_rule_publish_contiguous(in, joint);
}

sc_status sc_infer_unique(sc_infer *in) {
    const sc_spec *self = sc_rule_tensor(in, 0);
    sc_dim count = sc_rule_counted(in, sc_spec_numel(in->exprs, self));
    sc_spec values = sc_rule_new(in, (sc_dtype)self->dtype, 1), inverse, counts;
    values.sizes[0] = count;
    if (sc_rule_bool(in, "return_inverse", false)) {
        inverse = sc_rule_like(in, SC_DTYPE_I64, self);
    } else {
        inverse = sc_rule_new(in, SC_DTYPE_I64, 1);
        inverse.sizes[0] = sc_dim_int(0);
    }
    counts = sc_rule_new(in, SC_DTYPE_I64, 1);
    counts.sizes[0] = sc_rule_bool(in, "return_counts", false) ? count : sc_dim_int(0);
    sc_rule_contiguous(in, &values);
    sc_rule_contiguous(in, &inverse);
    sc_rule_contiguous(in, &counts);
    sc_iout *outs = sc_infer_outs(in, 3);
    sc_rule_set(&outs[0], values);
    sc_rule_set(&outs[1], inverse);
    sc_rule_set(&outs[2], counts);
    outs[0].is_most = outs[2].is_most = true;
    return SC_OK;
}

static sc_status count_of_bins(sc_infer *in, const sc_iarg *self, int64_t least, sc_dim *out) {
    int64_t most = least;
    if (in->exprs) {
        *out = sc_exprs_fresh(in->exprs, (sc_range){least, SC_DIM_INF});
        return SC_OK;
    }
    sc_dim numel = sc_spec_numel(in->exprs, self->tensor);
    if (!self->data && numel.value > 0)
        return sc_rule_fail(in, SC_ERR_UNSUPPORTED, "%s: the numbers are not known", in->op->name);
    for (int64_t i = 0; i < numel.value; i++) {
        if (self->data[i] < 0 || self->data[i] == INT64_MAX)
            return sc_rule_fail(in, SC_ERR_INDEX, "%s cannot count negative numbers", in->op->name);
        most = sc_max_i64(most, self->data[i] + 1);
    }
    *out = sc_dim_int(most);
    return SC_OK;
}

// As many bins as the largest number says, or the least that are asked for.
sc_status sc_infer_bincount(sc_infer *in) {
    const sc_spec *self = sc_rule_tensor(in, 0), *weights = sc_rule_tensor(in, 1);
    sc_dim least = sc_rule_dim(in, "minlength", 0);
    if (self->rank != 1 || (weights && weights->rank != 1))
        return sc_rule_fail(in, SC_ERR_SHAPE, "%s needs vectors", in->op->name);
    if (self->dtype != SC_DTYPE_I64)
        return sc_fail(in->ctx, SC_ERR_DTYPE, "Count them as int64: torch.bincount(x.long()).",
                       "%s counts integers, not %s", in->op->name,
                       sc_dtype_name((sc_dtype)self->dtype));
    if (weights) SC_TRY(sc_rule_same(in, weights->sizes[0], self->sizes[0], "weights and numbers"));
    bool is_single = weights && weights->dtype == SC_DTYPE_F32;
    sc_dtype dtype = !weights ? SC_DTYPE_I64 : is_single ? SC_DTYPE_F32 : SC_DTYPE_F64;
    sc_spec spec = sc_rule_new(in, dtype, 1);
    SC_TRY(count_of_bins(in, &in->args[0], least.expr ? 0 : sc_max_i64(least.value, 0),
                         &spec.sizes[0]));
    return sc_rule_publish_contiguous(in, spec);
}

// --- Looking up ----------------------------------------------------------------------------------

static sc_status publish_found(sc_infer *in, const sc_spec *values) {
    bool narrow = sc_rule_bool(in, "out_int32", false);
    return sc_rule_publish_like(in, narrow ? SC_DTYPE_I32 : SC_DTYPE_I64, values);
}

sc_status sc_infer_searchsorted(sc_infer *in) { return publish_found(in, sc_rule_tensor(in, 1)); }

sc_status sc_infer_bucketize(sc_infer *in) { return publish_found(in, sc_rule_tensor(in, 0)); }

// Sizes of the indices, then one row of the table.
static sc_status publish_rows(sc_infer *in, sc_dtype dtype, const sc_spec *indices, sc_dim row) {
    SC_TRY(need_index(in, indices));
    SC_TRY(sc_rule_fits_rank(in, indices->rank + 1u));
    sc_spec spec = sc_rule_new(in, dtype, indices->rank + 1u);
    for (uint32_t d = 0; d < indices->rank; d++) spec.sizes[d] = indices->sizes[d];
    spec.sizes[indices->rank] = row;
    return sc_rule_publish_contiguous(in, spec);
}

static sc_status need_table(sc_infer *in, const sc_spec *weight) {
    if (weight->rank == 2) return SC_OK;
    return sc_rule_fail(in, SC_ERR_SHAPE,
                        "%s: the table must have 2 dimensions, but its sizes are %s", in->op->name,
                        sc_rule_text(in, weight));
}

sc_status sc_infer_embedding(sc_infer *in) {
    const sc_spec *weight = sc_rule_tensor(in, 0), *indices = sc_rule_tensor(in, 1);
    SC_TRY(need_table(in, weight));
    return publish_rows(in, (sc_dtype)weight->dtype, indices, weight->sizes[1]);
}

// Rows of the table hold `packed` values a byte.
static sc_status quantized_embedding(sc_infer *in, int64_t packed) {
    const sc_spec *weight = sc_rule_tensor(in, 0), *scales = sc_rule_tensor(in, 1);
    int64_t least, most;
    SC_TRY(need_table(in, weight));
    SC_TRY(sc_rule_int(in, sc_rule_arg(in, "weight_quant_min"), "the range", &least));
    SC_TRY(sc_rule_int(in, sc_rule_arg(in, "weight_quant_max"), "the range", &most));
    sc_dim row = sc_dim_mul(in->exprs, weight->sizes[1], sc_dim_int(packed));
    sc_dtype dtype = sc_rule_dtype(in, "dtype", (sc_dtype)scales->dtype);
    return publish_rows(in, dtype, sc_rule_tensor_named(in, "indices"), row);
}

sc_status sc_infer_embedding_byte(sc_infer *in) { return quantized_embedding(in, 1); }
sc_status sc_infer_embedding_4bit(sc_infer *in) { return quantized_embedding(in, 2); }
sc_status sc_infer_embedding_2bit(sc_infer *in) { return quantized_embedding(in, 4); }

sc_status sc_infer_embedding_dense_backward(sc_infer *in) {
    const sc_spec *grad = sc_rule_tensor(in, 0);
    if (!grad->rank)
        return sc_rule_fail(in, SC_ERR_SHAPE, "%s: the gradient has no rows", in->op->name);
    sc_spec spec = sc_rule_new(in, (sc_dtype)grad->dtype, 2);
    spec.sizes[0] = sc_rule_dim(in, "num_weights", 1);
    spec.sizes[1] = grad->sizes[grad->rank - 1];
    return sc_rule_publish_contiguous(in, spec);
}

// Results besides the bags serve the backward pass; the modes are sum 0, mean 1, max 2.
sc_status sc_infer_embedding_bag(sc_infer *in) {
    const sc_spec *weight = sc_rule_tensor(in, 0), *indices = sc_rule_tensor(in, 1);
    const sc_spec *offsets = sc_rule_tensor(in, 2);
    const sc_spec *scale = sc_rule_tensor_named(in, "per_sample_weights");
    int64_t mode, padding;
    SC_TRY(need_table(in, weight));
    SC_TRY(sc_rule_int(in, sc_rule_arg(in, "mode"), "the mode", &mode));
    SC_TRY(sc_rule_int(in, sc_rule_arg(in, "padding_idx"), "the padding index", &padding));
    if (indices->rank != 1 || offsets->rank != 1)
        return sc_rule_fail(in, SC_ERR_SHAPE, "%s: indices and offsets must be one-dimensional",
                            in->op->name);
    sc_dim bags = offsets->sizes[0];
    if (sc_rule_bool(in, "include_last_offset", false))
        bags = sc_dim_sub(in->exprs, bags, sc_dim_int(1));
    sc_spec spec = sc_rule_new(in, (sc_dtype)weight->dtype, 2);
    spec.sizes[0] = bags;
    spec.sizes[1] = weight->sizes[1];
    sc_rule_contiguous(in, &spec);
    if (scale && scale->rank != 1)
        return sc_rule_fail(in, SC_ERR_SHAPE,
                            "%s: per_sample_weights must be as long as the indices", in->op->name);
    bool quick = (weight->dtype == SC_DTYPE_F32 || weight->dtype == SC_DTYPE_F16) && padding < 0 &&
                 (in->runtime || sc_dim_is(weight->strides[1], 1)) &&
                 (!scale || in->runtime || sc_dim_is(scale->strides[0], 1));
    sc_iout *outs = sc_infer_outs(in, 4);
    sc_dtype dtype = (sc_dtype)offsets->dtype;
    sc_rule_set(&outs[0], spec);
    sc_rule_set_vector(in, &outs[1], dtype, mode || !quick ? indices->sizes[0] : sc_dim_int(0));
    sc_rule_set_vector(in, &outs[2], dtype, bags);
    if (mode == 2) {
        spec = sc_rule_like(in, dtype, &outs[0].spec);
        sc_rule_contiguous(in, &spec);
        sc_rule_set(&outs[3], spec);
    } else {
        sc_rule_set_vector(in, &outs[3], dtype, bags);
    }
    return SC_OK;
}

// Sized as the offsets, the last one included.
sc_status sc_infer_embedding_bag_forward_only(sc_infer *in) {
    SC_TRY(sc_infer_embedding_bag(in));
    const sc_spec *offsets = sc_rule_tensor(in, 2);
    sc_rule_set_vector(in, &in->outs[2], (sc_dtype)offsets->dtype, offsets->sizes[0]);
    return SC_OK;
}
