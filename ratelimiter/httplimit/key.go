package httplimit

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net/http"
	"strings"

	"github.com/rueidisson/rueidisson/ratelimiter"
)

// Key finds out whose request it is: [ByIP], [ByHeader], or [By] a function of
// your own. The zero value is not usable.
type Key struct {
	of   func(*http.Request) (string, error)
	kind string
	open bool  // its text may stand in logs
	bad  error // what New returns
}

// Of returns the key of a request. Functions given to [By] can use it to fall back
// from one kind of key to another; they should tell the kinds apart by a prefix.
//
// Errors: [ErrNoKey]; those of the function; [ratelimiter.ErrInvalidArgument] of a Key
// that [New] would refuse.
func (k Key) Of(r *http.Request) (string, error) {
	switch {
	case k.bad != nil:
		return "", k.bad
	case k.of == nil:
		return "", fmt.Errorf("%w: a zero Key", ratelimiter.ErrInvalidArgument)
	}
	key, err := k.of(r)
	if err == nil && key == "" {
		err = fmt.Errorf("%w: it is empty", ErrNoKey)
	}
	return key, err
}

// Redact returns the name of a key for logs: its kind and a hash, because the text may be a secret. An
// address is shown. The hash is the one in the limiter's own errors.
func (k Key) Redact(key string) string {
	if k.open {
		return k.kind + " " + key
	}
	sum := sha256.Sum256([]byte(key))
	return k.kind + " #" + hex.EncodeToString(sum[:4])
}

// By makes a Key of a function of your own. An empty key is none. Redis has what it returns as it
// is, unless it is longer than 64 bytes. Hash a secret before.
func By(of func(*http.Request) (string, error)) Key {
	if of == nil {
		return Key{bad: fmt.Errorf("%w: By of nil", ratelimiter.ErrInvalidArgument)}
	}
	return Key{of: of, kind: "own"}
}

// ByHeader returns a Key by the value of a header, such as X-Api-Key or Authorization. The value
// may be a secret, so its hash is the key: the first 128 bits of its SHA-256, in hexadecimal
// digits. With [Plain] it is the value itself. A request without the header, or with several, has
// no key. A client that may write any value there gets a full bucket for each value that it
// invents: use ByHeader after a check of the values.
func ByHeader(name string, opts ...HeaderOption) Key {
	if name == "" {
		return Key{bad: fmt.Errorf("%w: ByHeader of an empty name", ratelimiter.ErrInvalidArgument)}
	}
	h := headerKey{name: http.CanonicalHeaderKey(name), spell: func(value string) string {
		sum := sha256.Sum256([]byte(value))
		return hex.EncodeToString(sum[:16]) // as long as nobody finds two values of one hash
	}}
	for _, o := range opts {
		if o == nil {
			return Key{bad: fmt.Errorf("%w: a nil option", ratelimiter.ErrInvalidArgument)}
		}
		o.applyHeader(&h)
	}
	return Key{of: h.of, kind: "header " + h.name}
}

// A HeaderOption changes what [ByHeader] makes of a header.
type HeaderOption interface{ applyHeader(*headerKey) }

type headerOption func(*headerKey)

func (o headerOption) applyHeader(h *headerKey) { o(h) }

// Plain makes the header's value the key as it is, so that it can be read in
// Redis: for names of users and tenants, not for credentials.
func Plain() HeaderOption {
	return headerOption(func(h *headerKey) { h.spell = func(value string) string { return value } })
}

// headerKey reads keys from a header.
type headerKey struct {
	name  string
	spell func(value string) string
}

func (h headerKey) of(r *http.Request) (string, error) {
	values := r.Header[h.name]
	if len(values) != 1 {
		return "", fmt.Errorf("%w: %d headers %s", ErrNoKey, len(values), h.name)
	}
	value := strings.TrimSpace(values[0])
	if value == "" {
		return "", fmt.Errorf("%w: an empty header %s", ErrNoKey, h.name)
	}
	return h.spell(value), nil
}
