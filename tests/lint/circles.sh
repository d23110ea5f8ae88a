#!/usr/bin/env bash
# Calls between files and folders of the programs form no circle. Calls are read from the symbols of the compiled files, so no
# call is missed, also where no header is included.
. tests/lib/tap.sh

# edges FOLDER SOURCES: "caller callee" of the object files below FOLDER whose source is still in SOURCES; named without
# FOLDER and without ".o" (".f64.o": the same file in double precision).
edges() {
    local file source
    while IFS= read -r file; do
        source=$2${file#"$1"} source=${source%.o}
        [ ! -f "${source%.f64}.c" ] || echo "$file"
    done < <(find "$1" -name '*.o' | LC_ALL=C sort) | xargs nm -A -P | awk -v folder="$1/" '
        { file = substr($1, length(folder) + 1); sub(/(\.f64)?\.o:$/, "", file) }
        $3 ~ /^[TDBR]$/ { home[$2] = file }
        $3 == "U" { name[++n] = $2; from[n] = file }
        END { for (i = 1; i <= n; i++) if (name[i] in home && home[name[i]] != from[i]) print from[i], home[name[i]] }' | sort -u
}
# no_circle WHAT EDGES
no_circle() {
    if tsort "$2" >"$TMP/order" 2>"$TMP/circle"; then
        ok "$1"
    else
        not_ok "$1" "in a circle: $(sed -n 's/^tsort: \([^ ]*\)$/\1/p' "$TMP/circle" | tr '\n' ' ')"
    fi
}

# The check finds a circle of two files.
mkdir -p "$TMP/planted/one" "$TMP/planted/two"
printf 'int a(void); int b(void);\nint a(void) { return b(); }\n' >"$TMP/planted/one/a.c"
printf 'int a(void); int b(void);\nint b(void) { return a(); }\n' >"$TMP/planted/two/b.c"
for name in one/a two/b; do gcc -c -o "$TMP/planted/$name.o" "$TMP/planted/$name.c"; done
edges "$TMP/planted" "$TMP/planted" >"$TMP/planted.edges"
if tsort "$TMP/planted.edges" >"$TMP/order" 2>&1; then
    not_ok "a planted circle is found" "$(cat "$TMP/planted.edges")"
else
    ok "a planted circle is found"
fi

# layers TOP LEAST_CALLS LEAST_INCLUDES [folders]: no circle in the folder TOP; with `folders` files of one folder may call each other. Files directly in it are the program, or what all of it shares.
layers() {
    edges "$BUILD/obj/$1" "$1" | grep -v '\bguest/' >"$TMP/edges" # the guest consists of separate libraries
    check "calls between files of $1/ are seen" test "$(wc -l <"$TMP/edges")" -gt "$2"
    [ "${4:-}" = folders ] || no_circle "no circle of files in $1/" "$TMP/edges"
    # A folder calls only folders below it.
    awk '{ a = $1; b = $2; if (!sub(/\/[^\/]*$/, "", a)) a = "main"; if (!sub(/\/[^\/]*$/, "", b)) b = "program"; if (a != b) print a, b }' "$TMP/edges" |
        sort -u >"$TMP/folders"
    no_circle "no circle of folders in $1/" "$TMP/folders"
    # The same for headers. Tables (.def) are lists of names, which a folder below may read.
    git grep -noE "#include \"$1/[^\"]+\.h\"" -- "$1/*.c" "$1/*.h" | grep -v "^$1/guest/" |
        sed -E 's/^([^:]+):[0-9]+:#include "([^"]+)"/\1 \2/' |
        awk -v top="$1" '{ a = $1; b = $2; sub(/\/[^\/]*$/, "", a); sub(/\/[^\/]*$/, "", b); if (a == top) a = "main"; if (a != b) print a, b }' |
        sort -u >"$TMP/headers"
    check "includes between folders of $1/ are seen" test "$(wc -l <"$TMP/headers")" -gt "$3"
    no_circle "no circle of includes between folders in $1/" "$TMP/headers"
    git grep -noE "#include \"$1/[^\"]+\.h\"" -- "$1/*.h" | sed -E 's/^([^:]+):[0-9]+:#include "([^"]+)"/\1 \2/' >"$TMP/headers"
    no_circle "no circle of headers in $1/" "$TMP/headers"
}
layers render 300 40
layers collect 50 8 folders
layers lib 30 4 folders
layers trainer 100 15
# No folder has too many modules. A module is a source and its header.
crowded=$(git ls-files {render,collect,lib,trainer}/'*'.{c,h,cu,cuh} | sed 's/\.[a-z]*$//' | sort -u |
    awk -F/ '{ sub(/\/[^\/]*$/, ""); n[$0]++ } END { for (d in n) if (n[d] > 30) print d, n[d] }')
check "no folder has more than 30 modules" test -z "$crowded"
finish
