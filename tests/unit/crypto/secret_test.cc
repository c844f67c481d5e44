#include "crypto/secret.h"

#include <string>
#include <type_traits>

#include <gtest/gtest.h>

#include "crypto/crypto.h"

namespace compute::crypto {
namespace {

template <class T>
concept Printable = requires(std::ostream& stream, const T& value) {
    stream << value;
};

TEST(Secret, CannotBePrinted) {
    static_assert(Printable<std::string>);
    static_assert(!Printable<Secret>);
}

TEST(Secret, CopiesAndMovesKeepTheBytes) {
    for (const std::string& text : {std::string("short"), std::string(100, 'x')}) {
        Secret first(text);
        Secret copy(first);
        Secret assigned;
        assigned = copy;
        const Secret moved(std::move(copy));

        EXPECT_EQ(first.reveal(), text);
        EXPECT_EQ(assigned.reveal(), text);
        EXPECT_EQ(moved.reveal(), text);
    }
}

TEST(Secret, IsEmptyAndWipedAfterAMove) {
    Secret from("0123456789");
    const char* bytes = from.reveal().data();  // inside the object: still there after the move

    const Secret to(std::move(from));

    EXPECT_TRUE(from.empty());  // NOLINT(bugprone-use-after-move): that is what is tested
    EXPECT_EQ(std::string_view(bytes, 10), std::string_view("\0\0\0\0\0\0\0\0\0\0", 10));
    EXPECT_EQ(to.size(), 10U);
}

TEST(EqualConstantTime, ComparesLengthThenBytes) {
    EXPECT_TRUE(equal_constant_time("", ""));
    EXPECT_TRUE(equal_constant_time("abc", "abc"));
    EXPECT_FALSE(equal_constant_time("abc", "abd"));
    EXPECT_FALSE(equal_constant_time("abc", "ab"));
    EXPECT_FALSE(equal_constant_time("", "a"));
}

}  // namespace
}  // namespace compute::crypto
