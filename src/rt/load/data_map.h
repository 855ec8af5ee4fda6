// The tensors of data files (.ptd). Private to src/rt.
// Prefix: sc_rt_data_map_ looks tensors up in the data files of a program.
#ifndef SC_RT_LOAD_DATA_MAP_H
#define SC_RT_LOAD_DATA_MAP_H

#include "rt/data.h"

// Reads and verifies the directories of all files.
sc_status sc_rt_data_map_open(sc_ctx *ctx, sc_arena *arena, sc_source *const *files, uint32_t count,
                              sc_rt_data_map *map);
void sc_rt_data_map_close(sc_rt_data_map *map);
// NULL if there is no tensor of that name.
sc_rt_datum *sc_rt_data_map_find(const sc_rt_data_map *map, sc_str key);

#endif
