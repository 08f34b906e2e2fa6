#include "cli/record_lines.h"

#include "sbeam/record.h"

int record_lines_next(line_reader *reader, sb_error *err)
{
    int more, is_partial = 0;
    do {
        more = line_reader_next(reader, err);
        if (more > 0)
            is_partial = sb_record_is_partial(reader->line, reader->size, err);
    } while (more > 0 && is_partial > 0);
    return is_partial < 0 ? -1 : more;
}
