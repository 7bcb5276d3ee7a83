package httplimit

import (
	"fmt"
	"net/http"

	"github.com/rueidisson/rueidisson/ratelimiter"
	"github.com/rueidisson/rueidisson/ratelimiter/internal/admission"
)

// Failure is what happens to a request about which no decision could be made:
// [FailOpen], [FailClosed] or [FailWith].
type Failure interface {
	check() error
	serve(w http.ResponseWriter, r *http.Request, next http.Handler, err error)
}

var (
	// FailOpen passes the request on as if there were no limit, if the limiter could not be asked. What
	// is wrong with the limiter itself is no outage, and does not open it: a rate that cannot be used
	// or that is not the expected one, and a name that is used by something else, are answered as by
	// FailClosed. A limiter without a rate has no limit.
	FailOpen Failure = failure(func(w http.ResponseWriter, r *http.Request, next http.Handler, err error) {
		if admission.Misconfigured(err) {
			unavailable.write(w)
			return
		}
		next.ServeHTTP(w, r)
	})

	// FailClosed answers with status 503 and a Retry-After of a second.
	FailClosed Failure = failure(func(w http.ResponseWriter, _ *http.Request, _ http.Handler, _ error) {
		unavailable.write(w)
	})
)

// FailWith answers the request, or passes it on to next. err is the limiter's
// error, such as [ratelimiter.ErrNoRate], ctx's deadline or the network's.
func FailWith(serve func(w http.ResponseWriter, r *http.Request, next http.Handler, err error)) Failure {
	return failure(serve)
}

type failure func(http.ResponseWriter, *http.Request, http.Handler, error)

func (f failure) check() error {
	if f == nil {
		return fmt.Errorf("%w: FailWith of nil", ratelimiter.ErrInvalidArgument)
	}
	return nil
}

func (f failure) serve(w http.ResponseWriter, r *http.Request, next http.Handler, err error) {
	f(w, r, next, err)
}
