package redissonlimiter

import (
	"fmt"

	"github.com/rueidisson/rueidisson/ratelimiter"
)

// SetOption is an option of [Limiter.SetRate] and [Limiter.UpdateRate].
type SetOption interface{ applySet(*setting) }

// setting is how a rate is set.
type setting struct{ keep bool }

type keepState struct{}

func (keepState) applySet(s *setting) { s.keep = true }

// WithKeepState lets what was taken within the new interval stay taken when a
// rate is set, unless the type changes with it. A limiter from which more was
// taken than the new rate allows grants again when less is left.
func WithKeepState() SetOption { return keepState{} }

func resolve(opts []SetOption) (s setting, err error) {
	for _, o := range opts {
		if o == nil {
			return s, fmt.Errorf("%w: nil option", ratelimiter.ErrOption)
		}
		o.applySet(&s)
	}
	return s, nil
}
