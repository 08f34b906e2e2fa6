// SentencePiece, which is C++, behind the C functions of pieces.h. No exception leaves this file.
// pieces_check first checks everything in a model that SentencePiece would take on trust.
#include "text/pieces.h"

#include <sentencepiece_processor.h>

#include <cstring>
#include <memory>
#include <new>
#include <string>
#include <vector>

extern "C" {
#include "base/alloc.h"
#include "base/status.h"
#include "base/utf8.h"
#include "text/pieces_check.h"
}

struct pieces {
    sentencepiece::SentencePieceProcessor processor;
    int32_t n;
};

namespace
{

// SentencePiece counts bytes in int, and normalization may make a text longer.
const size_t kMostTextBytes = size_t{1} << 24;

// If memory runs out while SentencePiece parses a model, destructors of its lists crash (protobuf).
// So it first must be there: 7.4 bytes of memory for each byte were measured for a model of 8,000
// pieces, and 56 for one of 3 KB. The block that tests it has over 32 MB, none of which is touched:
// when glibc frees a smaller one, it takes the next blocks of that size from the heap, and drawing
// needed a tenth more memory.
const size_t kMemoryPerByte = 10, kMemoryAtLeast = size_t{33} << 20;

bool has_memory_for(size_t size)
{
    void *const memory = size < SIZE_MAX / kMemoryPerByte - kMemoryAtLeast
                             ? alloc_array(kMemoryPerByte * size + kMemoryAtLeast, 1)
                             : nullptr;
    alloc_free(memory);
    return memory != nullptr;
}

const char kReplacement[] = "\xEF\xBF\xBD"; // U+FFFD

std::string well_formed(const char *text, size_t size)
{
    std::string result;
    result.reserve(size);
    for (size_t i = 0; i < size;) {
        const size_t n = text[i] == '\0' ? 1 : utf8_character_size(text + i, size - i);
        if (n == 0)
            result += kReplacement;
        else
            result.append(text + i, n);
        i += n == 0 ? 1 : n;
    }
    return result;
}

sb_status fail_library(sb_error *err, const char *name, const char *what)
{
    return status_fail(err, SB_ERR_FORMAT, "%s: SentencePiece refuses it: %.300s", name, what);
}

// Turns the exception that a catch-all has caught into an error.
sb_status fail_thrown(sb_error *err, const char *name)
{
    try {
        throw;
    } catch (const std::bad_alloc &) {
        return status_no_memory(err);
    } catch (const std::exception &problem) {
        // The library's double-array trie (darts.h) throws its own exception for a std::bad_alloc,
        // and only its message tells.
        if (std::strstr(problem.what(), "bad_alloc") != nullptr)
            return status_no_memory(err);
        return fail_library(err, name, problem.what());
    } catch (...) {
        return fail_library(err, name, "it gives no reason");
    }
}

struct release {
    void operator()(void *memory) const
    {
        alloc_free(memory);
    }
};

} // namespace

extern "C" sb_status pieces_open(pieces **opened, const char *name, const void *data, size_t size,
                                 sb_error *err)
{
    char *clean = nullptr;
    size_t clean_size = 0;
    const sb_status checked = pieces_check(name, data, size, &clean, &clean_size, err);
    if (checked != SB_OK)
        return checked;
    const std::unique_ptr<char, release> owner(clean);
    if (!has_memory_for(clean_size))
        return status_no_memory(err);
    try {
        std::unique_ptr<pieces> p(new pieces());
        const auto status =
            p->processor.LoadFromSerializedProto(absl::string_view(clean, clean_size));
        if (!status.ok())
            return fail_library(err, name, status.error_message());
        p->n = p->processor.GetPieceSize();
        *opened = p.release();
        return SB_OK;
    } catch (...) {
        return fail_thrown(err, name);
    }
}

extern "C" void pieces_close(pieces *p)
{
    delete p;
}

extern "C" int32_t pieces_size(const pieces *p)
{
    return p->n;
}

extern "C" const char *pieces_text(const pieces *p, int32_t id)
{
    if (id < 0 || id >= p->n)
        return nullptr;
    try {
        return p->processor.IdToPiece(id).c_str();
    } catch (...) {
        return nullptr;
    }
}

extern "C" int32_t pieces_find(const pieces *p, const char *text, size_t size)
{
    if (size == 0)
        return -1; // the library would read on until a zero byte
    try {
        const absl::string_view wanted(text, size);
        const int id = p->processor.PieceToId(wanted);
        // Unknown text gives the unknown piece, which counts only if its own text was asked for.
        const bool is_it = id >= 0 && id < p->n && p->processor.IdToPiece(id) == wanted;
        return is_it ? id : -1;
    } catch (...) {
        return -1;
    }
}

extern "C" sb_status pieces_encode(const pieces *p, const char *text, size_t size, int32_t **ids,
                                   int32_t *n_ids, sb_error *err)
{
    if (size > kMostTextBytes)
        return status_fail(err, SB_ERR_LIMIT, "a text of %zu bytes; expected at most %zu", size,
                           kMostTextBytes);
    try {
        std::vector<int> found;
        const auto status = p->processor.Encode(well_formed(text, size), &found);
        if (!status.ok())
            return fail_library(err, "text", status.error_message());
        int32_t *const copy = static_cast<int32_t *>(alloc_array(found.size(), sizeof(int32_t)));
        if (copy == nullptr)
            return status_no_memory(err);
        for (size_t i = 0; i < found.size(); i++)
            copy[i] = found[i];
        *ids = copy;
        *n_ids = static_cast<int32_t>(found.size());
        return SB_OK;
    } catch (...) {
        return fail_thrown(err, "text");
    }
}

extern "C" sb_status pieces_decode(const pieces *p, const int32_t *ids, int32_t n_ids, char **text,
                                   sb_error *err)
{
    for (int32_t i = 0; i < n_ids; i++)
        if (ids[i] < 0 || ids[i] >= p->n)
            return status_fail(
                err, SB_ERR_ARGUMENT, "piece %d, at position %d, is out of range; expected 0 to %d",
                static_cast<int>(ids[i]), static_cast<int>(i), static_cast<int>(p->n) - 1);
    try {
        const std::vector<int> wanted(ids, ids + n_ids);
        std::string decoded;
        const auto status = p->processor.Decode(wanted, &decoded);
        if (!status.ok())
            return fail_library(err, "pieces", status.error_message());
        for (size_t at = 0; (at = decoded.find('\0', at)) != std::string::npos;)
            decoded.replace(at, 1, kReplacement);
        char *const copy = alloc_text(decoded.c_str(), decoded.size());
        if (copy == nullptr)
            return status_no_memory(err);
        *text = copy;
        return SB_OK;
    } catch (...) {
        return fail_thrown(err, "pieces");
    }
}
