# shellcheck shell=bash
# Says where scripts/setup puts llama.cpp, PyTorch and the tools for wheels, which are not part of the repository, so
# that the other scripts find them. Read with `source`.
# shellcheck disable=SC2034

cache=~/.cache
cache=${SBEAM_CACHE:-${XDG_CACHE_HOME:-$cache}/sbeam}
[[ $cache = /* ]] || cache=$PWD/$cache

# --- PyTorch: a virtual environment ---

torch_version=2.13.0
torch_venv=$cache/torch-$torch_version
torch_index=https://download.pytorch.org/whl/cpu # has the wheels for the processor only, which PyPI lacks

# --- wheels: the tools in a virtual environment, their files, and SentencePiece as a static library ---

wheel_tools=$cache/wheel-1 # the number grows if scripts/requirements-wheel.txt changes
wheel_files=$wheel_tools/files

sentencepiece_version=0.2.1 # on PyPI; Debian has no static library
sentencepiece_sha256=8138cec27c2f2282f4a34d9a016e3374cd40e5c6e9cb335063db66a0a3b71fad
sentencepiece_static=$cache/sentencepiece-$sentencepiece_version

# --- llama.cpp: libraries and headers ---

llama_pypi_version=0.3.36 # of llama-cpp-python, on PyPI, whose source distribution has llama.cpp's source
llama_pypi_sha256=832db0699007f1be95a7e41ef12e88926b02ba836461e36a36372db2760c1a2e

# The library is built for a kind of processor and not for the one at hand, so that equal names mean equal code
# and equal numbers. A processor that lacks AVX2 gets a library of another name.
llama_cpu=$(uname -m)
llama_avx2=OFF
if [ "$llama_cpu" = x86_64 ]; then
    flags=" $(sed -n '/^flags/{p;q}' /proc/cpuinfo 2>/dev/null) "
    if [[ $flags = *' avx2 '* && $flags = *' fma '* && $flags = *' f16c '* && $flags = *' bmi2 '* ]]; then
        llama_cpu=x86_64-avx2
        llama_avx2=ON
    fi
fi
llama_pypi=$cache/llama-pypi-$llama_pypi_version-$llama_cpu

# Prints the folder of the llama.cpp that setup built; fails if there is none.
llama_built() {
    [ -e "$llama_pypi" ] && echo "$llama_pypi"
}
