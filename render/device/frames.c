/* frames.c - see frames.h. */
#include "render/device/frames.h"

#include <stdlib.h>
#include <string.h>

/* The profiler strips the folders that Python searches for modules (site-packages, the standard library), so only the
 * first part of a path tells a library from a program. Sorted. Python's own modules are those of
 * sys.stdlib_module_names of Python 3.11, without names that programs like to use, such as "trace" and "profile". */
static const char *const libraries[] = {"_aix_support",
                                        "_bootsubprocess",
                                        "_collections_abc",
                                        "_compat_pickle",
                                        "_compression",
                                        "_markupbase",
                                        "_osx_support",
                                        "_py_abc",
                                        "_pydecimal",
                                        "_pyio",
                                        "_sitebuiltins",
                                        "_strptime",
                                        "_threading_local",
                                        "_weakrefset",
                                        "abc",
                                        "aifc",
                                        "argparse",
                                        "ast",
                                        "asynchat",
                                        "asyncio",
                                        "asyncore",
                                        "base64",
                                        "bdb",
                                        "bisect",
                                        "bz2",
                                        "cProfile",
                                        "cgi",
                                        "cgitb",
                                        "chunk",
                                        "cmd",
                                        "codecs",
                                        "codeop",
                                        "collections",
                                        "colorsys",
                                        "compileall",
                                        "concurrent",
                                        "configparser",
                                        "contextlib",
                                        "contextvars",
                                        "copy",
                                        "copyreg",
                                        "crypt",
                                        "csv",
                                        "ctypes",
                                        "curses",
                                        "dataclasses",
                                        "datetime",
                                        "dbm",
                                        "decimal",
                                        "difflib",
                                        "dis",
                                        "doctest",
                                        "email",
                                        "encodings",
                                        "enum",
                                        "filecmp",
                                        "fileinput",
                                        "fnmatch",
                                        "fractions",
                                        "ftplib",
                                        "functools",
                                        "functorch",
                                        "genericpath",
                                        "getopt",
                                        "getpass",
                                        "gettext",
                                        "glob",
                                        "graphlib",
                                        "gzip",
                                        "hashlib",
                                        "heapq",
                                        "hmac",
                                        "html",
                                        "http",
                                        "imaplib",
                                        "imghdr",
                                        "imp",
                                        "importlib",
                                        "inspect",
                                        "io",
                                        "ipaddress",
                                        "json",
                                        "keyword",
                                        "linecache",
                                        "locale",
                                        "logging",
                                        "lzma",
                                        "mailbox",
                                        "mailcap",
                                        "mimetypes",
                                        "modulefinder",
                                        "multiprocessing",
                                        "netrc",
                                        "nntplib",
                                        "ntpath",
                                        "nturl2path",
                                        "numbers",
                                        "numpy",
                                        "opcode",
                                        "operator",
                                        "optparse",
                                        "os",
                                        "pathlib",
                                        "pdb",
                                        "pickle",
                                        "pickletools",
                                        "pipes",
                                        "pkgutil",
                                        "platform",
                                        "plistlib",
                                        "poplib",
                                        "posixpath",
                                        "pprint",
                                        "pstats",
                                        "pty",
                                        "py_compile",
                                        "pyclbr",
                                        "pydoc",
                                        "quopri",
                                        "random",
                                        "re",
                                        "reprlib",
                                        "rlcompleter",
                                        "runpy",
                                        "sched",
                                        "secrets",
                                        "selectors",
                                        "shelve",
                                        "shlex",
                                        "shutil",
                                        "signal",
                                        "smtpd",
                                        "smtplib",
                                        "sndhdr",
                                        "socket",
                                        "socketserver",
                                        "sqlite3",
                                        "sre_compile",
                                        "sre_constants",
                                        "sre_parse",
                                        "ssl",
                                        "stat",
                                        "string",
                                        "stringprep",
                                        "struct",
                                        "subprocess",
                                        "sunau",
                                        "symtable",
                                        "sysconfig",
                                        "tabnanny",
                                        "tarfile",
                                        "telnetlib",
                                        "tempfile",
                                        "textwrap",
                                        "threading",
                                        "timeit",
                                        "token",
                                        "tokenize",
                                        "tomllib",
                                        "torch",
                                        "torchaudio",
                                        "torchgen",
                                        "torchvision",
                                        "tqdm",
                                        "traceback",
                                        "tracemalloc",
                                        "triton",
                                        "tty",
                                        "types",
                                        "typing",
                                        "typing_extensions",
                                        "unittest",
                                        "urllib",
                                        "uu",
                                        "uuid",
                                        "warnings",
                                        "wave",
                                        "weakref",
                                        "webbrowser",
                                        "wsgiref",
                                        "xdrlib",
                                        "xml",
                                        "xmlrpc",
                                        "zipapp",
                                        "zipfile",
                                        "zipimport",
                                        "zoneinfo"};

static int compare_name(const void *key, const void *entry)
{
    return strcmp(key, *(const char *const *)entry);
}

/* Is the first part of the path, which may be a file, the name of a library? */
static int begins_in_library(const char *path, size_t len)
{
    char first[32];
    size_t n = 0;
    while (n < len && path[n] != '/' && path[n] != '.' && path[n] != '\\')
        n++;
    if (n == 0 || n >= sizeof first)
        return 0;
    memcpy(first, path, n);
    first[n] = '\0';
    return bsearch(first, libraries, sizeof libraries / sizeof *libraries, sizeof *libraries, compare_name) != NULL;
}

/* For a path that the profiler did not cut. */
static int lies_in_library(const char *path, size_t len)
{
    static const char *const folders[] = {"/site-packages/", "/dist-packages/", "/lib/python", "/lib64/python"};
    for (size_t i = 0; i < sizeof folders / sizeof *folders; i++)
        if (memmem(path, len, folders[i], strlen(folders[i])))
            return 1;
    return 0;
}

enum frame_kind frame_of(const char *name, size_t len, struct frame *out)
{
    static const char module[] = "nn.Module: ";
    if (len > sizeof module && memcmp(name, module, sizeof module - 1) == 0) {
        while (len && name[len - 1] >= '0' && name[len - 1] <= '9')
            len--;
        len -= len && name[len - 1] == '_';
        *out = (struct frame){.module = name + sizeof module - 1, .module_len = len - (sizeof module - 1)};
        return FRAME_MODULE;
    }
    const char *behind = len ? memmem(name, len, "): ", 3) : NULL, *open = behind;
    while (open && open > name && *open != '(')
        open--;
    if (!open || open == name || *name == '<' || strspn(open + 1, "0123456789") != (size_t)(behind - open - 1) ||
        begins_in_library(name, (size_t)(open - name)) || lies_in_library(name, (size_t)(open - name)))
        return FRAME_LIBRARY;
    *out = (struct frame){.path = name,
                          .path_len = (size_t)(open - name),
                          .line = open + 1,
                          .line_len = (size_t)(behind - open - 1),
                          .function = behind + 3,
                          .function_len = len - (size_t)(behind + 3 - name)};
    return FRAME_OWN;
}
