// Parts that the caller has named: which nodes of a graph belong to which.
// Prefix: sc_tags_ works on the tags of one partitioner.
#ifndef SC_BACKEND_TAGS_H
#define SC_BACKEND_TAGS_H

#include "backend/lower.h"
#include "backend/partition.h"

// Checks that tags of nodes in bodies name bodies of the method.
sc_status sc_tags_check_paths(sc_ctx *ctx, const sc_partitioner *p, const sc_method *method);
// Makes the partition that the tags ask for. `tagged` gets the tag of each part, by number less
// one, on scratch. SC_ERR_ARGUMENT for a node that does not exist, belongs to two parts, or that
// the backend refuses.
sc_status sc_tags_apply(const sc_survey *survey, const sc_partitioner *p, sc_partition *partition,
                        const sc_tagged ***tagged);

#endif
