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
// A stream counts once, when it begins. First the cost is computed, 1 unless [Cost] says otherwise;
// a call that costs 0 is passed on. Then the limiter decides, in one round trip, also about several
// limits ([Also]). A call that is refused ends with status ResourceExhausted, with
// google.rpc.RetryInfo, which clients' retries heed, and google.rpc.QuotaFailure, which names the
// limits that refused. A call that costs more than a full bucket holds, or has a rate of 0, gets no
// RetryInfo, because no wait would help. A call without a key, or with a cost below 0, ends with
// InvalidArgument. Limits given to [AlsoShadow] are tried out in addition to those.
//
// # When there is no decision
//
// The failure argument of [New] decides: [FailOpen] passes the call on, [FailClosed] ends it with
// Unavailable, and a function of your own does what it likes. The wait for an answer is bounded, by
// half a second unless [Timeout] says otherwise. For a limiter made with ratelimiter.WithFallback
// the fallback decides then. A refusal by ratelimiter.Closed, which is no client's quota, is
// Unavailable, too.
//
// An argument that cannot be used (ratelimiter.ErrInvalidArgument) is no outage: it ends the call
// with Internal, whatever was chosen. A limiter that is not the expected one is no outage either:
// FailOpen passes no call on for it. A client that goes away before the decision takes nothing.
package grpclimit
