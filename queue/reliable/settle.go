package reliable

import (
	"time"

	"github.com/rueidisson/rueidisson/internal/combine"
	"github.com/rueidisson/rueidisson/internal/engine"
)

// Delays of a nack that say something else.
const (
	untried  = -1 // nobody has seen it: the attempt does not count
	buried   = -2 // there are no more
	released = -3 // the attempt does not count
	begins   = -4 // its handler is about to begin: no end, but said as one
)

// settle is what a consumer says of a message that it is done with.
type settle struct {
	d     *delivery
	nack  bool
	delay int64  // of a nack, ms
	cause string // likewise
	until time.Time
	done  func(err error) // of one that nobody waits for; nil: nobody wants to know

	result []byte // of an ack, if it has one
	kept   int64  // how long, ms; 0: it has none

	unsure   bool // a request that said so has no answer
	resolved bool
	err      error
}

// first reports whether it is as most are: an ack of a first attempt, without a result.
func (s *settle) first() bool { return !s.nack && s.kept == 0 && s.d.attempt == 1 }

func (s *settle) begins() bool { return s.nack && s.delay == begins }

// args is how step.lua reads it.
func (s *settle) args(args []string) []string {
	if s.first() {
		return append(args, s.d.member)
	}
	args = append(args, decimal(s.d.id), decimal(s.d.attempt))
	switch {
	case s.nack:
		return append(args, decimal(s.delay), s.cause)
	case s.kept > 0:
		return append(args, decimal(s.kept), string(s.result))
	}
	return append(args, "")
}

// said takes the server's word: the message was with that attempt still, or not. If an
// earlier request may have done it, nobody else can have had it before the trust ends.
func (s *settle) said(held bool, now time.Time) {
	if held || s.unsure && s.trusted(now) {
		s.resolve(nil)
	} else {
		s.resolve(ErrLost)
	}
}

// trusted reports whether nobody else can have the message, or have had it.
func (s *settle) trusted(now time.Time) bool { return now.Before(s.until) || s.d.grant.Err() == nil }

func (s *settle) resolve(err error) {
	if s.resolved {
		return
	}
	s.resolved, s.err = true, err
	if !s.begins() {
		s.d.grant.Finish(engine.ErrReleased)
		s.tell()
	}
	if s.done != nil {
		s.done(err)
	}
}

// ask is what is asked of a consumer's exchange: to settle a message, or to look what
// there is.
type ask struct {
	settle *settle
	woken  bool // by who has messages for it
}

// answer is what became of a settle, or of a look.
type answer struct {
	err  error
	more bool // there are more messages to be looked at
}

type stepCall = combine.Call[ask, answer]

// mostSettled and mostTaken bound how long one exchange keeps the server.
const (
	mostSettled = 1000
	mostTaken   = 500
)

// cutSteps is how many of the waiting calls go out as one.
func cutSteps(waiting []*stepCall) int {
	size := 0
	for i, c := range waiting {
		if s := c.Ask.settle; s != nil {
			size += len(s.result) + len(s.cause)
		}
		if i > 0 && (i == mostSettled || size > mostBytes) {
			return i
		}
	}
	return len(waiting)
}
