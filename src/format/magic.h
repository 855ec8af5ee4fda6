// Finds the kind of a file by its first bytes. All such marks are in the list here. The identifiers
// in schema/*.fbs give the exact versions that can be read. A mark here is of a family, so that a
// file of another version is named correctly.
// Prefix: sc_file_ names the kind of a file.
#ifndef SC_MAGIC_H
#define SC_MAGIC_H

#include "base/base.h"

typedef enum sc_file_kind {
    SC_FILE_UNKNOWN,
    SC_FILE_ZIP,      // a .pt2 is a zip
    SC_FILE_PTE,      // an ExecuTorch program of any version
    SC_FILE_PTD,      // the data file of a program
    SC_FILE_BPTE,     // a bundled program of any version
    SC_FILE_PACKED,   // a program as Sconce keeps it, of any version
    SC_FILE_TFLITE,   // a TensorFlow Lite model
    SC_FILE_PYTORCH,  // PyTorch's container of 2018
    SC_FILE_PICKLE
} sc_file_kind;

enum { SC_FILE_HEAD_BYTES = 8 };

// The marks of the extended headers, at byte 8 of a .pte or .ptd, after the identifier at byte 4.
#define SC_PTE_HEADER_MARK "eh00"
#define SC_PTD_HEADER_MARK "FH01"

// The first bytes of a packed program.
#define SC_PACKED_MARK "SCPACKED"

// `head`: the first bytes of the file, followed by zeros if it is shorter.
static inline sc_file_kind sc_file_kind_of(const uint8_t head[SC_FILE_HEAD_BYTES]) {
    static const struct {
        const char *mark;
        uint8_t at, bytes, kind;
    } marks[] = {
        {"PK\3\4", 0, 4, SC_FILE_ZIP},
        {"ET", 4, 2, SC_FILE_PTE},
        {"FT", 4, 2, SC_FILE_PTD},
        {"BP", 4, 2, SC_FILE_BPTE},
        {SC_PACKED_MARK, 0, 8, SC_FILE_PACKED},
        {"TFL", 4, 3, SC_FILE_TFLITE},
        {"PYTORCH1", 0, 8, SC_FILE_PYTORCH},
        {"\x80", 0, 1, SC_FILE_PICKLE},
    };
    for (size_t i = 0; i < SC_COUNT_OF(marks); i++)
        if (memcmp(head + marks[i].at, marks[i].mark, marks[i].bytes) == 0)
            return (sc_file_kind)marks[i].kind;
    return SC_FILE_UNKNOWN;
}

#endif
