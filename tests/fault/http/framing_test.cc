#include <string>

#include "tests/fault/http/fixture.h"

namespace compute::daemon::http {
namespace {

// Requests that two parsers could understand in two ways, and bodies that are not what they
// announce.
class Framing : public HttpFault {};
INSTANTIATE_TEST_SUITE_P(Wires, Framing, ::testing::Values(Wire::Plain, Wire::Tls), wire_name);

const std::string kStart =
    "POST /echo HTTP/1.1\r\nHost: test\r\nContent-Type: application/json\r\nX-Better-Compute: "
    "1\r\n";

std::string chunked(std::string_view chunks) {
    return kStart + "Transfer-Encoding: chunked\r\n\r\n" + std::string(chunks);
}

TEST_P(Framing, ALengthThatIsNoNumberIsRefused) {
    start();

    for (const char* bad : {"+2", "-2", "2 2", "0x2", "2,2", "", "two", "2.0", "\t"}) {
        EXPECT_EQ(refused_with(kStart + "Content-Length: " + bad + "\r\n\r\n{}"), 400) << bad;
    }
    EXPECT_EQ(handler_.handled(), 0);
}

TEST_P(Framing, ALengthGivenTwiceIsRefused) {
    start();

    EXPECT_EQ(refused_with(kStart + "Content-Length: 2\r\nContent-Length: 2\r\n\r\n{}"), 400);
    EXPECT_EQ(refused_with(kStart + "Content-Length: 2\r\nContent-Length: 7\r\n\r\n{}"), 400);
}

TEST_P(Framing, ALengthBesideATransferEncodingIsRefused) {
    start();

    EXPECT_EQ(
        refused_with(kStart + "Content-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"),
        400
    );
    EXPECT_EQ(
        refused_with(kStart + "Transfer-Encoding: identity\r\nContent-Length: 2\r\n\r\n{}"), 400
    );
}

TEST_P(Framing, OtherTransferEncodingsAreNotSupported) {
    start();

    for (const char* bad : {"gzip, chunked", "identity", "xchunked", "chunked, chunked", ""}) {
        EXPECT_EQ(refused_with(kStart + "Transfer-Encoding: " + bad + "\r\n\r\n0\r\n\r\n"), 501)
            << bad;
    }
    EXPECT_EQ(
        refused_with(
            kStart + "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"
        ),
        400
    );
}

TEST_P(Framing, MalformedHeadsAreRefused) {
    start();
    using namespace std::string_literals;

    for (const std::string& bad : {
             "GET /plain HTTP/1.1\r\nHost: test\r\nX-A: 1\r\n folded\r\n\r\n"s,
             "GET /plain HTTP/1.1\r\nHost: test\r\nX-A : 1\r\n\r\n"s,
             "GET /plain HTTP/1.1\r\nHost: test\r\n: 1\r\n\r\n"s,
             "GET /plain HTTP/1.1\r\nHost: test\r\nno colon\r\n\r\n"s,
             "GET /plain HTTP/1.1\r\nHost: test\r\nX-A: a\0b\r\n\r\n"s,
             "GET /plain HTTP/1.1\r\nHost: test\r\nX-A: a\rb\r\n\r\n"s,
             "GET /plain HTTP/1.1\r\nHost: test\r\nX-A: a\x01\r\n\r\n"s,
             "GET /plain HTTP/1.1\nHost: test\n\n"s,
             "GET /plain HTTP/1.1\r\nHost: test\n\r\n"s,
             "GET  /plain HTTP/1.1\r\nHost: test\r\n\r\n"s,
             "GET /pl ain HTTP/1.1\r\nHost: test\r\n\r\n"s,
             "GET /plain HTTP/1.1 \r\nHost: test\r\n\r\n"s,
             "GET /plain HTTP/2.0\r\nHost: test\r\n\r\n"s,
             "GET /plain\r\n\r\n"s,
             "G(T /plain HTTP/1.1\r\nHost: test\r\n\r\n"s,
             "\r\n\r\n\r\n"s,
             "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"s,
             "GET /plain HTTP/1.1\r\n\r\n"s,
             "GET /plain HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n"s,
             "\x16\x03\x01\x02\x00\n"s,
         }) {
        EXPECT_EQ(refused_with(bad), 400) << testing::PrintToString(bad);
    }
    EXPECT_EQ(handler_.handled(), 0);
}

TEST_P(Framing, OneEmptyLineBeforeARequestIsForgiven) {
    start();
    RawHttp client = connect();

    EXPECT_EQ(client.ask(post("/call") + "\r\n")->status, 200);
    EXPECT_EQ(client.ask("\r\n" + post("/call"))->status, 400);
}

TEST_P(Framing, ChunksAreReadAsOneBody) {
    start();

    EXPECT_EQ(
        ask(chunked("5\r\nhello\r\nA;name=value\r\n, chunked!\r\n0\r\n\r\n"))->body,
        "hello, chunked!"
    );
    EXPECT_EQ(ask(chunked("0\r\n\r\n"))->status, 200);
    EXPECT_EQ(ask(chunked("00002\r\n{}\r\n0\r\nX-Trailer: dropped\r\n\r\n"))->body, "{}");
}

TEST_P(Framing, ChunksOfTheLimitPassAndOneByteMoreDoesNot) {
    start();
    const std::string half = "8000\r\n" + std::string(32768, 'a') + "\r\n";

    EXPECT_EQ(ask(chunked(half + half + "0\r\n\r\n"))->body.size(), 65536U);
    EXPECT_EQ(refused_with(chunked(half + half + "1\r\na\r\n0\r\n\r\n")), 413);
    EXPECT_EQ(refused_with(chunked("FFFFFFFFFFFFFFFFFFFF\r\n")), 413);
}

TEST_P(Framing, MalformedChunksAreRefused) {
    start();

    for (const char* bad :
         {"x\r\n",
          "-1\r\na\r\n",
          "\r\n",
          "1\na\r\n0\r\n\r\n",
          "1\r\nab\r\n0\r\n\r\n",
          "1 \r\na\r\n",
          "0x1\r\na\r\n",
          "1\r\na\n0\r\n\r\n",
          "0\r\nX-A: 1\n\r\n"}) {
        EXPECT_EQ(refused_with(chunked(bad)), 400) << bad;
    }
    EXPECT_EQ(refused_with(chunked("1;" + std::string(300, 'x') + "\r\na\r\n0\r\n\r\n")), 400);
    EXPECT_EQ(handler_.handled(), 0);
}

TEST_P(Framing, ATrailerWithoutEndIsRefused) {
    start();
    std::string trailer = "0\r\n";
    for (int i = 0; i < 100; ++i) {
        trailer += "X-" + std::to_string(i) + ": " + std::string(60, 'a') + "\r\n";
    }

    EXPECT_EQ(refused_with(chunked(trailer)), 400);
}

TEST_P(Framing, PipelinedRequestsAreAnsweredInOrder) {
    start();
    RawHttp client = connect();

    client.send(
        post("/echo", "1") + post("/nothing", "xx") + post("/echo", "22") +
        chunked("3\r\n333\r\n0\r\n\r\n") + post("/echo", "4444")
    );

    EXPECT_EQ(client.read_answer()->body, "1");
    EXPECT_EQ(client.read_answer()->status, 404);
    EXPECT_EQ(client.read_answer()->body, "22");
    EXPECT_EQ(client.read_answer()->body, "333");
    EXPECT_EQ(client.read_answer()->body, "4444");
}

TEST_P(Framing, AThousandPipelinedRequestsAreAllAnswered) {
    start();
    RawHttp client = connect();
    std::string requests;
    for (int i = 0; i < 1000; ++i) {
        requests += post("/echo", std::to_string(i));
    }

    client.send(requests);

    for (int i = 0; i < 1000; ++i) {
        const auto answer = client.read_answer();
        ASSERT_TRUE(answer) << i;
        ASSERT_EQ(answer->body, std::to_string(i));
    }
}

TEST_P(Framing, ARefusedBodyIsNotTakenForTheNextRequest) {
    start();
    RawHttp client = connect();

    EXPECT_EQ(client.ask(post("/nothing", post("/call")))->status, 404);
    EXPECT_EQ(client.ask(post("/echo", "next"))->body, "next");
    EXPECT_EQ(handler_.handled(), 1);
}

TEST_P(Framing, BytesMayComeOneByOne) {
    start();
    RawHttp client = connect();

    for (const char byte : post("/echo", "slowly") + chunked("3\r\nabc\r\n0\r\n\r\n")) {
        ASSERT_TRUE(client.send(std::string(1, byte)));
    }

    EXPECT_EQ(client.read_answer()->body, "slowly");
    EXPECT_EQ(client.read_answer()->body, "abc");
}

TEST_P(Framing, ACloseInTheMiddleHarmsNobody) {
    start();
    const std::string request = post("/echo", "body");

    for (std::size_t cut = 0; cut < request.size(); cut += 7) {
        RawHttp client = connect();
        client.send(request.substr(0, cut));
        client.close();
    }

    EXPECT_EQ(ask(post("/echo", "fine"))->body, "fine");
}

TEST_P(Framing, AnAnnouncedBodyIsAskedForAndThenRead) {
    start();
    RawHttp client = connect();

    client.send(kStart + "Expect: 100-continue\r\nContent-Length: 4\r\n\r\n");
    const auto interim = client.read_answer();
    client.send("late");
    const auto answer = client.read_answer();

    ASSERT_TRUE(interim && answer);
    EXPECT_EQ(interim->status, 100);
    EXPECT_EQ(answer->body, "late");
}

TEST_P(Framing, AnAnnouncedBodyOfARefusedRequestIsNotAskedFor) {
    start();

    EXPECT_EQ(
        refused_with("POST /nothing HTTP/1.1\r\nHost: test\r\nExpect: "
                     "100-continue\r\nContent-Length: 4\r\n\r\n"),
        404
    );
}

TEST_P(Framing, AClientThatWantsTheEndGetsItAfterTheAnswer) {
    start();

    EXPECT_EQ(refused_with(post("/call", "{}", "Connection: close\r\n")), 200);
    EXPECT_EQ(refused_with("GET /plain HTTP/1.0\r\n\r\n"), 200);
}

TEST_P(Framing, AHalfClosedClientStillGetsItsAnswer) {
    start();
    RawHttp client = connect();

    client.send(post("/echo", "half"));
    client.finish_sending();

    const auto answer = client.read_answer();
    ASSERT_TRUE(answer);
    EXPECT_EQ(answer->body, "half");
}

}  // namespace
}  // namespace compute::daemon::http
