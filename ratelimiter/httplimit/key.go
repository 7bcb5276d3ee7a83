package httplimit

import (
	"fmt"
	"net/http"
	"strings"

	"github.com/rueidisson/rueidisson/ratelimiter"
)

// Key finds out whose request it is: [ByIP], [ByHeader], or [By] a function of
// your own. The zero value is not usable.
type Key struct {
	of  func(*http.Request) (string, error)
	bad error // what New returns
}

// Of is the key of a request. Functions given to [By] can use it to fall back
// from one kind of key to another; they should tell the kinds apart by a prefix.
//
// Errors: [ErrNoKey]; those of the function; [ratelimiter.ErrOption] of a Key
// that [New] would refuse.
func (k Key) Of(r *http.Request) (string, error) {
	switch {
	case k.bad != nil:
		return "", k.bad
	case k.of == nil:
		return "", fmt.Errorf("%w: a zero Key", ratelimiter.ErrOption)
	}
	key, err := k.of(r)
	if err == nil && key == "" {
		err = fmt.Errorf("%w: it is empty", ErrNoKey)
	}
	return key, err
}

// By is a key function of your own. An empty key is none.
func By(of func(*http.Request) (string, error)) Key {
	if of == nil {
		return Key{bad: fmt.Errorf("%w: By of nil", ratelimiter.ErrOption)}
	}
	return Key{of: of}
}

// ByHeader is the value of a header, such as X-Api-Key. A request without it, or
// with several, has no key. A client that may write what it likes there gets a
// full bucket for each value that it invents: use it behind something that
// knows the values.
func ByHeader(name string) Key {
	if name == "" {
		return Key{bad: fmt.Errorf("%w: ByHeader of an empty name", ratelimiter.ErrOption)}
	}
	return Key{of: func(r *http.Request) (string, error) {
		values := r.Header.Values(name)
		if len(values) != 1 {
			return "", fmt.Errorf("%w: %d headers %s", ErrNoKey, len(values), http.CanonicalHeaderKey(name))
		}
		return strings.TrimSpace(values[0]), nil
	}}
}
