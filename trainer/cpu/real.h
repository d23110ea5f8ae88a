/* real.h - one source, two precisions. The mathematics (gconv, dcgru, dcrnn, loss, adam) is written once for `real`.
 * The Makefile compiles the files of F64_SRC twice: as float, with the suffix _f32 on every public name, and with
 * DCR_REAL_F64 as double, with the suffix _f64. Callers use the plain names, which mean float unless the file defines
 * DCR_REAL_F64 before its first include. */
#ifndef TRAINER_CPU_REAL_H
#define TRAINER_CPU_REAL_H

#define REAL_JOIN_(a, b) a##b
#define REAL_JOIN(a, b) REAL_JOIN_(a, b)

#ifdef DCR_REAL_F64
typedef double real;
#define REAL_SUFFIX _f64
#define REAL_NAME "f64"
#else
typedef float real;
#define REAL_SUFFIX _f32
#define REAL_NAME "f32"
#endif

/** REAL_FN - the name of a public function or struct in the precision of this translation unit. */
#define REAL_FN(name) REAL_JOIN(name, REAL_SUFFIX)

#endif
