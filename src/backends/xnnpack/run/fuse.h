// Products that run with the steps around them (fuse.c).
// Prefix: sc_xnn_, the XNNPACK backend.
#ifndef SC_XNNPACK_FUSE_H
#define SC_XNNPACK_FUSE_H

#include "backends/xnnpack/run/delegate.h"

// Gives products of activations the steps that may run with them. Constants are found.
void sc_xnn_find_fusions(sc_xnn_delegate *d);
// Decides for the sizes of now, marks steps that need not run, and adds to the step's scratch. The
// product itself is prepared.
void sc_xnn_fit(sc_xnn_step *s);
// Does the product run with the steps around it, unless values are watched?
bool sc_xnn_is_fused(const sc_xnn_step *s);
// The value that a fused product reads in the place of its right operand, and the results that it
// has in addition to its own; returns their number.
sc_xnn_operand *sc_xnn_fusion_source(const sc_xnn_step *s);
uint32_t sc_xnn_fusion_results(const sc_xnn_step *s, sc_xnn_operand *results[2]);
void sc_xnn_run_fusion(sc_xnn_delegate *d, const sc_xnn_step *s);

#endif
