// Results that need no memory of their own: copies of views whose bytes lie, in order, inside their
// source. The planner gives such a value the source's storage, and nothing is executed for it.
#ifndef SC_PASSES_VIEWS_H
#define SC_PASSES_VIEWS_H

#include "ir/ir.h"

// `base` NULL: the value has its own storage. Bases may be views themselves.
typedef struct sc_view {
    sc_value *base;
    uint64_t offset;  // bytes from the start of the base
} sc_view;

typedef struct sc_views_options {
    bool inputs_planned;   // user inputs have a place that is known when planning
    bool outputs_planned;  // so do outputs
} sc_views_options;

// Fills `views`, indexed by sc_value.mark: the caller has numbered the values of all graphs of the
// method, below `value_count`. Uses the marks of nodes. All results of a node are views or none is.
sc_status sc_views_find(sc_ctx *ctx, sc_method *method, uint32_t value_count,
                        sc_views_options options, sc_view *views);

#endif
