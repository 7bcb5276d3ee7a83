// Package httplimit puts a [ratelimiter.Limiter] in front of an http.Handler,
// for any router that takes func(http.Handler) http.Handler:
//
//	lim := client.RateLimiter("api")                                        // a bucket for each key
//	limit, err := httplimit.New(lim, httplimit.ByIP(), httplimit.FailOpen)  // who, and what if nobody can decide
//	http.Handle("/", limit(mux))                                            // err says what cannot be used
//
// The rate is the one that is stored under the limiter's name, see
// [ratelimiter.Limiter.TrySetRate]; all processes that use the name share it.
//
// # A request
//
// First its cost is asked for, 1 unless [Cost] says otherwise; what costs 0 is
// passed on as if there were no limit. Then its key. Then the limiter decides,
// in one round trip, also about several limits ([Also]). A request that is
// allowed is passed on with the headers of [Headers]; one that is refused gets
// status 429, the headers, Retry-After in whole seconds, and a body of type
// application/problem+json that names the limits which refused:
//
//	{"type":"https://iana.org/assignments/http-problem-types#quota-exceeded",
//	 "title":"Request cannot be satisfied as assigned quota has been exceeded",
//	 "status":429,"violated-policies":["api"]}
//
// [WithRetryJitter] lets clients that were refused together come back apart.
//
// A request that costs more than a full bucket holds could never be allowed:
// it is refused like that, without a Retry-After. One whose cost cannot be told,
// as it is below 0, is answered with 400.
//
// # When there is no decision
//
// The failure argument of [New] decides: [FailOpen] passes the request on, [FailClosed] answers
// 503, [FailWith] calls a function of yours. It applies to every error of the limiter: a server
// that cannot be reached or does not answer in time, a lost reply, and also a limiter that has no
// rate or invalid options. The wait for an answer is bounded, by half a second unless [Timeout]
// says otherwise.
//
// While the server stays silent, requests do not wait: a breaker opens when at least half of the
// requests of the last second got no answer, and at least 5. If none was answered for a second, it
// opens after 5 in a row. Then one request at a time asks, first after 50 ms, later after up to 1
// s, and an answer closes the breaker. The others fail at once, with the last error.
//
// A limiter made with ratelimiter.WithFallback has such a breaker of its own, and its fallback
// decides. That decision is like any other, with two exceptions. Open and Closed have no numbers,
// so no headers are sent. A refusal by Closed, which is no client's quota, gets 503. Several limits
// together have a fallback if each of them was made with one.
//
// Errors are passed to the functions given to [Observe] and, at most one line a second, to the
// [Logger]. A client that goes away before the decision is no error: tokens that were granted to it
// are given back. The answer is 503 in case a client still listens, because a deadline of the
// program's own ended the request.
//
// A request without a key is answered with 400: it fails closed. Examples are a request without the
// header that is the key, or with an invalid address. With [SharedKey] all of those share one
// bucket instead. Neither that nor any cost of a request is a failure of the limiter: a client
// cannot cause FailOpen by what it sends.
//
// # The client's address
//
// [ByIP] trusts the connection, and headers only from proxies that were named by [TrustProxies]. It
// reads X-Forwarded-For (or Forwarded) from the right, where the nearest proxy wrote, and continues
// to the left for as long as the address is a trusted one. What a client writes into the header is
// further left and is never reached. Without the name of their proxy, all clients of that proxy are
// one. A client of IPv6 is its /64, see [IPv6Prefix].
//
// # Keys that are secrets
//
// A secret, such as an API key, is stored neither in Redis nor in a log. [ByHeader] makes a hash of
// the header's value the key, unless it is told [Plain]; a function given to [By] has to do that
// itself. Errors and log lines name a key by its kind and the first 8 hexadecimal digits of its
// SHA-256, as in "header Authorization #0dff0beb". Addresses stay readable in Redis and in the log
// lines of this package.
//
// # Headers
//
// [Draft11] is draft-ietf-httpapi-ratelimit-headers-11, which is not a standard
// yet and may change; a later revision will have a name of its own.
//
//	RateLimit-Policy: "api";q=10;w=2
//	RateLimit: "api";r=3;t=1
//
// A bucket is not a window, so the numbers have these meanings. w is the time in which an empty
// bucket fills, and q the tokens of that time, in whole seconds and tokens. r is the number of
// tokens left. While r is above 0, t is the time in which as many tokens come back: a client that
// spreads r requests over t seconds keeps to the rate. If there are no tokens, or too few for the
// request that was refused, t is the time to wait. In any window of w seconds up to the burst in
// addition to q may be allowed: a bucket that was full, and its refill.
//
// All of several limits are listed in the same fields. The limits of several middlewares, one
// around the other, are listed there, too, the outermost first. [Also] is better where it can be
// used: it asks once, and takes of all or none. With several middlewares, the tokens that an outer
// one took stay taken when an inner one refuses. Names are those of the limiters, see
// [PolicyNames]. Responses to requests with an Origin also list the headers in
// Access-Control-Expose-Headers, so that scripts of other sites may read them. Put a CORS
// middleware around this one, not inside: preflight requests should not be counted, and it may
// replace that list.
//
// # Trying it out
//
// With [Shadow] tokens are taken and the functions given to Observe get the decisions, but no
// header is sent and every request is passed on. That is for all limits. With [AlsoShadow] some
// limits are tried out in addition to others that decide.
//
// # Refunds
//
// [RefundIf] gives the tokens back after the response, if a function of it says
// so: [Succeeded] makes failures count, such as wrong passwords, [Failed] makes
// successes count. They are taken before, so that many requests at once get no
// further than the limit either; the headers tell the count before the refund.
// A handler that panics without having answered counts as status 500.
//
// # A cost that is known afterwards
//
// The context of the request that the handler gets carries the decision. If the cost is only known
// after the response, such as its bytes or a model's tokens, report it with [Charge]. 1 token, or
// the estimate of [Cost], is taken before, and the difference then. A cost above the bucket becomes
// debt, and the client's next requests are refused for it. The burst of such a limit is what a
// client may spend at once, and its rate what it may spend in the long run. A client that has
// nothing left gets no further response, but a response that has begun is not cut off.
package httplimit
