/* meta.h - facts that explain a difference between two runs: host, environment, scheduler. As JSON objects in
 * the shape of docs/FORMAT.md. An unknown fact is left out, with its reason in the object's "missing". */
#ifndef COLLECT_META_H
#define COLLECT_META_H

#include <jansson.h>
#include <stddef.h>

/** meta_host - host, boot id, CPU, cores, quota, memory, kernel, GPUs. gives */
json_t *meta_host(void);
/** meta_host_name - name of this machine, safe as a part of a file name. */
void meta_host_name(char *out, size_t n);
/** meta_boot_id - "" when the kernel has none. */
void meta_boot_id(char *out, size_t n);
/** meta_allowed_cpus - the processors of this process: "0-1,4". "" when unknown. */
void meta_allowed_cpus(char *out, size_t n);

/** meta_environment - the allow-listed part of an environment (NAME=value ..., NULL). gives */
json_t *meta_environment(char **environment);
/** meta_scheduler - {"name": "slurm"|"none", "job_id": ..., "variables": {...}}. gives */
json_t *meta_scheduler(char **environment);

/** meta_missing - note in o's "missing" why key is absent. */
void meta_missing(json_t *o, const char *key, const char *reason);

#endif
