// Rules of torchvision's operators on boxes and regions.
#include "ops/rule.h"

sc_status sc_infer_nms(sc_infer *in) {
    const sc_spec *dets = sc_rule_tensor(in, 0), *scores = sc_rule_tensor(in, 1);
    if (dets->rank != 2 || scores->rank != 1 || !sc_dim_is(dets->sizes[1], 4))
        return sc_rule_fail(in, SC_ERR_SHAPE, "%s needs four numbers and a score for each box",
                            in->op->name);
    SC_TRY(sc_rule_same(in, dets->sizes[0], scores->sizes[0], "boxes and scores"));
    sc_spec spec = sc_rule_new(in, SC_DTYPE_I64, 1);
    spec.sizes[0] = sc_rule_counted(in, dets->sizes[0]);
    return sc_rule_publish_counted(in, spec);
}

// One image of bins for each region; `positions` divides the channels among the bins.
static sc_status region_spec(sc_infer *in, bool positions, sc_spec *out) {
    const sc_spec *input = sc_rule_tensor(in, 0), *rois = sc_rule_tensor(in, 1);
    if (input->rank != 4 || rois->rank != 2 || !sc_dim_is(rois->sizes[1], 5))
        return sc_rule_fail(in, SC_ERR_SHAPE, "%s: images %s do not match regions %s", in->op->name,
                            sc_rule_text(in, input), sc_rule_text(in, rois));
    sc_spec spec = sc_rule_like(in, (sc_dtype)input->dtype, input);
    spec.sizes[0] = rois->sizes[0];
    spec.sizes[2] = sc_rule_dim(in, "pooled_height", 1);
    spec.sizes[3] = sc_rule_dim(in, "pooled_width", 1);
    sc_dim bins = sc_dim_mul(in->exprs, spec.sizes[2], spec.sizes[3]);
    if (sc_dim_range(spec.sizes[2]).max < 1 || sc_dim_range(spec.sizes[3]).max < 1)
        return sc_rule_fail(in, SC_ERR_ARGUMENT, "%s needs at least one bin", in->op->name);
    if (positions) spec.sizes[1] = sc_dim_floordiv(in->exprs, input->sizes[1], bins);
    sc_rule_contiguous(in, &spec);
    *out = spec;
    return SC_OK;
}

sc_status sc_infer_roi_align(sc_infer *in) {
    sc_spec spec;
    SC_TRY(region_spec(in, false, &spec));
    return sc_rule_publish(in, spec);
}

static sc_status publish_both(sc_infer *in, sc_spec spec) {
    sc_iout *outs = sc_infer_outs(in, 2);
    sc_rule_set(&outs[0], spec);
    spec.dtype = SC_DTYPE_I32;
    sc_rule_set(&outs[1], spec);
    return SC_OK;
}

sc_status sc_infer_roi_pool(sc_infer *in) {
    sc_spec spec;
    SC_TRY(region_spec(in, false, &spec));
    return publish_both(in, spec);
}

sc_status sc_infer_ps_roi_align(sc_infer *in) {
    sc_spec spec;
    SC_TRY(region_spec(in, true, &spec));
    return publish_both(in, spec);
}

// The offsets say where the result has places.
sc_status sc_infer_deform_conv2d(sc_infer *in) {
    const sc_spec *input = sc_rule_tensor(in, 0), *weight = sc_rule_tensor(in, 1);
    const sc_spec *offset = sc_rule_tensor(in, 2);
    if (input->rank != 4 || weight->rank != 4 || offset->rank != 4)
        return sc_rule_fail(in, SC_ERR_SHAPE, "%s needs images, weights and offsets of 4 dims",
                            in->op->name);
    sc_spec spec = sc_rule_like(in, (sc_dtype)input->dtype, offset);
    spec.sizes[0] = input->sizes[0];
    spec.sizes[1] = weight->sizes[0];
    return sc_rule_publish_contiguous(in, spec);
}
