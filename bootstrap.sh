#!/bin/sh
# The one script at the top: from a fresh checkout to a program that runs.
# It needs nothing but a Debian system, and root or sudo where packages are missing.
set -eu
cd "$(dirname "$0")"

TO_BUILD="cmake gcc libc6-dev make pkg-config liblua5.4-dev libsodium-dev libseccomp-dev
    libcurl4-openssl-dev libsqlite3-dev libedit-dev lua-argparse"
TO_TEST="lua5.4 lua-busted lua-cjson bsdutils minisign openssl python3"
TO_LINT="clang clang-format clang-tidy cppcheck lua-check valgrind"
TO_SOAK="clang libclang-rt-14-dev"
TO_BENCH="g++ lua-cjson libssl-dev libsimdjson-dev librust-serde-derive-dev librust-serde-json-dev
    librust-tiny-keccak-dev"

usage() {
    cat <<'END'
usage: sh bootstrap.sh COMMAND

  build   install what is missing, build; the program is build/release/moonplan
  test    build, then run the tests (minutes)
  demo    build, then validate, digest and review examples/golden.json
  soak    the tests with sanitizers, then fuzzing, MOONPLAN_SOAK seconds of each kind (300)
  lint    clang-tidy, cppcheck, luacheck, clang-format
  bench   call plans beside OpenSSL, simdjson, lua-cjson and Rust: ratios (a minute)
  help    this
END
}

die() {
    echo "bootstrap.sh: $*" >&2
    exit 1
}

as_root() {
    if [ "$(id -u)" -eq 0 ]; then
        "$@"
    else
        command -v sudo >/dev/null || die "not root, and there is no sudo to run: $*"
        sudo "$@"
    fi
}

# Install those of the packages that are not there; without any missing, apt-get is not called.
need() {
    command -v apt-get >/dev/null ||
        die "needs apt-get (Debian 12 or a relative) to install: $*"
    missing=
    for package in "$@"; do
        case $(dpkg-query -W -f '${db:Status-Status}' "$package" 2>/dev/null) in
        installed) ;;
        *) missing="$missing $package" ;;
        esac
    done
    [ -n "$missing" ] || return 0
    echo "installing$missing"
    as_root apt-get update -qq
    # shellcheck disable=SC2086  # one word a package
    as_root env DEBIAN_FRONTEND=noninteractive \
        apt-get install -qq -y --no-install-recommends $missing
}

build() { # PRESET
    echo "building build/$1"
    cmake --preset "$1" -DCMAKE_RULE_MESSAGES=OFF -DCMAKE_TARGET_MESSAGES=OFF >/dev/null
    cmake --build --preset "$1" --parallel "$(nproc)"
}

show() {
    printf '\n$ %s\n' "$*"
    shift
    "build/release/moonplan" "$@"
}

soak() {
    MOONPLAN_SOAK=${MOONPLAN_SOAK-300}
    export MOONPLAN_SOAK
    build asan
    ctest --preset asan --timeout $((MOONPLAN_SOAK + 900))
    build fuzz
    for fuzzer in build/fuzz/fuzz/*_fuzz; do
        corpus=build/fuzz/corpus/${fuzzer##*/} # grows from run to run
        mkdir -p "$corpus"
        lua5.4 spec/fuzz/corpus.lua "$corpus"
        "$fuzzer" -max_total_time="$MOONPLAN_SOAK" -print_final_stats=1 "$corpus"
    done
}

tidy() { # FILE...
    printf '%s\n' "$@" | xargs -P "$(nproc)" -n 1 clang-tidy --quiet -p build/release 2>/dev/null
}

lint() {
    verdict=0
    check() { # NAME COMMAND...
        name=$1
        shift
        if "$@"; then echo "ok $name"; else
            verdict=1
            echo "not ok $name"
        fi
    }
    build release >/dev/null
    sources=$(find src spec -name '*.c' | sort)
    headers=$(find src spec -name '*.h' | sort)
    # shellcheck disable=SC2086  # no file of ours has a space in its name
    {
        # Not the benches, which the release build leaves out: it takes flags to read a file.
        check clang-tidy tidy $(printf '%s\n' $sources | grep -v '^spec/bench/')
        # uninitvar: cppcheck 2.10 sees it in arrays that are filled as far as they are read; the
        # compilers and valgrind look for the same.
        check cppcheck cppcheck --quiet --std=c11 --error-exitcode=1 --inline-suppr \
            --enable=warning,performance,portability --suppress=missingIncludeSystem \
            --suppress=uninitvar --suppress=legacyUninitvar -j "$(nproc)" $sources
        check luacheck luacheck --quiet .
        check clang-format clang-format --dry-run -Werror $sources $headers
    }
    return $verdict
}

# shellcheck disable=SC2086  # lists of packages
case ${1-help} in
build)
    need $TO_BUILD
    build release
    ;;
test)
    need $TO_BUILD $TO_TEST
    build release
    ctest --preset release --parallel "$(nproc)"
    ;;
demo)
    need $TO_BUILD
    build release
    show moonplan validate examples/golden.json
    show moonplan digest examples/golden.json
    show moonplan digest --explain examples/golden.json
    show moonplan review examples/golden.json
    ;;
soak)
    need $TO_BUILD $TO_TEST $TO_SOAK
    soak
    ;;
lint)
    need $TO_BUILD $TO_LINT
    lint
    ;;
bench)
    command -v cargo >/dev/null || TO_BENCH="$TO_BENCH cargo"
    need $TO_BUILD $TO_BENCH
    cmake --preset release -B build/bench -DMOONPLAN_BENCH=ON -DMOONPLAN_TESTS=ON >/dev/null
    cmake --build build/bench --parallel "$(nproc)" --target moonplan_bench
    build/bench/spec/moonplan-bench
    ;;
help | -h | --help) usage ;;
*)
    usage >&2
    die "there is no command $1"
    ;;
esac
