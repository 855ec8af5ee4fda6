// Numbers of the zip format that reader and writer share.
// Prefix: sc_zip_directory is the place of the list of entries; SC_ZIP_ names numbers of the
// format.
#ifndef SC_ZIP_LAYOUT_H
#define SC_ZIP_LAYOUT_H

#include "base/base.h"

enum {
    SC_ZIP_END_BYTES = 22,
    SC_ZIP_LOCATOR_BYTES = 20,
    SC_ZIP_END64_BYTES = 56,
    SC_ZIP_CENTRAL_BYTES = 46,
    SC_ZIP_LOCAL_BYTES = 30,
    SC_ZIP_EXTRA_ZIP64 = 1,
    SC_ZIP_EXTRA_PADDING = 0x4246  // "FB", as in PyTorch
};
#define SC_ZIP_END     UINT32_C(0x06054b50)
#define SC_ZIP_LOCATOR UINT32_C(0x07064b50)
#define SC_ZIP_END64   UINT32_C(0x06064b50)
#define SC_ZIP_CENTRAL UINT32_C(0x02014b50)
#define SC_ZIP_LOCAL   UINT32_C(0x04034b50)

typedef struct sc_zip_directory {
    uint64_t count, bytes, offset;
    uint64_t end;  // the start of the first end record; no byte of the archive is after it
} sc_zip_directory;

#endif
