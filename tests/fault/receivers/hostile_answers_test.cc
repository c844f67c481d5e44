// What a receiver may answer, and the one outcome each has. After every case the same lane sends
// again, to the same connection when it was kept: what the odd answer left behind must not be taken
// for the next one.
#include <algorithm>
#include <optional>
#include <string>
#include <thread>

#include <gtest/gtest.h>
#include <malloc.h>

#include "tests/fault/receivers/sender_rig.h"
#include "tests/support/raw_receiver.h"

namespace compute::support {
namespace {

using net::Outcome;
using std::chrono::milliseconds;

constexpr milliseconds kShort{400};

struct Expected {
    Outcome outcome = Outcome::Answered;
    std::optional<int> status;
    std::string error;
};

Expected answered(int status, std::string error = {}) {
    return {Outcome::Answered, status, std::move(error)};
}
Expected unknown(std::string error) {
    return {Outcome::Unknown, std::nullopt, std::move(error)};
}

struct Case {
    std::string name;
    Script script;
    Expected expected;
    milliseconds timeout = kPatience;
};

void PrintTo(const Case& value, std::ostream* out) {
    *out << value.name;
}

// Reads one request, does `then`, and serves further requests of the connection properly.
Script after_request(std::function<void(RawConnection&)> then) {
    return [then = std::move(then)](RawConnection& connection) {
        if (connection.read_request()) {
            then(connection);
            answering(204)(connection);
        }
    };
}
Script sends(std::string answer) {
    return after_request([answer = std::move(answer)](RawConnection& connection) {
        connection.send(answer);
    });
}
Script sends_and_closes(std::string answer) {
    return after_request([answer = std::move(answer)](RawConnection& connection) {
        connection.send(answer);
        connection.close();
    });
}
Script sends_and_hangs(std::string answer) {
    return after_request([answer = std::move(answer)](RawConnection& connection) {
        connection.send(answer);
        connection.hang();
    });
}

const std::string kOk = "HTTP/1.1 200 OK\r\n";
const std::string kNotHttp = "the answer is not valid HTTP";

std::string repeated(const std::string& piece, int times) {
    std::string out;
    for (int i = 0; i < times; ++i) {
        out += piece;
    }
    return out;
}

std::vector<Case> connection_cases() {
    return {
        {"ResetsAfterTheRequest",
         after_request([](RawConnection& c) { c.reset(); }),
         unknown("connection broken off before the whole answer")},
        {"ClosesAfterTheRequest",
         after_request([](RawConnection& c) { c.close(); }),
         unknown("connection closed without an answer")},
        {"HalfClosesWithoutAnAnswer",
         after_request([](RawConnection& c) {
             c.shutdown_write();
             c.hang();
         }),
         unknown("connection closed without an answer")},
        {"HalfClosesAfterTheAnswer",
         after_request([](RawConnection& c) {
             c.send("HTTP/1.1 204 No Content\r\n\r\n");
             c.shutdown_write();
             c.hang();
         }),
         answered(204)},
        {"HangsAfterTheRequest",
         after_request([](RawConnection& c) { c.hang(); }),
         unknown("no answer within 400 ms"),
         kShort},
        {"HangsBeforeTheRequest",
         [](RawConnection& c) { c.pause(kPatience); },
         unknown("no answer within 400 ms"),
         kShort},
        {"HangsInTheStatusLine",
         sends_and_hangs("HTTP/1.1 20"),
         unknown("no answer within 400 ms"),
         kShort},
        {"HangsInTheHeader",
         sends_and_hangs(kOk + "Server: x\r\nA"),
         unknown("no answer within 400 ms"),
         kShort},
        {"DripsTheHeader",
         after_request([](RawConnection& c) {
             c.drip(kOk + repeated("A: b\r\n", 50), milliseconds(20));
         }),
         unknown("no answer within 400 ms"),
         kShort},
        {"ResetsInTheHeader",
         after_request([](RawConnection& c) {
             c.send(kOk + "Server: x\r\n");
             c.reset();
         }),
         unknown("connection broken off before the whole answer")},
    };
}

std::vector<Case> header_cases() {
    return {
        {"EndlessFields",
         after_request([](RawConnection& c) {
             c.send(kOk);
             c.flood("A: b\r\n");
         }),
         unknown("the answer has more than 100 header fields")},
        {"EndlessLongFields",
         after_request([](RawConnection& c) {
             c.send(kOk);
             c.flood("A: " + std::string(8000, 'x') + "\r\n");
         }),
         unknown("the answer has more than 64 KiB of header")},
        {"EndlessLine",
         after_request([](RawConnection& c) {
             c.send(kOk + "A: ");
             c.flood(std::string(4096, 'x'));
         }),
         unknown("the answer has more than 64 KiB of header")},
        {"EndlessStatusLine",
         after_request([](RawConnection& c) {
             c.send("HTTP/1.1 200 ");
             c.flood(std::string(4096, 'x'));
         }),
         unknown("the answer has more than 64 KiB of header")},
        {"FloodOfInterimAnswers",
         after_request([](RawConnection& c) { c.flood("HTTP/1.1 103 Early Hints\r\n\r\n"); }),
         unknown("the answer has more than 10 interim answers")},
        {"TenInterimAnswers",
         sends(
             repeated("HTTP/1.1 103 Early Hints\r\nLink: </x>\r\n\r\n", 10) +
             "HTTP/1.1 204 No Content\r\n\r\n"
         ),
         answered(204)},
        {"InterimAnswerThenNothing",
         sends_and_hangs("HTTP/1.1 100 Continue\r\n\r\n"),
         unknown("no answer within 400 ms"),
         kShort},
        {"SwitchingProtocols",
         sends_and_hangs(
             "HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: Upgrade\r\n\r\n"
         ),
         answered(101, "HTTP 101")},
        {"NoHttpAtAll", sends_and_hangs("<html>hello</html>\r\n\r\n"), unknown(kNotHttp)},
        {"AnotherProtocol", sends_and_hangs("SSH-2.0-OpenSSH_9.2\r\n"), unknown(kNotHttp)},
        {"StatusIsNoNumber", sends_and_hangs("HTTP/1.1 abc OK\r\n\r\n"), unknown(kNotHttp)},
        {"NoReasonPhrase", sends("HTTP/1.1 204\r\n\r\n"), answered(204)},
        {"BareLineFeeds", sends("HTTP/1.1 200 OK\nContent-Length: 0\n\n"), answered(200)},
        {"FoldedField", sends(kOk + "A: b\r\n c\r\nContent-Length: 0\r\n\r\n"), answered(200)},
        {"EightBitReasonAndField",
         sends("HTTP/1.1 200 \xff\xfe\r\nA: \x80\x81\r\nContent-Length: 0\r\n\r\n"),
         answered(200)},
        {"NulInField",
         sends_and_hangs(kOk + "A: b" + std::string(1, '\0') + "c\r\nContent-Length: 0\r\n\r\n"),
         unknown(kNotHttp)},
        {"Redirect",
         sends("HTTP/1.1 302 Found\r\nLocation: http://127.0.0.1:1/\r\nContent-Length: 0\r\n\r\n"),
         answered(302, "HTTP 302 (redirects are not followed)")},
        {"AsksForAPassword",
         sends("HTTP/1.1 401 No\r\nWWW-Authenticate: Basic realm=x\r\nContent-Length: 0\r\n\r\n"),
         answered(401, "HTTP 401")},
        {"ServerError",
         sends("HTTP/1.1 500 No\r\nContent-Length: 0\r\n\r\n"),
         answered(500, "HTTP 500")},
        {"LastOf2xx", sends("HTTP/1.1 299 Fine\r\nContent-Length: 0\r\n\r\n"), answered(299)},
        {"StatusOutOfRange",
         sends("HTTP/1.1 999 Odd\r\nContent-Length: 0\r\n\r\n"),
         answered(999, "HTTP 999")},
    };
}

std::vector<Case> body_cases() {
    const std::string chunked = kOk + "Transfer-Encoding: chunked\r\n\r\n";
    const std::string gzip_member =
        std::string("\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\x03", 10) + std::string(200, '\x7f');
    return {
        {"DrippingBody",
         after_request([](RawConnection& c) {
             c.send(kOk + "Content-Length: 10000\r\n\r\n");
             c.drip(std::string(10'000, 'x'), milliseconds(20));
         }),
         answered(200)},
        {"EndlessBody",
         after_request([](RawConnection& c) {
             c.send(kOk + "\r\n");
             c.flood(std::string(4096, 'x'));
         }),
         answered(200)},
        {"EndlessChunks",
         after_request([=](RawConnection& c) {
             c.send(chunked);
             c.flood("400\r\n" + std::string(1024, 'x') + "\r\n");
         }),
         answered(200)},
        {"TenMegabytesAnnounced",
         sends_and_hangs(kOk + "Content-Length: 10000000\r\n\r\n"),
         answered(200)},
        {"BodyThatNeverComes", sends_and_hangs(kOk + "Content-Length: 10\r\n\r\n"), answered(200)},
        {"BodyCutOff", sends_and_closes(kOk + "Content-Length: 10\r\n\r\nabc"), answered(200)},
        {"ErrorWithABodyCutOff",
         sends_and_closes("HTTP/1.1 500 No\r\nContent-Length: 10\r\n\r\nabc"),
         answered(500, "HTTP 500")},
        {"NoLengthThenClose", sends_and_closes("HTTP/1.0 200 OK\r\n\r\nabc"), answered(200)},
        {"BadChunkSize", sends(chunked + "zz\r\nabc\r\n"), answered(200)},
        {"HugeChunkSize", sends(chunked + "ffffffffffffffffff\r\nabc"), answered(200)},
        {"ChunkCutOff", sends_and_closes(chunked + "10\r\nabc"), answered(200)},
        {"EndlessTrailers",
         after_request([=](RawConnection& c) {
             c.send(chunked + "0\r\n");
             c.flood("A: b\r\n");
         }),
         answered(200)},
        {"BodyAfter204",
         sends("HTTP/1.1 204 No Content\r\nContent-Length: 5\r\n\r\nHTTP/"),
         answered(204)},
        {"MoreThanTheLength", sends(kOk + "Content-Length: 1\r\n\r\nabcdefgh"), answered(200)},
        {"TwoAnswersAtOnce",
         sends("HTTP/1.1 204 No Content\r\n\r\nHTTP/1.1 500 No\r\nContent-Length: 0\r\n\r\n"),
         answered(204)},
        {"NegativeLength", sends_and_hangs(kOk + "Content-Length: -5\r\n\r\n"), unknown(kNotHttp)},
        {"LengthIsNoNumber",
         sends_and_hangs(kOk + "Content-Length: abc\r\n\r\n"),
         unknown(kNotHttp)},
        {"LengthBesideChunked",
         sends(kOk + "Content-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"),
         answered(200)},
        {"TwoLengths",
         sends_and_hangs(kOk + "Content-Length: 0\r\nContent-Length: 9\r\n\r\n"),
         answered(200)},
        {"ContentIsGzip",
         sends(kOk + "Content-Encoding: gzip\r\nContent-Length: 210\r\n\r\n" + gzip_member),
         answered(200)},
        {"TransferIsGzip",
         sends_and_closes(kOk + "Transfer-Encoding: gzip\r\n\r\n" + gzip_member),
         answered(200)},
        {"TransferIsUnknown",
         sends_and_closes(kOk + "Transfer-Encoding: rot13\r\n\r\nabc"),
         answered(200)},
        {"ManyTransferCodings",
         sends_and_closes(
             kOk + "Transfer-Encoding: gzip, gzip, gzip, gzip, gzip, gzip, gzip\r\n\r\nabc"
         ),
         unknown(kNotHttp)},
    };
}

class HostileAnswer : public testing::TestWithParam<Case> {};

TEST_P(HostileAnswer, HasItsOutcomeAndLeavesNothingBehind) {
    const Case& item = GetParam();
    RawReceiver receiver(item.script);
    SenderRig rig;
    const auto started = std::chrono::steady_clock::now();

    const net::AttemptResult result = rig.send(rig.url_of(receiver), item.timeout);

    EXPECT_EQ(result.outcome, item.expected.outcome) << result.detail;
    EXPECT_EQ(result.status, item.expected.status) << result.detail;
    EXPECT_EQ(result.error, item.expected.error) << result.detail;
    EXPECT_LT(std::chrono::steady_clock::now() - started, milliseconds(3000));
    EXPECT_EQ(result.error.find("127.0.0.1"), std::string::npos);
    receiver.set_script(answering(204));
    const net::AttemptResult next = rig.send(rig.url_of(receiver));
    EXPECT_EQ(next.status, 204) << next.error << " " << next.detail;
}

// Live bytes of the heap, all arenas.
long heap_bytes() {
    const auto info = mallinfo2();
    return static_cast<long>(info.uordblks + info.hblkhd);
}

// The highest heap_bytes() while it lives, looked at again and again.
class HeapPeak {
public:
    [[nodiscard]] long stop() {
        thread_.request_stop();
        thread_.join();
        return peak_;
    }

private:
    long peak_ = heap_bytes();
    std::jthread thread_{[this](const std::stop_token& stop) {
        while (!stop.stop_requested()) {
            peak_ = std::max(peak_, heap_bytes());
            std::this_thread::yield();
        }
    }};
};

// Every odd answer again and again, each in a lane of its own. What the sender may keep (four
// exchanges and four connections here) it has after the first round; from then on nothing grows
// while an answer comes in, and nothing of it is left.
TEST(HostileAnswers, LeaveNoMemoryBehind) {
    std::vector<Case> cases = connection_cases();
    for (const auto& more : {header_cases(), body_cases()}) {
        cases.insert(cases.end(), more.begin(), more.end());
    }
    ASSERT_GE(cases.size(), 30U);
    net::SenderOptions options = SenderRig::loopback_options();
    options.max_in_flight = options.max_idle_connections = 4;
    SenderRig rig(options);
    const auto send = [&](const Case& item) {
        RawReceiver receiver(item.script);
        net::Attempt attempt =
            rig.attempt(rig.url_of(receiver), std::min(item.timeout, milliseconds(2000)));
        attempt.lane = attempt.id;
        (void)rig.send(std::move(attempt));
    };
    std::for_each(cases.begin(), cases.end(), send);
    const long before = heap_bytes();

    for (const Case& item : cases) {
        HeapPeak peak;
        const long before_this = heap_bytes();
        send(item);
        EXPECT_LT(peak.stop() - before_this, 1'000'000) << item.name;
    }
    const long after_a_round = heap_bytes();
    std::for_each(cases.begin(), cases.end(), send);
    const long after = heap_bytes();

    EXPECT_LT(after_a_round - before, 150'000);
    EXPECT_LT(after - after_a_round, 150'000);
}

std::string name_of(const testing::TestParamInfo<Case>& info) {
    return info.param.name;
}

INSTANTIATE_TEST_SUITE_P(Connection, HostileAnswer, testing::ValuesIn(connection_cases()), name_of);
INSTANTIATE_TEST_SUITE_P(Header, HostileAnswer, testing::ValuesIn(header_cases()), name_of);
INSTANTIATE_TEST_SUITE_P(Body, HostileAnswer, testing::ValuesIn(body_cases()), name_of);

}  // namespace
}  // namespace compute::support
