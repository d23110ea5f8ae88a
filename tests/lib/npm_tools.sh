# shellcheck shell=bash disable=SC2034  # TOOLS_BECAUSE is for those who source this
# npm_tools.sh - the development tools of package-lock.json, in a folder of the build. Sourced.
#   npm_tools   returns 0 with TOOLS set to the folder, or 1 with TOOLS_BECAUSE
npm_tools() {
    local lock
    TOOLS_BECAUSE="node or npm is not installed"
    command -v node > /dev/null && command -v npm > /dev/null || return 1
    lock=$(sha256sum < tests/browser/package-lock.json | cut -c 1-16)
    TOOLS=$(realpath -m "${BUILD:-build}")/npm-$lock
    [ -e "$TOOLS/whole" ] && return 0
    mkdir -p "$TOOLS"
    cp tests/browser/package.json tests/browser/package-lock.json "$TOOLS/"
    if ! (cd "$TOOLS" && timeout 120 npm ci --ignore-scripts --no-audit --no-fund --loglevel=error) > "$TOOLS/said" 2>&1; then
        TOOLS_BECAUSE="npm could not fetch them: $(grep -v 'npm warn' "$TOOLS/said" | head -n 1)"
        return 1
    fi
    touch "$TOOLS/whole"
}
