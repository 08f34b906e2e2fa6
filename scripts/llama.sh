# shellcheck shell=bash
# Where scripts/setup --with llama puts llama.cpp and scripts/build looks for it. Read by both with `source`.
# shellcheck disable=SC2034
llama_version=${SBEAM_LLAMA_VERSION:-3.22.1} # of the npm package node-llama-cpp, which carries the source

# The library is made for a kind of processor, not for the one at hand: the same code, and with it the same
# numbers, wherever the name is the same; and what a processor cannot run has another name.
llama_cpu=$(uname -m)
llama_avx2=OFF
if [ "$llama_cpu" = x86_64 ]; then
    flags=" $(sed -n '/^flags/{p;q}' /proc/cpuinfo 2>/dev/null) "
    if [[ $flags = *' avx2 '* && $flags = *' fma '* && $flags = *' f16c '* && $flags = *' bmi2 '* ]]; then
        llama_cpu=x86_64-avx2
        llama_avx2=ON
    fi
fi

llama_cache=~/.cache
llama_cache=${SBEAM_CACHE:-${XDG_CACHE_HOME:-$llama_cache}/sbeam}
[[ $llama_cache = /* ]] || llama_cache=$PWD/$llama_cache
llama_prefix=$llama_cache/llama-$llama_version-$llama_cpu
