/* meta.c - see meta.h. */
#include "collect/record/meta.h"

#include "collect/record/nvml.h"
#include "collect/record/procfs.h"
#include "lib/base/json_string.h"
#include "collect/record/redact.h"

#include <ctype.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

void meta_missing(json_t *o, const char *key, const char *reason)
{
    json_t *missing = json_object_get(o, "missing");
    if (!missing) {
        missing = json_object();
        json_object_set_new(o, "missing", missing);
    }
    json_object_set_new(missing, key, json_string_kept(reason));
}

/* ---- host ------------------------------------------------------------------------------------- */

void meta_host_name(char *out, size_t n)
{
    if (gethostname(out, n) != 0 || !out[0])
        snprintf(out, n, "unknown");
    out[n - 1] = '\0';
    for (char *c = out; *c; c++)
        if (!isalnum((unsigned char)*c) && !strchr("-._", *c))
            *c = '_';
    if (out[0] == '.')
        out[0] = '_';
}

void meta_boot_id(char *out, size_t n)
{
    if (procfs_read("/proc/sys/kernel/random/boot_id", out, n, NULL) <= 0)
        out[0] = '\0';
    out[strcspn(out, "\n")] = '\0';
}

void meta_allowed_cpus(char *out, size_t n)
{
    char status[8192];
    out[0] = '\0';
    if (procfs_read("/proc/self/status", status, sizeof status, NULL) > 0)
        procfs_line(status, "Cpus_allowed_list", out, n);
}

static void put_cpu_model(json_t *o)
{
    static char info[256 << 10];
    char model[256] = "";
    if (procfs_read("/proc/cpuinfo", info, sizeof info, NULL) > 0)
        procfs_line(info, "model name", model, sizeof model);
    if (model[0])
        json_object_set_new(o, "cpu_model", json_string_kept(model));
    else
        meta_missing(o, "cpu_model", "'/proc/cpuinfo' names no model");
}

static void put_cores(json_t *o)
{
    json_object_set_new(o, "cores", json_integer(sysconf(_SC_NPROCESSORS_ONLN)));
    cpu_set_t set;
    if (sched_getaffinity(0, sizeof set, &set) == 0)
        json_object_set_new(o, "cores_allowed", json_integer(CPU_COUNT(&set)));
    else
        meta_missing(o, "cores_allowed", "the kernel does not tell");
    struct cgroup_cpu c;
    cgroup_cpu_find(&c);
    if (c.quota_cores > 0)
        json_object_set_new(o, "cores_quota", json_real(c.quota_cores));
    else if (!c.has_controller)
        meta_missing(o, "cores_quota", "no cpu controller of cgroups is visible");
}

static json_t *gpu_of(const struct nvml *n, unsigned i)
{
    json_t *o = json_object();
    char name[128] = "";
    struct nvml_memory memory;
    json_object_set_new(o, "gpu_id", json_integer(i));
    if (NVML_CALL(n, name, n->devices[i], name, sizeof name) == NVML_OK)
        json_object_set_new(o, "name", json_string_kept(name));
    if (NVML_CALL(n, memory, n->devices[i], &memory) == NVML_OK)
        json_object_set_new(o, "memory_bytes", json_integer((json_int_t)memory.total));
    static const char *const parts[N_NVML_COUNTERS] = {"pcie_tx_bytes",   "pcie_rx_bytes", "nvlink_tx_bytes",
                                                       "nvlink_rx_bytes", "ecc_corrected", "ecc_uncorrected"};
    for (int k = 0; k < N_NVML_COUNTERS; k++) {
        unsigned long long value;
        int status = nvml_counter(n, n->devices[i], (enum nvml_counter)k, &value);
        if (status != NVML_OK)
            meta_missing(o, parts[k], nvml_reason(n, status));
    }
    return o;
}

static void put_gpus(json_t *o)
{
    struct nvml n;
    struct dcr_err err = {0};
    json_t *gpus = json_array();
    json_object_set_new(o, "gpus", gpus);
    if (nvml_open(&n, &err) != 0) {
        meta_missing(o, "gpus", err.text);
        return;
    }
    char version[128];
    if (NVML_CALL(&n, driver_version, version, sizeof version) == NVML_OK)
        json_object_set_new(o, "gpu_driver", json_string_kept(version));
    for (unsigned i = 0; i < n.n_devices; i++)
        json_array_append_new(gpus, gpu_of(&n, i));
    nvml_close(&n);
}

json_t *meta_host(void)
{
    json_t *o = json_object();
    char line[512];
    meta_host_name(line, sizeof line);
    json_object_set_new(o, "host", json_string_kept(line));
    meta_boot_id(line, sizeof line);
    if (line[0])
        json_object_set_new(o, "boot_id", json_string_kept(line));
    else
        meta_missing(o, "boot_id", "the kernel does not tell");
    put_cpu_model(o);
    put_cores(o);
    char memory[8192];
    uint64_t kib;
    if (procfs_read("/proc/meminfo", memory, sizeof memory, NULL) > 0 && procfs_field(memory, "MemTotal", &kib) == 0)
        json_object_set_new(o, "memory_bytes", json_integer((json_int_t)(kib * 1024)));
    else
        meta_missing(o, "memory_bytes", "'/proc/meminfo' cannot be read");
    struct utsname u;
    if (uname(&u) == 0) {
        snprintf(line, sizeof line, "%s %s %s", u.sysname, u.release, u.machine);
        json_object_set_new(o, "kernel", json_string_kept(line));
    }
    uint64_t waited;
    if (procfs_read(PROCFS_PRESSURE "cpu", line, sizeof line, NULL) <= 0 || procfs_pressure(line, "some", &waited) != 0)
        meta_missing(o, "pressure", "this kernel has no '" PROCFS_PRESSURE "' (PSI is not built in, or off: psi=1)");
    put_gpus(o);
    return o;
}

/* ---- environment ------------------------------------------------------------------------------ */

static int looks_secret(const char *name, const char *value)
{
    /* PRECONDITION: Open MPI passes a key of its transports in OMPI_MCA_orte_precondition_transports. */
    static const char *const words[] = {"TOKEN",   "KEY",    "PASS",      "SECRET",  "CRED",
                                        "AUTH",    "COOKIE", "SESSID",    "SESSION", "ACCESS",
                                        "PRIVATE", "JWT",    "SIGNATURE", "CERT",    "PRECONDITION"};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (strcasestr(name, words[i]))
            return 1;
    if (redact_is_secret_name(name, strlen(name)))
        return 1;
    struct dcr_buf clean = {0};
    (void)redact_text(value, &clean);
    int is_changed = strcmp(dcr_buf_text(&clean), value) != 0;
    dcr_buf_release(&clean);
    return is_changed;
}

/* Never if its name looks like a token, key or password, whatever the lists allow, or if its value holds a password in
 * a URL. */
static int is_allowed(const char *name, const char *value)
{
    static const char *const prefixes[] = {
        "OMP_",  "GOMP_", "KMP_",    "OPENBLAS_", "MKL_",   "BLIS_",  "OMPI_MCA_", "PMIX_MCA_", "PRTE_MCA_", "UCX_",
        "NCCL_", "CUDA_", "NVIDIA_", "CUBLAS_",   "SLURM_", "TORCH_", "PYTORCH_",  "GLOO_",     "MALLOC_",   "DCRNN_"};
    static const char *const exact[] = {"WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT", "OMPI_COMM_WORLD_SIZE",
                                        "LC_ALL",     "LANG",        "TZ",          "GLIBC_TUNABLES"};
    if (looks_secret(name, value))
        return 0;
    for (size_t i = 0; i < sizeof prefixes / sizeof *prefixes; i++)
        if (strncmp(name, prefixes[i], strlen(prefixes[i])) == 0)
            return 1;
    for (size_t i = 0; i < sizeof exact / sizeof *exact; i++)
        if (strcmp(name, exact[i]) == 0)
            return 1;
    return 0;
}

static int by_text(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

/* The variables of the scheduler or all others, allowed and sorted. */
static json_t *variables(char **environment, int is_scheduler)
{
    json_t *o = json_object();
    size_t n = 0;
    while (environment[n])
        n++;
    char **sorted = malloc((n + 1) * sizeof *sorted);
    if (!sorted)
        return o;
    if (n)
        memcpy(sorted, environment, n * sizeof *sorted);
    qsort(sorted, n, sizeof *sorted, by_text);
    for (size_t i = 0; i < n; i++) {
        const char *equals = strchr(sorted[i], '=');
        if (!equals || (strncmp(sorted[i], "SLURM_", 6) == 0) != is_scheduler)
            continue;
        char *name = strndup(sorted[i], (size_t)(equals - sorted[i]));
        if (name && is_allowed(name, equals + 1))
            json_object_set_new(o, name, json_string_kept(equals + 1));
        free(name);
    }
    free(sorted);
    return o;
}

json_t *meta_environment(char **environment)
{
    return variables(environment, 0);
}

json_t *meta_scheduler(char **environment)
{
    json_t *o = json_object(), *slurm = variables(environment, 1);
    const json_t *job = json_object_get(slurm, "SLURM_JOB_ID");
    json_object_set_new(o, "name", json_string(job ? "slurm" : "none"));
    if (job)
        json_object_set(o, "job_id", (json_t *)job);
    json_object_set_new(o, "variables", slurm);
    return o;
}
