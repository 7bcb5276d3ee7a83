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
// Whoever calls [New] chooses: [FailOpen] passes the request on, [FailClosed]
// answers 503, [FailWith] does what you say. That is about every error of the
// limiter: a server that cannot be reached or does not answer in time, a lost
// reply, and also a limiter that has no rate or options that it cannot use. The
// wait for an answer is bounded, by half a second unless [Timeout] says
// otherwise. While the server stays silent requests do not wait: a breaker opens when
// at least half of the requests of the last second got no answer, and at least 5.
// Where none was answered for a second, it opens after 5 in a row. Then one request
// at a time asks, first after 50 ms, later after up to 1 s, and an answer closes the
// breaker. The others fail at once, with the last error. A limiter made with
// ratelimiter.WithFallback has such a breaker of its own, and
// decides by itself. What it decides then is a decision like any
// other, except that Open and Closed know of no numbers, so that no headers are
// sent, and that a refusal by Closed, which is nobody's quota, gets 503.
// Several limits together do so if each of them was made with a fallback.
//
// Errors go to the functions given to [Observe] and, at most one line a second,
// to the [Logger]. A client that goes away before the decision is neither: what
// was granted to it is given back. In case somebody still listens, because a
// deadline of the program's own ended the request, the answer is 503.
//
// A request of which no key can be derived, such as one without the header that
// is the key, or with an address that is none, is answered with 400: it fails
// closed. With [SharedKey] all of those share one bucket instead. Neither that
// nor any cost of a request is a failure of the limiter: what a client sends
// opens no gate.
//
// # Whose address
//
// [ByIP] believes the connection, and headers only from proxies that were named
// by [TrustProxies]: it reads X-Forwarded-For (or Forwarded) from the right,
// where the nearest proxy wrote, and goes on to the left for as long as the
// address is a trusted one. What a client writes into the header stands further
// left and is never reached. Behind a proxy that was not named, all clients are
// one. A client of IPv6 is its /64, see [IPv6Prefix].
//
// # Keys that are secrets
//
// What lets somebody in, such as an API key, stands neither in Redis nor in a
// log. [ByHeader] makes a hash of the header's value the key, unless it is told
// [Plain]; a function given to [By] has to do that by itself. Errors and log
// lines call a key by its kind and the first 8 hexadecimal digits of its
// SHA-256, as in "header Authorization #0dff0beb". Addresses stay readable in
// Redis and in the log lines of this package.
//
// # Headers
//
// [Draft11] is draft-ietf-httpapi-ratelimit-headers-11, which is not a standard
// yet and may change; a later revision will have a name of its own.
//
//	RateLimit-Policy: "api";q=10;w=2
//	RateLimit: "api";r=3;t=1
//
// A bucket is not a window, so this is what the numbers mean: w is the time in
// which an empty bucket fills, and q what comes in that time, in whole seconds
// and tokens. r is what is left. While there is some, t is the time in which as
// much comes back, so that a client which spreads r requests over t seconds
// keeps to the rate; once there is none, or too little for the request that was
// refused, t is how long to wait. In any window of w seconds up to the burst on
// top of q may be allowed: a bucket that was full, and what came meanwhile.
//
// All of several limits stand in the same fields. So do those of a handler that
// stands behind several middlewares, one around the other, the outermost first.
// [Also] is better where it can be used: it asks once, and takes of all or none,
// while what an outer middleware took stays taken when an inner one refuses.
// Names are those of the limiters, see [PolicyNames]. Responses to requests with an Origin also list
// the headers in Access-Control-Expose-Headers, so that scripts of other sites
// may read them. Put a CORS middleware around this one, not inside: preflight
// requests should not be counted, and it may replace that list.
//
// # Trying it out
//
// With [Shadow] tokens are taken and the functions given to Observe hear what
// would have happened, but no header is sent and every request is passed on. That
// is about all limits; with [AlsoShadow] some are tried out beside others that
// decide.
//
// # Refunds
//
// [RefundIf] gives the tokens back after the response, if a function of it says
// so: [Succeeded] makes failures count, such as wrong passwords, [Failed] makes
// successes count. They are taken before, so that many requests at once get no
// further than the limit either; the headers tell the count before the refund.
// A handler that panics without having answered counts as status 500.
//
// # What is known afterwards
//
// The decision travels in the context of the request that the handler gets.
// Where the cost is only known once the response is written, such as its bytes
// or a model's tokens, [Charge] tells it: 1 token, or what [Cost] estimates, is
// taken before, and the difference then. What exceeds the bucket becomes debt,
// which the client's next requests are refused for. Such a limit's burst is what
// a client may spend at once, and its rate what it may spend in the long run; a
// client that has nothing left gets no further response, but one that it has
// begun is not cut off.
package httplimit
