package redissonlimiter

// SetOption is an option of [Limiter.SetRate] and [Limiter.UpdateRate].
type SetOption interface{ applySet(*setting) error }

// setting is how a rate is set.
type setting struct{ keep bool }

type keepState struct{}

func (keepState) applySet(s *setting) error {
	s.keep = true
	return nil
}

// WithKeepState lets what was taken within the new interval stay taken when a
// rate is set, unless the type changes with it. A limiter from which more was
// taken than the new rate allows grants again when less is left.
func WithKeepState() SetOption { return keepState{} }
