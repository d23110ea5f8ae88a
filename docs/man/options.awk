# options.awk - the options of a program in its manual page: PROGRAM --help | awk -f options.awk - PAGE.1.in
#
# `@options SECTION` stands for all options of that section of --help, each with its argument, help line and default. The lines
# after `@option NAME`, up to the next one or the next .SH or .SS, say more of that option.
function fail(why) {
    print FILENAME ":" FNR ": " why | "cat >&2"
    exit failed = 1
}
function roff(text) {
    gsub(/\\/, "\\e", text)
    gsub(/`/, "", text)
    gsub(/--[a-z]+(-[a-z]+)*/, "\\fB&\\fP", text)
    gsub(/-/, "\\-", text)
    gsub(/'/, "\\(aq", text)
    sub(/^\./, "\\\\\\&&", text)
    return text
}
function write_section(i, name) {
    for (i = 1; i <= n[section]; i++) {
        name = option[section, i]
        print ".TP\n" entry[section, name] more[name]
        delete more[name]
    }
    for (name in more) fail("--help has no option --" name " in its section " section)
    section = ""
}
# --help: two spaces end the option with its argument; a short form may stand before the option.
NR == FNR && /^[^ ].*:$/ { section = substr($0, 1, length - 1) }
NR == FNR && /^  +(-[a-z], )?--/ {
    sub(/^ +/, "")
    at = index($0, "  ")
    text = substr($0, at)
    sub(/^ +/, "", text)
    match($0, /--[^ ]+/)
    name = substr($0, RSTART + 2, RLENGTH - 2)
    argument = substr($0, RSTART + RLENGTH + 1, at - RSTART - RLENGTH - 1)
    forms = substr($0, 1, RSTART + RLENGTH - 1)
    gsub(/-/, "\\-", forms)
    heading = argument ? ".BI \"" forms "\" \" " roff(argument) "\"" : ".B \"" forms "\""
    entry[section, name] = heading "\n" roff(toupper(substr(text, 1, 1)) substr(text, 2)) "."
    option[section, ++n[section]] = name
}
NR == FNR { next }
# the page
FNR == 1 { section = "" }
/^\.S[HS]/ && section { write_section() }
/^@options / {
    section = substr($0, 10)
    if (!n[section] || seen[section]++) fail("--help has no section " section ", or it is here twice")
    next
}
/^@option / { more[name = $2] = ""; next }
section { more[name] = more[name] "\n" $0; next }
{ print }
END {
    if (failed) exit 1
    if (section) write_section()
    for (section in n) if (!seen[section]) fail("the section " section " of --help has no @options")
}
