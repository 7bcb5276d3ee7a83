package ratelimiter

import "github.com/rueidisson/rueidisson/internal/bucket"

// settle is the answer of a rule that decides by itself.
func (a *ask) settle() answer {
	taken := a.Settled()
	return answer{State: bucket.State{Rule: a.Rule}, ok: taken > 0, taken: taken}
}

// barred reports whether a member grants nothing.
func (x *exchange) barred() bool {
	for i := range x.members {
		if x.members[i].None() {
			return true
		}
	}
	return false
}

// grantAll is the answer if nobody is to be asked.
func (x *exchange) grantAll() {
	for i := range x.runs {
		x.runs[i].k = x.runs[i].calls
	}
}
