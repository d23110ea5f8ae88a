/* early.h - calls that come before this library is relocated. The resolver of another library's IFUNC runs while the
 * loader still relocates, that library before this one, and may ask for a variable or open a file: what is interposed
 * here is called then, and no address of another object's function or variable means anything yet. */
#ifndef DCC_INJECT_IO_EARLY_H
#define DCC_INJECT_IO_EARLY_H

/** early_is_over - this library is relocated: functions of others can be called. */
int early_is_over(void);
/** early_syscall - as syscall(), with at most six arguments, calling nobody; errno is set when that can be done. */
long early_syscall(long number, ...);

#endif
