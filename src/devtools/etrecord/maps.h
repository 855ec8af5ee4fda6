// The three maps of a record as the JSON of its file: {method: {instruction: ...}}.
// Prefix: sc_etrecord_ writes and reads one map of a record here.
#ifndef SC_ETRECORD_MAPS_H
#define SC_ETRECORD_MAPS_H

#include "devtools/etrecord.h"
#include "format/json.h"

typedef enum sc_etrecord_map {
    SC_ETRECORD_HANDLES,    // a handle, or a list of them for a delegate
    SC_ETRECORD_DELEGATES,  // {"name": backend, "delegate_map": {event: [handles]} or null}
    SC_ETRECORD_OUTS,       // number of results
    SC_ETRECORD_MAP_COUNT
} sc_etrecord_map;

// The name of the entry in the file.
const char *sc_etrecord_map_name(sc_etrecord_map map);
bool sc_etrecord_has_map(const sc_etrecord *record, sc_etrecord_map map);
// Appends the text of a map. If `as_forward` is not empty, only that method is written, as
// `forward`.
void sc_etrecord_put_map(sc_sb *out, const sc_etrecord *record, sc_etrecord_map map,
                         sc_str as_forward);
// Reads one map into the record. Other maps stay. If it fails, the record does not have the map.
sc_status sc_etrecord_read_map(sc_ctx *ctx, sc_etrecord *record, sc_etrecord_map map, sc_str text);

#endif
