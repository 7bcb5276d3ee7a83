package bucket

import "time"

// Want is what one caller wants of a bucket.
type Want struct {
	Rule  *Rule
	N     int64 // tokens
	Kind  Kind
	Until time.Duration // for a reservation: when its wait has to be over, monotonic; or Forever
	Most  time.Duration // the longest wait, or 0
	Debt  int64         // the most tokens that may be owed afterwards, for reserve and charge
	UpTo  int64         // so many requests at once, of which as many are granted as can be; 0 for one
}

// Kind is what is done with a bucket.
type Kind uint8

const (
	Take    Kind = iota // what is there now
	Reserve             // what will be there in time
	Charge              // whatever is there, into debt
	Refund              // gives tokens back
	Peek                // only looks
)

// Requests returns how many it stands for.
func (a *Want) Requests() int64 { return max(1, a.UpTo) }

// Undoable reports whether what is granted goes back if its caller has gone.
func (k Kind) Undoable() bool { return k == Take || k == Reserve }

// Counts reports whether it takes something, and so stands in a run.
func (a *Want) Counts() bool { return a.Kind <= Charge }

// Wait returns how long it may wait for its tokens, in µs, as decide.lua wants
// it.
func (a *Want) Wait(now time.Duration) int64 {
	switch {
	case a.Kind == Charge:
		return -1
	case a.Kind == Take:
		return 0
	}
	wait := int64(Exact - 1)
	if a.Until != Forever {
		wait = max(0, int64((a.Until-now)/time.Microsecond))
	}
	if a.Most > 0 {
		wait = min(wait, int64(a.Most/time.Microsecond))
	}
	return wait
}

// Settled returns how many requests are granted by a rule that decides by itself. A
// charge is for what was used already.
func (a *Want) Settled() int64 {
	if a.Rule.Unlimited() || a.Kind == Charge || a.Kind == Refund {
		return a.Requests()
	}
	return 0
}
