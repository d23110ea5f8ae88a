/* test_meta.c - collect/meta, rank, procfs: the facts recorded of a host and an environment, and secrets that never
 * are. */
#include "collect/record/ask.h"
#include "collect/record/git.h"
#include "collect/record/linked.h"
#include "collect/record/meta.h"
#include "collect/record/node_share.h"
#include "collect/record/procfs.h"
#include "lib/base/json_string.h"
#include "lib/archive/rank.h"
#include "collect/record/redact.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <cmocka.h>

/* Valid text stays and other bytes are cleaned, so that no key of a record is lost because of a name. */
static void any_bytes_are_text(void **state)
{
    (void)state;
    json_t *good = json_string_kept("caf\xc3\xa9\n"), *bad = json_string_kept("caf\xe9/x");
    assert_string_equal(json_string_value(good), "caf\xc3\xa9\n");
    assert_string_equal(json_string_value(bad), "caf\xef\xbf\xbd/x");
    json_decref(good);
    json_decref(bad);
}

static void secrets_never_enter(void **state)
{
    (void)state;
    static const char *const secret[] = {"OMP_TOKEN=x",
                                         "SLURM_JWT=x",
                                         "NCCL_API_KEY=x",
                                         "SLURM_SECRET=x",
                                         "slurm_password=x",
                                         "CUDA_PASSWD=x",
                                         "TORCH_AUTH_HEADER=x",
                                         "NCCL_CREDENTIALS=x",
                                         "MKL_PRIVATE_THING=x",
                                         "OMPI_MCA_orte_precondition_transports=0123-4567",
                                         "UCX_SESSION_COOKIE=x",
                                         "PYTORCH_Access_Key=x",
                                         "NCCL_PROXY=http://me:hunter2@proxy.example/",
                                         "HOME=/root",
                                         "AWS_SECRET_ACCESS_KEY=x",
                                         "GITHUB_TOKEN=x",
                                         "NCCL_PWD=x",
                                         "SLURM_MPI_PWD=x",
                                         "NCCL_BEARER=x",
                                         "NCCL_HMAC=x",
                                         "NCCL_Tok=x",
                                         "OMP_PAT=x",
                                         "SLURM_Access=x",
                                         "torchPwd=x",
                                         "PATH=/bin"};
    char *environment[40] = {0};
    size_t n = sizeof secret / sizeof *secret;
    for (size_t i = 0; i < n; i++)
        environment[i] = (char *)(uintptr_t)secret[i];
    environment[n] = (char *)(uintptr_t) "OMP_NUM_THREADS=2";
    environment[n + 1] = (char *)(uintptr_t) "SLURM_JOB_ID=17";
    environment[n + 2] = (char *)(uintptr_t) "MASTER_ADDR=node1";
    environment[n + 3] = (char *)(uintptr_t) "NCCL_SOCKET_IFNAME=eth0";
    json_t *o = meta_environment(environment);
    assert_int_equal(json_object_size(o), 3);
    assert_string_equal(json_string_value(json_object_get(o, "OMP_NUM_THREADS")), "2");
    assert_string_equal(json_string_value(json_object_get(o, "MASTER_ADDR")), "node1");
    assert_string_equal(json_string_value(json_object_get(o, "NCCL_SOCKET_IFNAME")), "eth0");
    json_decref(o);
    o = meta_scheduler(environment);
    assert_string_equal(json_string_value(json_object_get(o, "name")), "slurm");
    assert_string_equal(json_string_value(json_object_get(o, "job_id")), "17");
    assert_int_equal(json_object_size(json_object_get(o, "variables")), 1);
    json_decref(o);
    environment[0] = NULL;
    o = meta_scheduler(environment);
    assert_string_equal(json_string_value(json_object_get(o, "name")), "none");
    assert_null(json_object_get(o, "job_id"));
    json_decref(o);
}

static void arguments_lose_their_secrets(void **state)
{
    (void)state;
    static const struct {
        const char *said, *kept;
        int next_is_secret;
    } cases[] = {
        {"--token=abc", "--token=(redacted)", 0},
        {"--hf-token", "--hf-token", 1},
        {"-token", "-token", 1},
        {"--apiKey=1", "--apiKey=(redacted)", 0},
        {"API_KEY=xyz", "API_KEY=(redacted)", 0},
        {"db.password=p", "db.password=(redacted)", 0},
        {"exec API_KEY='a b' ./x --token t --lr 3", "exec API_KEY=(redacted) ./x --token (redacted) --lr 3", 0},
        {"Authorization: Bearer abc", "Authorization: (redacted)", 0},
        {"https://me:hunter2@host/x?y", "https://(redacted)@host/x?y", 0},
        {"ghp_0123456789abcdefghij", "(redacted)", 0},
        {"eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.abcdefghijk", "(redacted)", 0},
        {"--max-tokens", "--max-tokens", 0},
        {"--max-tokens=4096", "--max-tokens=4096", 0},
        {"--tokenizer=gpt2", "--tokenizer=gpt2", 0},
        {"--keyframes=3", "--keyframes=3", 0},
        {"--sort-key=name", "--sort-key=name", 0},
        {"--passes=3", "--passes=3", 0},
        {"--author=me", "--author=me", 0},
        {"https://host/a@b", "https://host/a@b", 0},
        {"./sk-model/train.py", "./sk-model/train.py", 0},
        {"--lr=0.1", "--lr=0.1", 0},
        {"--password=a;b c\"d", "--password=(redacted)", 0},
        {"PGPASSWORD=x SSHPASS=y DB_PASS=z psql", "PGPASSWORD=(redacted) SSHPASS=(redacted) DB_PASS=(redacted) psql",
         0},
        {"{\"api_key\": \"x y\", \"lr\": 1}", "{\"api_key\": (redacted), \"lr\": 1}", 0},
        {"{'token':'x'}", "{'token':(redacted)}", 0},
        {"db.password = x lr = 1", "db.password = (redacted) lr = 1", 0},
        {"https://host/x?sig=abc&X-Amz-Signature=def&n=1",
         "https://host/x?sig=(redacted)&X-Amz-Signature=(redacted)&n=1", 0},
        {"TOKEN= ./x", "TOKEN=(redacted) ./x", 0},
        {"NCCL_PWD=x SLURM_MPI_PWD=y NCCL_HMAC=z OMP_PAT=p ./x",
         "NCCL_PWD=(redacted) SLURM_MPI_PWD=(redacted) NCCL_HMAC=(redacted) OMP_PAT=(redacted) ./x", 0},
        {"NCCL_Tok=x SLURM_Access=y NCCL_BEARER=z", "NCCL_Tok=(redacted) SLURM_Access=y NCCL_BEARER=(redacted)", 0},
        {"PWD=/home OLDPWD=/ PATH=/bin LD_LIBRARY_PATH=/lib", "PWD=/home OLDPWD=/ PATH=/bin LD_LIBRARY_PATH=/lib", 0},
        {"--pw=x", "--pw=(redacted)", 0},
        {"Server=db;pwd=x;Pwd=y", "Server=db;pwd=(redacted);Pwd=(redacted)", 0},
        {"--dbpass", "--dbpass", 1},
        {"--userpwd=a:b", "--userpwd=(redacted)", 0},
        {"--tok abc --sas y --api-tok x --auth n1 --pass 0000",
         "--tok (redacted) --sas (redacted) --api-tok (redacted) --auth (redacted) --pass (redacted)", 0},
        {"--pin cores --access random --max-tok 512 --auth none --sig-figs 3 --n-pass=2",
         "--pin cores --access random --max-tok 512 --auth none --sig-figs 3 --n-pass=2", 0},
        {"--user me:x --user 1000:1000 -u train.py --username=me:x",
         "--user (redacted) --user 1000:1000 -u train.py --username=(redacted)", 0},
        {"--pin-memory=1", "--pin-memory=1", 0},
        {"--tok-dim=8", "--tok-dim=8", 0},
        {"--access-mode=r", "--access-mode=r", 0},
        {"--path=x", "--path=x", 0},
        {"", "", 0},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct dcr_buf b = {0};
        assert_int_equal(redact_text(cases[i].said, &b) != 0, cases[i].next_is_secret);
        assert_string_equal(dcr_buf_text(&b), cases[i].kept);
        dcr_buf_release(&b);
    }
}

/* The words of a command line, cut at '|' here. */
static void arguments_of_programs_with_logins_are_not_kept(void **state)
{
    (void)state;
    static const struct {
        const char *said, *kept;
    } cases[] = {
        {"/usr/bin/curl|-sSu|me|https://host", "/usr/bin/curl|(redacted)|(redacted)|(redacted)"},
        {"mysqldump|-px1", "mysqldump|(redacted)"},
        {"mpirun|-n|2|sshpass|-p|x1|ssh", "mpirun|-n|2|sshpass|(redacted)|(redacted)|(redacted)"},
        {"env|PGPASSWORD=x1|MYSQL_PWD=x1|psql", "env|PGPASSWORD=(redacted)|MYSQL_PWD=(redacted)|psql"},
        {"sh|-c|./train --lr 3; curl -u 'me:a b' h", "sh|-c|./train --lr 3; curl (redacted)"},
        {"sh|-c|true && mysql -px1 <q|-p|2", "sh|-c|true && mysql (redacted)|-p|2"},
        {"python|train.py|--logger|wandb|--lr|3", "python|train.py|--logger|wandb|--lr|3"},
        {"./curling|./mysql.py|--lr|3", "./curling|./mysql.py|--lr|3"},
        {"python|-u|train.py|--user|me:x1", "python|-u|train.py|--user|(redacted)"},
        {"dcrnn-train|-p|2|-u|64|--units|64:32|--epochs|3", "dcrnn-train|-p|2|-u|64|--units|64:32|--epochs|3"},
        {"docker|run|--user|1000:1000", "docker|(redacted)|(redacted)|(redacted)"},
        {"mpirun|-n|4|./x|-u|8:16|-p", "mpirun|-n|4|./x|-u|8:16|-p"},
        {"./x|--key|k|--password|--lr|3", "./x|--key|(redacted)|--password|--lr|3"},
        {"./x|--token|", "./x|--token|(redacted)"},
        {"gmx|mdrun|-pin|on|-access|random", "gmx|mdrun|-pin|on|-access|random"},
        {"./it's|a -u 'quote", "./it's|a -u 'quote"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct redact_line line = {0};
        struct dcr_buf b = {0};
        char said[256], *at = said;
        snprintf(said, sizeof said, "%s", cases[i].said);
        for (char *word; (word = strsep(&at, "|"));) {
            redact_word(&line, word, &b);
            dcr_buf_puts(&b, at ? "|" : "");
        }
        assert_string_equal(dcr_buf_text(&b), cases[i].kept);
        dcr_buf_release(&b);
    }
}

static struct rank_identity of(const char *block, size_t n)
{
    return rank_of_block(block, n);
}
#define OF(text) of(text, sizeof text)

static void ranks_are_read_from_the_launcher(void **state)
{
    (void)state;
    struct rank_identity id = OF("A=1\0OMPI_COMM_WORLD_RANK=3\0OMPI_COMM_WORLD_LOCAL_RANK=1\0OMPI_COMM_WORLD_SIZE=8");
    assert_int_equal(id.rank, 3);
    assert_int_equal(id.local_rank, 1);
    assert_int_equal(id.world_size, 8);
    id = OF("SLURM_PROCID=2\0SLURM_LOCALID=0\0SLURM_NTASKS=4\0SLURM_STEP_ID=0");
    assert_int_equal(id.rank, 2);
    assert_int_equal(id.world_size, 4);
    id = OF("PMIX_RANK=2\0SLURM_PROCID=2\0SLURM_LOCALID=1\0SLURM_NTASKS=4\0SLURM_STEP_ID=0"); /* srun --mpi=pmix */
    assert_int_equal(id.rank, 2);
    assert_int_equal(id.local_rank, 1);
    assert_int_equal(id.world_size, 4);
    id = OF("PMIX_RANK=3\0SLURM_PROCID=1\0SLURM_LOCALID=0\0SLURM_NTASKS=2\0SLURM_STEP_ID=0"); /* a daemon of 2 */
    assert_int_equal(id.rank, 3);
    assert_int_equal(id.local_rank, -1);
    assert_int_equal(id.world_size, -1);
    id = OF("SLURM_PROCID=0\0SLURM_NTASKS=4"); /* the batch script itself */
    assert_int_equal(id.rank, -1);
    id = OF("OMPI_COMM_WORLD_RANK=x");
    assert_int_equal(id.rank, -1);
    id = OF("NOT_OMPI_COMM_WORLD_RANK=3");
    assert_int_equal(id.rank, -1);
    id = OF("PMI_RANK=5");
    assert_int_equal(id.rank, 5);
    assert_int_equal(id.world_size, -1);
    id = OF("PMI_RANK=5\0PMI_SIZE=8\0MPI_LOCALRANKID=1\0MPI_LOCALNRANKS=4"); /* MPICH */
    assert_int_equal(id.rank, 5);
    assert_int_equal(id.local_rank, 1);
    assert_int_equal(id.world_size, 8);
    id = OF("PMI_RANK=5\0PMI_SIZE=8\0PMI_LOCAL_RANK=1"); /* Cray */
    assert_int_equal(id.rank, 5);
    assert_int_equal(id.local_rank, 1);
    assert_int_equal(id.world_size, 8);
    id = OF("RANK=5\0LOCAL_RANK=1\0WORLD_SIZE=8"); /* PyTorch */
    assert_int_equal(id.rank, 5);
    assert_int_equal(id.local_rank, 1);
    assert_int_equal(id.world_size, 8);
    id = OF("SLURM_PROCID=1\0SLURM_LOCALID=0\0SLURM_NTASKS=2\0SLURM_STEP_ID=0\0RANK=5\0LOCAL_RANK=1\0WORLD_SIZE=8\0"
            "TORCHELASTIC_RUN_ID=7"); /* torchrun, once per node under srun */
    assert_int_equal(id.rank, 5);
    assert_int_equal(id.local_rank, 1);
    assert_int_equal(id.world_size, 8);
    id = OF("RANK=5"); /* anybody's variable */
    assert_int_equal(id.rank, -1);
    id = OF("");
    assert_int_equal(id.rank, -1);
}

static void ranks_are_counted_from_a_launchers_options(void **state)
{
    static const struct {
        int n;
        const char *words[9];
    } cases[] = {{2, {"mpirun", "-n", "2", "true"}},
                 {3, {"mpiexec", "--mca", "pml", "ob1", "-np", "3", "true"}},
                 {4, {"srun", "--ntasks", "4", "true", "-n", "1"}},
                 {0, {"mpirun"}},
                 {0, {"mpirun", "-n"}},
                 {0, {"mpirun", "-n", "some", "true"}},
                 {0, {"mpirun", "-n", "-1", "true"}},
                 {0, {"mpirun", "-n", "99999999999", "true"}},
                 {0, {"mpirun", "true", "-n", "2"}},
                 {0, {"mpirun", "--wdir", "/tmp", "./absent", "-n", "2"}},
                 {0, {"mpirun", "-n", "2", "true", ":", "-n", "3", "true"}}};
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        int n_words = 0;
        while (n_words < 9 && cases[i].words[n_words])
            n_words++;
        assert_int_equal(linked_n_ranks((char *const *)(uintptr_t)cases[i].words, n_words), cases[i].n);
    }
}

static void fields_of_proc_files(void **state)
{
    (void)state;
    uint64_t v = 0;
    const char *text = "MemTotal:       123 kB\nMemTotalExtra: 9\nnr_throttled 7\nlast:  x\n";
    char line[32];
    assert_int_equal(procfs_field(text, "MemTotal", &v), 0);
    assert_int_equal(v, 123);
    assert_int_equal(procfs_field(text, "nr_throttled", &v), 0);
    assert_int_equal(v, 7);
    assert_int_equal(procfs_field(text, "last", &v), -1);
    assert_int_equal(procfs_field(text, "Mem", &v), -1);
    procfs_line(text, "last", line, sizeof line);
    assert_string_equal(line, "x");
    procfs_line(text, "absent", line, sizeof line);
    assert_string_equal(line, "");
}

static void a_command_may_look_like_the_rest_of_its_line(void **state)
{
    (void)state;
    struct procfs_stat s;
    assert_int_equal(procfs_stat("7 (a) R 9 (b) S 3 4 5 6 -1 8 10 11 12 13 14 15 16 17 20 0 2 0 18 19 21 22\n", &s), 0);
    assert_int_equal(s.state, 'S');
    assert_int_equal(s.parent, 3);
    assert_int_equal(s.minor, 10);
    assert_int_equal(s.major, 12);
    assert_int_equal(s.user, 14);
    assert_int_equal(s.system, 15);
    assert_int_equal(s.begun, 18);
    assert_int_equal(s.rss, 21);
    assert_int_equal(procfs_stat("7 (a) S 3 4 5 6 -1 8 10 11 12 13 14 15 16 17 20 0 2 0 18 19\n", &s), -1);
    assert_int_equal(procfs_stat("", &s), -1);
}

static void host_has_its_facts_or_reasons(void **state)
{
    (void)state;
    json_t *o = meta_host();
    static const char *const keys[] = {"host", "boot_id", "cpu_model", "cores", "cores_allowed", "memory_bytes"};
    const json_t *missing = json_object_get(o, "missing");
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
        assert_true(json_object_get(o, keys[i]) || json_object_get(missing, keys[i]));
    assert_true(json_array_size(json_object_get(o, "gpus")) > 0 || json_object_get(missing, "gpus"));
    json_decref(o);
}

static void put(const char *dir, const char *name, const char *text)
{
    char path[256];
    snprintf(path, sizeof path, "%s/%s", dir, name);
    FILE *f = fopen(path, "w");
    assert_non_null(f);
    fputs(text, f);
    fclose(f);
}

/* The commit of a command of up to five words, begun in the folder; "" when there is none. */
static void expect_git(const char *folder, const char *commit, const char *of, const char *const words[5])
{
    size_t n = 0;
    while (n < 5 && words[n])
        n++;
    assert_int_equal(chdir(folder), 0);
    json_t *o = git_of_command((char *const *)words, n);
    const char *got = json_string_value(json_object_get(o, "commit"));
    const char *by = json_string_value(json_object_get(o, "of"));
    assert_string_equal(got ? got : "", commit);
    assert_string_equal(by ? by : "", of);
    if (o)
        assert_non_null(strstr(json_string_value(json_object_get(o, "folder")), "/dcr-test-"));
    json_decref(o);
}

/* "clean", "dirty", or "n/a" */
static const char *dirty(const char *folder)
{
    json_t *o = json_pack("{s:s}", "folder", folder);
    git_put_dirty(o, 60000);
    const json_t *is = json_object_get(o, "dirty");
    const char *found = json_is_true(is) ? "dirty" : json_is_false(is) ? "clean" : "n/a";
    assert_true(is || json_object_get(json_object_get(o, "missing"), "dirty"));
    json_decref(o);
    return found;
}

static void changes_are_asked_of_git(void **state)
{
    (void)state;
    char dir[] = "/tmp/dcr-test-XXXXXX", cmd[600];
    if (system("git --version >/dev/null 2>&1") != 0)
        skip();
    assert_non_null(mkdtemp(dir));
    assert_string_equal(dirty(dir), "n/a"); /* no work tree */
    /* A monitor that would leave a mark if it were run. */
    snprintf(cmd, sizeof cmd,
             "cd %s && git init -q . && echo 1 >a && git add a && git -c user.name=x -c user.email=x@x -c "
             "commit.gpgsign=false commit -qm x && "
             "printf '#!/bin/sh\\ntouch %s/mark\\n' >mon && chmod +x mon && git config core.fsmonitor ./mon && : >b",
             dir, dir);
    assert_int_equal(system(cmd), 0);
    assert_string_equal(dirty(dir), "clean"); /* although there are untracked files */
    put(dir, "a", "2\n");
    setenv("GIT_DIR", "/nowhere", 1);
    assert_string_equal(dirty(dir), "dirty");
    unsetenv("GIT_DIR");
    snprintf(cmd, sizeof cmd, "%s/mark", dir);
    assert_int_not_equal(access(cmd, F_OK), 0);
    const char *path = getenv("PATH");
    char *before = strdup(path ? path : "/bin");
    setenv("PATH", dir, 1);
    assert_string_equal(dirty(dir), "n/a"); /* no git */
    setenv("PATH", before, 1);
    free(before);
    snprintf(cmd, sizeof cmd, "rm -r %s", dir);
    assert_int_equal(system(cmd), 0);
}

static void start_a_sleeper(void *folder)
{
    if (chdir(folder) == 0)
        execl("/bin/sh", "sh", "-c", "sleep 100 & echo $! >pid; echo x; wait", (char *)NULL);
    _exit(127);
}

static int is_gone(pid_t pid)
{
    char stat[64], text[512];
    snprintf(stat, sizeof stat, "/proc/%d/stat", (int)pid);
    const char *name_end = procfs_read(stat, text, sizeof text, NULL) > 0 ? strrchr(text, ')') : NULL;
    return !name_end || strchr("ZX", name_end[2]) != NULL; /* its new parent may not have waited for it yet */
}

/* A process that has written enough is killed, and so are its children. */
static void who_is_asked_is_ended_whole(void **state)
{
    (void)state;
    char dir[] = "/tmp/dcr-test-XXXXXX", path[64], pid[64], said[2];
    assert_non_null(mkdtemp(dir));
    snprintf(path, sizeof path, "%s/pid", dir);
    assert_int_equal(ask_child(start_a_sleeper, dir, 60000, said, sizeof said), 0);
    assert_string_equal(said, "x");
    assert_true(procfs_read(path, pid, sizeof pid, NULL) > 0);
    pid_t sleeper = (pid_t)strtol(pid, NULL, 10);
    assert_true(sleeper > 1);
    for (int i = 0; i < 2000 && !is_gone(sleeper); i++)
        usleep(5000);
    assert_true(is_gone(sleeper));
    unlink(path);
    rmdir(dir);
}

#define OURS "0123456789012345678901234567890123456789"
#define SHIM "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"

static void git_is_read_without_git(void **state)
{
    (void)state;
    char dir[] = "/tmp/dcr-test-XXXXXX", ours[64], away[64], plain[64], cmd[400];
    assert_non_null(mkdtemp(dir));
    snprintf(ours, sizeof ours, "%s/ours", dir);
    snprintf(away, sizeof away, "%s/away", dir);
    snprintf(plain, sizeof plain, "%s/plain", dir);
    snprintf(cmd, sizeof cmd,
             "cd %s && mkdir -p ours/.git/worktrees/away ours/sub away plain shim/.git && : >ours/train.py && "
             ": >ours/hosts && : >away/train.py && : >plain/n && : >shim/python3.11 && "
             "chmod +x plain/n shim/python3.11 && cp plain/n ours/n",
             dir);
    assert_int_equal(system(cmd), 0);
    put(dir, "shim/.git/HEAD", SHIM "\n");
    put(dir, "ours/.git/HEAD", "ref: refs/heads/main\n");
    put(dir, "ours/.git/packed-refs", "# pack-refs\n" OURS " refs/heads/main\n" SHIM " refs/heads/side\n");
    put(dir, "ours/.git/worktrees/away/HEAD", "ref: refs/heads/side\n");
    put(dir, "ours/.git/worktrees/away/commondir", "../..\n");
    put(dir, "away/.git", "gitdir: ../ours/.git/worktrees/away\n");

    /* The interpreter's own repository is never taken, under any name. */
    const char *path = getenv("PATH");
    char *before = strdup(path ? path : "/bin");
    snprintf(cmd, sizeof cmd, "%s/shim", dir);
    setenv("PATH", cmd, 1);
    expect_git(ours, OURS, "argument", (const char *const[5]){"python3.11", "train.py"});
    expect_git(plain, "", "", (const char *const[5]){"python3.11", "-m", "train"});
    setenv("PATH", before, 1);
    free(before);
    expect_git(ours, OURS, "argument", (const char *const[5]){"../shim/python3.11", "train.py"});
    expect_git(ours, OURS, "working folder", (const char *const[5]){"../shim/python3.11", "-m", "train"});
    expect_git(plain, OURS, "argument", (const char *const[5]){"mpirun", "-n", "2", "python3", "../ours/train.py"});
    expect_git(ours, OURS, "program", (const char *const[5]){"./n", "../away/train.py"});
    expect_git(plain, OURS, "program", (const char *const[5]){"../ours/n"});
    expect_git(plain, OURS, "argument", (const char *const[5]){"./n", "../ours/hosts"});
    expect_git(plain, SHIM, "argument",
               (const char *const[5]){"mpirun", "--hostfile", "../ours/hosts", "../away/train.py"});
    expect_git("../ours/sub", OURS, "working folder", (const char *const[5]){"train"});
    json_t *o = git_of_command((char *const[]){(char *)"train"}, 1);
    assert_string_equal(json_string_value(json_object_get(o, "branch")), "main");
    json_decref(o);

    put(dir, "ours/.git/HEAD", "ref: ../../etc/passwd\n");
    expect_git(plain, "", "", (const char *const[5]){"../ours/n"});
    put(dir, "ours/.git/HEAD", "rubbish\n");
    expect_git(plain, "", "", (const char *const[5]){"../ours/n"});
    snprintf(cmd, sizeof cmd, "cd / && rm -r %s", dir);
    assert_int_equal(chdir("/"), 0);
    assert_int_equal(system(cmd), 0);
}

static int share_of(const char *text, json_t **out, struct dcr_err *err)
{
    setenv(NODE_SHARE_VARIABLE, text, 1);
    int rc = node_share_of_environment(out, err);
    unsetenv(NODE_SHARE_VARIABLE);
    return rc;
}

static void emulated_nodes_say_what_they_are(void **state)
{
    (void)state;
    struct dcr_err err = {0};
    json_t *o = NULL;
    char words[120];
    assert_int_equal(share_of("cores=0.25 period_us=4000 link_bit_per_s=50000000 default=1", &o, &err), 0);
    assert_true(json_number_value(json_object_get(o, "cores")) == 0.25);
    assert_int_equal(json_integer_value(json_object_get(o, "period_us")), 4000);
    assert_int_equal(json_integer_value(json_object_get(o, "link_bit_per_s")), 50000000);
    assert_true(json_is_true(json_object_get(o, "is_default")));
    node_share_words(o, 4, words, sizeof words);
    assert_string_equal(words, "0.25 core, 50 Mbit/s each");
    node_share_words(o, 1, words, sizeof words);
    assert_string_equal(words, "0.25 core, 50 Mbit/s");
    json_decref(o);
    assert_int_equal(share_of("cores=2 period_us=100000 link_bit_per_s=0 default=0", &o, &err), 0);
    assert_true(json_is_false(json_object_get(o, "is_default")));
    node_share_words(o, 2, words, sizeof words);
    assert_string_equal(words, "2 cores each, links not shaped");
    json_decref(o);
    assert_int_equal(share_of("cores=0 period_us=4000 link_bit_per_s=50000000 default=0", &o, &err), 0);
    node_share_words(o, 2, words, sizeof words);
    assert_string_equal(words, "cores shared, 50 Mbit/s each");
    json_decref(o);
    assert_int_equal(share_of("cores=.25 period_us=4000 link_bit_per_s=0 default=0", &o, &err), 0);
    assert_true(json_number_value(json_object_get(o, "cores")) == 0.25);
    json_decref(o);
    assert_int_equal(share_of("cores=0 period_us=4000 link_bit_per_s=0 default=0", &o, &err), 0);
    node_share_words(o, 4, words, sizeof words);
    assert_string_equal(words, "cores shared, links not shaped");
    json_decref(o);
    node_share_words(NULL, 2, words, sizeof words);
    assert_string_equal(words, "");
}

static void malformed_emulated_nodes_are_refused(void **state)
{
    (void)state;
    static const char *const bad[] = {"nonsense",
                                      "cores",
                                      "=1",
                                      "core=1 period_us=4000 link_bit_per_s=0 default=1",
                                      "period_us=4000 link_bit_per_s=0 default=1",
                                      "cores=1 period_us=4000 link_bit_per_s=0",
                                      " ",
                                      "cores=1 cores=2 period_us=4000 link_bit_per_s=0 default=1",
                                      "cores= period_us=4000 link_bit_per_s=0 default=1",
                                      "cores=0.0001 period_us=4000 link_bit_per_s=0 default=1",
                                      "cores=-1 period_us=4000 link_bit_per_s=0 default=1",
                                      "cores=nan period_us=4000 link_bit_per_s=0 default=1",
                                      "cores=inf period_us=4000 link_bit_per_s=0 default=1",
                                      "cores=1e9 period_us=4000 link_bit_per_s=0 default=1",
                                      "cores=1.2.3 period_us=4000 link_bit_per_s=0 default=1",
                                      "cores=0,25 period_us=4000 link_bit_per_s=0 default=1",
                                      "cores=99999 period_us=4000 link_bit_per_s=0 default=1",
                                      "cores=1 period_us=999 link_bit_per_s=0 default=1",
                                      "cores=1 period_us=4000.5 link_bit_per_s=0 default=1",
                                      "cores=1 period_us=4000 link_bit_per_s=50mbit default=1",
                                      "cores=1 period_us=4000 link_bit_per_s=9999999999999999 default=1",
                                      "cores=1 period_us=4000 link_bit_per_s=99999999999999999999999 default=1",
                                      "cores=1 period_us=4000 link_bit_per_s=0 default=2",
                                      "cores=1 period_us=4000 link_bit_per_s=0 default=yes",
                                      "cores=1 period_us=4000 link_bit_per_s=0 default=1\ncores=2",
                                      "cores=1 period_us=4000 link_bit_per_s=-1 default=1",
                                      "period_us=4000 cores=1 link_bit_per_s=0 default=1"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        struct dcr_err err = {0};
        json_t *o = (json_t *)&err; /* must be reset */
        assert_int_equal(share_of(bad[i], &o, &err), DCR_FAIL);
        assert_null(o);
        if (!strstr(err.text, "and not what collect/nodes sets") || !strstr(err.text, bad[i]))
            fail_msg("'%s': %s", bad[i], err.text);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(any_bytes_are_text),
        cmocka_unit_test(secrets_never_enter),
        cmocka_unit_test(arguments_lose_their_secrets),
        cmocka_unit_test(arguments_of_programs_with_logins_are_not_kept),
        cmocka_unit_test(ranks_are_read_from_the_launcher),
        cmocka_unit_test(ranks_are_counted_from_a_launchers_options),
        cmocka_unit_test(fields_of_proc_files),
        cmocka_unit_test(a_command_may_look_like_the_rest_of_its_line),
        cmocka_unit_test(host_has_its_facts_or_reasons),
        cmocka_unit_test(git_is_read_without_git),
        cmocka_unit_test(changes_are_asked_of_git),
        cmocka_unit_test(who_is_asked_is_ended_whole),
        cmocka_unit_test(emulated_nodes_say_what_they_are),
        cmocka_unit_test(malformed_emulated_nodes_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
