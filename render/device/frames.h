/* frames.h - tells the program's own frames of a Python stack from those of libraries, by its name in PyTorch's traces
 * ("train.py(12): main"). Inside render/device only. source: docs/metrics.md#lines-of-code. Test:
 * tests/unit/test_code_lines.c */
#ifndef RENDER_DEVICE_FRAMES_H
#define RENDER_DEVICE_FRAMES_H

#include <stddef.h>

enum frame_kind {
    FRAME_LIBRARY = 0, /* of PyTorch, Python itself, site-packages, or built in */
    FRAME_OWN,
    FRAME_MODULE, /* "nn.Module: Linear_3" */
};

/* Parts of the name; borrowed. */
struct frame {
    const char *path, *line, *function; /* of FRAME_OWN; line: where the function begins */
    size_t path_len, line_len, function_len;
    const char *module; /* of FRAME_MODULE: its class, without the number */
    size_t module_len;
};

enum frame_kind frame_of(const char *name, size_t len, struct frame *out);

#endif
