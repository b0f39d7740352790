/* SPDX-License-Identifier: MIT */
#include "collect/values/dtypes.h"

#include "base/test.h"

TEST(dtypes_know_what_their_second_word_is)
{
    for (uint32_t number = 0; number <= SD_DTYPE_OBJECT; number++)
        CHECK(sd_dtype_more(number) == SD_DTYPE_ALONE);
    CHECK(sd_dtype_more(SD_DTYPE_BYTES) == SD_DTYPE_HAS_LENGTH);
    CHECK(sd_dtype_more(SD_DTYPE_TEXT) == SD_DTYPE_HAS_LENGTH);
    CHECK(sd_dtype_more(SD_DTYPE_VOID) == SD_DTYPE_HAS_LENGTH);
    CHECK(sd_dtype_more(SD_DTYPE_DATETIME) == SD_DTYPE_HAS_UNIT);
    CHECK(sd_dtype_more(SD_DTYPE_TIMEDELTA) == SD_DTYPE_HAS_UNIT);
    CHECK(sd_dtype_more(SD_DTYPE_HALF) == SD_DTYPE_ALONE);
    CHECK(sd_dtype_more(256) == SD_DTYPE_HAS_SCALAR);
    CHECK(sd_dtype_more(SD_DTYPE_STRINGS) == SD_DTYPE_HAS_SCALAR);
}

TEST(dtypes_without_a_number_have_their_scalar_type)
{
    CHECK(sd_dtype_more((uint32_t)-1) == SD_DTYPE_HAS_SCALAR);
}
