// Package grpclimit puts a [ratelimiter.Limiter] in front of a gRPC server. It is a module of its
// own, so that only programs that use it link gRPC.
//
//	lim := client.RateLimiter("api")
//	limit, err := grpclimit.New(lim, httplimit.ByHeader("authorization"), grpclimit.FailOpen)
//	…
//	s := grpc.NewServer(grpc.UnaryInterceptor(limit.Unary), grpc.StreamInterceptor(limit.Stream))
//
// The rate is the one that is stored under the limiter's name, see
// [ratelimiter.Limiter.TrySetRate]; all processes that use the name share it,
// and a middleware of package httplimit with the same name and key, too.
//
// # The key of a call
//
// A gRPC call is an HTTP request, and its key is found in the same way: by [httplimit.ByIP],
// [httplimit.ByHeader] or [httplimit.By]. Such a function gets a request that has the call's
// context, its method as the path of the URL, its metadata as the header and the peer as the remote
// address; it has no body. ByHeader hashes the value, unless it is told Plain.
//
// # A call
//
// A stream counts once, when it begins; with [Messages] each message that it receives counts, too. The cost is 1
// unless [Cost] says otherwise; a call that costs 0 is passed on. Then the limiter decides, in
// one round trip, also about several limits ([Also]). [Rule] gives a key a rate of its own. A call that is refused ends
// with status ResourceExhausted, with google.rpc.RetryInfo, which clients'
// retries heed, and google.rpc.QuotaFailure, which names the limits that refused.
// A call that costs more than a full bucket holds, or has a rate of 0, gets no
// RetryInfo, because no wait would help. A call without a key, or with a cost below 0, ends with
// InvalidArgument. [Headers] sends the quota as metadata in the header of each answer.
//
// Limits given to [AlsoShadow] are tried out in addition to those. With [Shadow] all of them are: tokens are taken and
// the functions given to [Observe] are told, but no call is refused.
//
// # Refunds and charges
//
// [RefundIf] gives the tokens of a call back after its handler has returned: with [Succeeded] only failures count, with
// [Failed] only successes. [Charge] says what a call has cost in all, where that is known only afterwards.
//
// # When there is no decision
//
// The caller of [New] chooses: [FailOpen] passes the call on, [FailClosed] ends
// it with Unavailable, and a function of the program decides otherwise. The wait
// for an answer is bounded, by half a second unless [Timeout] says otherwise. While the server stays silent calls do
// not wait: the breaker of package httplimit answers in place of the limiter, and its error is that of the last call which waited. A
// limiter made with ratelimiter.WithFallback decides by itself then; a refusal by
// ratelimiter.Closed, which is no quota, ends with Unavailable, too. An invalid argument
// (ratelimiter.ErrInvalidArgument) is no outage: it ends the call with
// Internal in any case. FailOpen does the same while a limiter is not the expected one.
// A client that cancels before the decision takes nothing.
//
// Errors are told to the functions given to [Observe], and to [Logger], at most one line a second.
package grpclimit
