package exchange

import "github.com/rueidisson/rueidisson/internal/bucket"

// Settle returns the answer of a rule that decides by itself.
func (a *Ask) Settle() Answer {
	taken := a.Settled()
	return Answer{State: bucket.State{Rule: a.Rule}, OK: taken > 0, Taken: taken}
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
