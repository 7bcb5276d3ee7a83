package ratelimiter

// decision is what a rate says that decides by itself. One of 0 names no time
// after which it would grant.
func (r Rate) decision() Decision {
	if r.unlimited() {
		return Decision{Allowed: true, Limit: r.Burst, Remaining: r.Burst, Rate: r}
	}
	return Decision{Rate: r}
}

// settle is the answer of a rule that decides by itself. A charge is for what
// was used already.
func (a *ask) settle() answer {
	got := answer{bucket: bucket{r: a.r}, ok: a.r.unlimited() || a.kind == charge || a.kind == refund}
	if got.ok {
		got.taken = a.requests()
	}
	return got
}

// barred reports whether a member grants nothing.
func (x *exchange) barred() bool {
	for i := range x.members {
		if x.members[i].none() {
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
