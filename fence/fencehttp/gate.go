package fencehttp

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync"

	"github.com/rueidisson/rueidisson/fence"
)

// ErrStale is returned by a Store for a token that is older than one it has seen, or equal to one
// of another owner.
var ErrStale = errors.New("stale fencing token")

// Store remembers the newest token of each lock.
type Store interface {
	// Admit remembers t, unless it knows a newer one: then it returns ErrStale. It does both in one
	// step.
	Admit(ctx context.Context, t fence.Token) error
}

// Gate refuses requests with old tokens, see the package comment.
type Gate struct {
	lock  func(r *http.Request) string
	store Store
}

// NewGate returns a gate. lock returns, for each request, the name of the lock that guards what the
// request changes. If it returns "", the request passes without a token, such as one that only
// reads. The gate does not use the names in the tokens, so the store remembers as many names as
// lock returns. A lock function that derives names from a request's path should first check that
// the object exists. store may be nil: then the gate uses the memory of this process, some 200
// bytes for each name. NewGate panics if lock is nil.
func NewGate(lock func(r *http.Request) string, store Store) *Gate {
	if lock == nil {
		panic("fencehttp: nil lock function")
	}
	if store == nil {
		store = &memory{newest: map[string]fence.Token{}}
	}
	return &Gate{lock, store}
}

// Wrap returns next with the gate before it. The contexts of the requests that reach next carry the
// token.
func (g *Gate) Wrap(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		lock := g.lock(r)
		if lock == "" {
			next.ServeHTTP(w, r)
			return
		}
		token, status, err := g.check(r, lock)
		if err != nil {
			http.Error(w, err.Error(), status)
			return
		}
		next.ServeHTTP(w, r.WithContext(fence.NewContext(r.Context(), token)))
	})
}

// check returns the token of a request, or the status and error with which it is refused.
func (g *Gate) check(r *http.Request, lock string) (token fence.Token, status int, err error) {
	values := r.Header.Values(Header)
	if len(values) == 0 {
		return token, http.StatusPreconditionRequired, errors.New("a fencing token is needed in " + Header)
	}
	token, err = only(values, lock)
	if err != nil {
		return token, http.StatusBadRequest, err
	}
	switch err = g.store.Admit(r.Context(), token); {
	case errors.Is(err, ErrStale):
		return token, http.StatusPreconditionFailed, ErrStale // no details: the caller must not learn what is stored
	case err != nil:
		return token, http.StatusServiceUnavailable, errors.New("the fencing token cannot be checked now")
	}
	return token, 0, nil
}

// longestRest is how long a token's text may be in addition to the name of its lock, times three
// for escapes: the store remembers the owner.
const longestRest = 512

// only returns the one token that a request must have.
func only(values []string, lock string) (fence.Token, error) {
	if len(values) > 1 {
		return fence.Token{}, errors.New("more than one " + Header)
	}
	if len(values[0]) > 3*len(lock)+longestRest {
		return fence.Token{}, fence.ErrMalformed
	}
	token, err := fence.Parse(values[0])
	if err != nil {
		return token, fence.ErrMalformed
	}
	if token.Lock() != lock {
		return token, fence.ErrOtherLock
	}
	return token, nil
}

// memory is the store of one process.
type memory struct {
	mu     sync.Mutex
	newest map[string]fence.Token
}

func (m *memory) Admit(_ context.Context, t fence.Token) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	newest := m.newest[t.Lock()]
	anothers := t.Owner() != "" && newest.Owner() != "" && t.Owner() != newest.Owner() // as far as is known
	if t.Number() < newest.Number() || t.Number() == newest.Number() && anothers {
		return fmt.Errorf("%w: %d, and %d has passed", ErrStale, t.Number(), newest.Number())
	}
	m.newest[t.Lock()] = t
	return nil
}
