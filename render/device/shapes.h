/* shapes.h - how many floating-point operations a matrix product, convolution or attention of PyTorch takes, and how
 * many bytes it has to move, by the shapes of its inputs. Pure arithmetic. Used by render/import/kineto and
 * render/device. source: docs/metrics.md#operators-by-shapes. Test: tests/unit/test_shapes.c */
#ifndef RENDER_DEVICE_SHAPES_H
#define RENDER_DEVICE_SHAPES_H

#include <stddef.h>
#include <stdint.h>

enum { SHAPE_DIMS = 8, SHAPE_INPUTS = 12, SHAPE_VALUES = 4 };

/* An argument of an operator. */
struct shape_input {
    int n_dims; /* -1: more than SHAPE_DIMS, or a negative one; 0: no tensor, or one of a single value */
    int64_t dim[SHAPE_DIMS];
    int64_t element_bytes; /* 0 = not said, or of no known type */
    int n_values;          /* of a number, a truth value or a list of them; -1 = not said */
    int64_t value[SHAPE_VALUES];
};

struct shapes {
    int n; /* arguments */
    struct shape_input in[SHAPE_INPUTS];
    const char *format; /* of the first tensor: "BF16"; "" = not said, or of no known type */
};

/* What one call of an operator does. */
struct shape_work {
    int64_t flop;       /* a multiplication and an addition are two; -1 = the shapes do not say */
    int64_t bytes;      /* every input read once, the result written once; -1 = the shapes and types do not say */
    const char *format; /* static */
};

/** shape_format - "BF16" of "c10::BFloat16", and its bytes; "" and 0 of types that are not known. Static */
const char *shape_format(const char *type, size_t len, int64_t *bytes);
/** shape_is_counted - is it the name of an operator whose work follows from shapes? */
int shape_is_counted(const char *name, size_t len);
/** shape_work_of - of one call of an operator for which shape_is_counted. */
struct shape_work shape_work_of(const char *name, size_t len, const struct shapes *s);

#endif
