#include "backend/trained.h"

void sc_survey_keep_trained(sc_survey *survey) {
    const sc_graph *graph = survey->graph;
    const sc_method *method = graph->method;
    sc_map trained;
    sc_map_init(&trained, survey->ctx->scratch);
    for (uint32_t i = 0; i < method->outputs.count; i++)
        if (method->outputs.data[i].kind == SC_OUTPUT_GRADIENT)
            sc_map_set(&trained, method->outputs.data[i].target, survey);
    for (uint32_t i = 0; i < graph->inputs.count && !graph->parent; i++)
        if (method->inputs.data[i].kind == SC_INPUT_PARAMETER &&
            sc_map_find(&trained, method->inputs.data[i].target))
            survey->takes_input[i] = false;
}
