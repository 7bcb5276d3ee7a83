package reliable

import (
	"errors"
	"time"

	"github.com/rueidisson/rueidisson/internal/combine"
	"github.com/rueidisson/rueidisson/internal/core"
)

// Delays of a nack that say something else.
const (
	untried  = -1 // nobody has seen it: the attempt does not count
	buried   = -2 // there are no more
	released = -3 // the attempt does not count
	begins   = -4 // its handler is about to begin: no end, but said as one
	backoff  = -5 // as the terms of the queue or of the message say
	done     = -6 // it is acknowledged, by its token
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
	buried   bool // it was the last attempt
	err      error
}

// plain reports whether it is as most are: an ack without a result.
func (s *settle) plain() bool { return !s.nack && s.kept == 0 }

func (s *settle) begins() bool { return s.nack && s.delay == begins }

// args appends what step.lua reads of a settle that is not plain.
func (s *settle) args(args []string) []string {
	if s.nack {
		return append(args, s.d.member, decimal(s.delay), s.cause)
	}
	return append(args, s.d.member, decimal(s.kept), string(s.result))
}

// said takes the server's word: the message was with that delivery still, or not. If an
// earlier request may have done it, nobody else can have had it before the trust ends.
func (s *settle) said(code byte, now time.Time) {
	s.buried = code == 'b'
	switch code {
	case 'p':
		s.resolve(errPaused)
		return
	case 'c':
		s.resolve(ErrCancelled)
		return
	}
	if code != '0' || s.unsure && s.trusted(now) {
		s.resolve(nil)
	} else {
		s.resolve(ErrLost)
	}
}

var errPaused = errors.New("the queue is paused")

// trusted reports whether nobody else can have the message, or have had it.
func (s *settle) trusted(now time.Time) bool {
	return now.Before(s.until) || s.d.grant != nil && s.d.grant.Err() == nil
}

func (s *settle) resolve(err error) {
	if s.resolved {
		return
	}
	s.resolved, s.err = true, err
	if !s.begins() {
		if s.d.grant != nil {
			s.d.grant.Finish(core.ErrReleased)
		}
		s.d.over(err == nil && s.buried)
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

// bytes returns what a settle has the server read, or copy where messages that are done are kept.
func (s *settle) bytes() int {
	n := len(s.result) + len(s.cause)
	if !s.nack && s.d.c.keeps.Load() {
		n += s.d.size
	}
	return n
}

// cutSteps returns how many of the waiting calls go out as one.
func cutSteps(waiting []*stepCall) int {
	return cutSettles(len(waiting), func(i int) *settle { return waiting[i].Ask.settle })
}

// cutSettles returns how many of n settles go out together; nil is none.
func cutSettles(n int, at func(i int) *settle) int {
	size := 0
	for i := range n {
		if s := at(i); s != nil {
			size += s.bytes()
		}
		if i > 0 && (i == mostSettled || size > mostBytes) {
			return i
		}
	}
	return n
}
