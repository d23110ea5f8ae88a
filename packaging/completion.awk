# completion.awk - completions of a program from its --help: PROGRAM --help | awk -v shell=bash|zsh -v program=PROGRAM -f completion.awk
#
# What it understands of --help: `usage: PROGRAM COMMAND` and the lines below it name commands; a title `Options of run and pack:` says
# whose options follow (any other title: everybody's); an option's line is two spaces or more, `-o, --output DIR`, two spaces, a help
# text. DIR is a folder; FILE, TAR and ... are files; a|b are words, and so are words that end the help text as `: auto, yes, no (auto)`.
function quoted(text) {
    gsub(/'/, "'\\''", text)
    return "'" text "'"
}
# What completes the value: "folders", "files", words, or "" for what nobody can guess.
function values(argument, help,    words) {
    if (argument ~ /DIR/) return "folders"
    if (argument ~ /FILE|\.tar|OLD/) return "files"
    if (argument ~ /\|/) {
        words = argument
        gsub(/\|/, " ", words)
        gsub(/(^| )[A-Z]+/, "", words)
        return words
    }
    if (!match(help, /: [a-z0-9_-]+(, [a-z0-9_-]+)+( \([^()]*\))?$/)) return ""
    words = substr(help, RSTART + 2)
    sub(/ \(.*/, "", words)
    gsub(/,/, "", words)
    return words
}
function bash_reply(what,    words) {
    words = "mapfile -t COMPREPLY < <(compgen "
    if (what == "folders") return "compopt -o filenames; " words "-d -- \"$cur\")"
    if (what == "files") return "compopt -o filenames; " words "-f -- \"$cur\")"
    return what ? words "-W " quoted(what) " -- \"$cur\")" : "COMPREPLY=()"
}
function zsh_action(what) {
    if (what == "folders") return "_files -/"
    if (what == "files") return "_files"
    return what ? "(" what ")" : " "
}
# NAME: one of the spellings of the option; OTHERS: all of them, which it excludes
function zsh_spec(name, others,    text, is_optional) {
    text = help
    gsub(/[][]/, "\\\\&", text)
    gsub(/:/, "\\:", text)
    is_optional = argument ~ /^\[=/
    text = (text ~ /may be repeated/ ? "*" : "(" others ")") name (is_optional ? "=-" : argument && name ~ /^--/ ? "=" : "") "[" text "]"
    return quoted(text (argument ? (is_optional ? "::" : ":") label ":" zsh_action(values(argument, help)) : ""))
}
tolower($0) ~ /^usage: / || (is_usage && /^       /) {
    is_usage = 1
    sub(/^usage: */, "")
    if ($1 == program && $2 ~ /^[a-z]+$/ && !is_command[$2]++) commands = commands " " $2
    next
}
{ is_usage = 0 }
/^[A-Z].*:$/ {
    of = ""
    if (/^Options of /) {
        of = substr($0, 12, length($0) - 12)
        gsub(/,| and/, "", of)
    }
}
/^  +-/ {
    text = $0
    sub(/^ +/, "", text)
    at = index(text, "  ")
    if (!at) next
    help = substr(text, at)
    sub(/^ +/, "", help)
    n_names = split(substr(text, 1, at - 1), word, /, /)
    argument = ""
    if (match(word[n_names], /[ [].*/)) {
        argument = substr(word[n_names], RSTART)
        word[n_names] = substr(word[n_names], 1, RSTART - 1)
        sub(/^ /, "", argument)
    }
    label = argument
    gsub(/[^A-Za-z0-9.|]/, "", label)
    n_commands = split(of ? of : "*", command, " ")
    others = word[1] (n_names > 1 ? " " word[2] : "")
    for (c = 1; c <= n_commands; c++)
        for (i = 1; i <= n_names; i++) {
            options[command[c]] = options[command[c]] " " word[i]
            specs[command[c]] = specs[command[c]] " \\\n        " zsh_spec(word[i], others)
            if (argument && argument !~ /^\[/)
                replies[command[c]] = replies[command[c]] "    " quoted(command[c]) ":" word[i] ") " bash_reply(values(argument, help)) "; return ;;\n"
        }
}
END {
    sub(/^ /, "", commands)
    if (shell == "bash") {
        print "# bash completion of " program ", made of its --help\n_" program "() {\n    local cur=$2 prev=$3 command='*'" (commands ? " i" : "")
        print "    if [ \"$cur\" = = ]; then cur=''; elif [ \"$prev\" = = ]; then prev=${COMP_WORDS[COMP_CWORD - 2]}; fi"
        if (commands) {
            print "    if [ \"$COMP_CWORD\" -eq 1 ]; then " bash_reply(commands " --help --version") "; return; fi"
            print "    command=${COMP_WORDS[1]}"
            print "    for ((i = 2; i < COMP_CWORD; i++)); do\n        [ \"${COMP_WORDS[i]}\" = -- ] || continue"
            print "        [ \"$command:$((i + 1))\" != \"run:$COMP_CWORD\" ] || { mapfile -t COMPREPLY < <(compgen -c -- \"$cur\"); return; }"
            print "        " bash_reply("files") "\n        return\n    done"
        }
        print "    case $command:$prev in"
        n = split(commands ? commands : "*", command, " ")
        for (c = 1; c <= n; c++) printf "%s", replies[command[c]]
        print "    esac\n    case $command:$cur in"
        for (c = 1; c <= n; c++)
            if (command[c] in options) print "    " quoted(command[c]) ":-*) " bash_reply(substr(options[command[c]], 2)) " ;;"
        print "    *) " bash_reply("files") " ;;\n    esac\n}\ncomplete -F _" program " " program
    } else {
        print "#compdef " program "\n# made of " program " --help"
        if (commands) {
            print "if ((CURRENT == 2)); then\n    compadd -- " commands " --help --version\n    return\nfi"
            print "shift words\n((CURRENT--))\ncase $words[1] in"
            n = split(commands, command, " ")
            for (c = 1; c <= n; c++)
                print command[c] ")\n    _arguments -s -S" specs[command[c]] " \\\n        " (command[c] == "run" ? "'*::program:_normal'" : "'*:file:_files'") "\n    ;;"
            print "esac"
        } else print "_arguments -s -S" specs["*"] " \\\n        '*:file:_files'"
    }
}
