# compile_commands.awk - the commands that make prints (make -nB V=1), as the list that clangd and clang-tidy read.
BEGIN { print "[" }
match($0, /[^ ;]*(gcc|clang|cc) -std=c11 .* -c -o [^ ]+ [^ ]+\.c$/) {
    command = substr($0, RSTART)
    sub(/ -fdump-tree-[^ ]+/, "", command) # only the build writes these
    gsub(/\\/, "\\\\", command)
    gsub(/"/, "\\\"", command)
    print (n++ ? ",\n" : "") "{\"directory\": \"" folder "\", \"file\": \"" $NF "\",\n \"command\": \"" command "\"}"
}
END {
    print "]"
    exit !n
}
