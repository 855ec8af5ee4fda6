// Parameters that an optimizer writes between runs. Private to src/backend.
// Prefix: sc_survey_ changes a backend's survey: its answers for all nodes.
#ifndef SC_BACKEND_TRAINED_H
#define SC_BACKEND_TRAINED_H

#include "backend/backend.h"

// No part can hold a parameter that its method computes a gradient of.
void sc_survey_keep_trained(sc_survey *survey);

#endif
