/* kineto_shapes.h - the arguments of an operator as PyTorch's profiler writes them with record_shapes=True. Inside
 * render/import/kineto only. Test: tests/unit/test_shapes.c */
#ifndef RENDER_IMPORT_KINETO_KINETO_SHAPES_H
#define RENDER_IMPORT_KINETO_KINETO_SHAPES_H

#include "render/device/shapes.h"
#include "render/import/kineto/kineto_pairs.h"

/** kineto_work_of - what the call did, by "Input Dims", "Input type" and "Concrete Inputs" of its arguments.
 *  name     of an operator for which shape_is_counted
 *  e        has args
 *  returns  1; 0: no shapes were recorded */
int kineto_work_of(struct kineto_text name, const struct kineto_raw *e, struct shape_work *out);

#endif
