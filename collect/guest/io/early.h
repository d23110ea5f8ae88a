/* early.h - calls that come before this library is relocated. The resolver of another library's IFUNC runs while the
 * loader still relocates. The loader relocates that library before this one. The resolver may ask for a variable or
 * open a file, which calls the interposed functions here, while addresses of other objects are not valid yet. */
#ifndef DCC_INJECT_IO_EARLY_H
#define DCC_INJECT_IO_EARLY_H

/** early_is_over - this library is relocated, so functions of other libraries can be called. */
int early_is_over(void);
/** early_syscall - as syscall(), with at most six arguments, without calling other functions; errno is set when
 * possible. */
long early_syscall(long number, ...);

#endif
