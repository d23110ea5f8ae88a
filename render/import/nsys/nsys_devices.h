/* nsys_devices.h - which GPU a process means by the number of a device. CUDA numbers the devices that a process sees
 * from 0: with CUDA_VISIBLE_DEVICES, as launchers set it, every rank computes on "device 0". An nsys export gives the
 * GPU behind that number (TARGET_INFO_CUDA_DEVICE). Inside render/import only. source: Nsight Systems User Guide,
 * "SQLite Schema Reference". Test: tests/unit/test_nsys.c */
#ifndef RENDER_IMPORT_NSYS_NSYS_DEVICES_H
#define RENDER_IMPORT_NSYS_NSYS_DEVICES_H

#include "lib/base/arena.h"
#include "render/import/nsys/nsys_file.h"
#include "render/model/build.h"

struct nsys_device {
    int64_t process, device, gpu;
};

struct nsys_devices {
    struct dcr_arena arena;
    struct nsys_device *list; /* ascending by process, then device */
    size_t n, cap;
    int64_t n_gpus; /* of the machine; 0 = not said */
    int is_by_gpu;  /* one number means several GPUs, or several mean one: devices go by their GPU */
    /* Was all that ran on one number only, and of one process only? Is all of it in the list? */
    int has_any, has_other_devices, has_other_processes, has_unknown;
    struct nsys_device last; /* looked up */
};

/** nsys_devices_read - reads the devices of the export; none without its tables.  d: release with nsys_devices_release
 */
void nsys_devices_read(struct nsys_devices *d, struct nsys_file *f);
/** nsys_devices_number - the device that an operation is counted on.
 *  global_pid  as in the export: the process's number in bits 24 to 47
 *  device      deviceId, as the process numbers it
 *  gpu         set to its id in TARGET_INFO_GPU; device if nothing states it
 *  returns     device; its GPU's id where processes number the GPUs differently */
int64_t nsys_devices_number(struct nsys_devices *d, int64_t global_pid, int64_t device, int64_t *gpu);
/** nsys_devices_gpu - the id in TARGET_INFO_GPU of a device that nsys_devices_number returned. */
int64_t nsys_devices_gpu(const struct nsys_devices *d, int64_t number);
/** nsys_devices_say - adds a gap if several processes ran on one number, and nothing shows that it is one GPU. */
void nsys_devices_say(const struct nsys_devices *d, struct run *r, const char *file);
void nsys_devices_release(struct nsys_devices *d);

#endif
