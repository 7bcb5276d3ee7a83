package reliable

import (
	"errors"
	"fmt"
	"strings"
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
	cause string // of a nack
	until time.Time
	done  func(err error) // of one that nobody waits for; nil: nobody wants to know

	result []byte // of an ack, if it has one
	kept   int64  // how long, ms; 0: it has none

	unsure   bool // a request that said so has no answer
	resolved bool
	buried   bool // it was the last attempt
	err      error
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
	if !s.nack || s.delay != begins {
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
	woken  bool // by a client that has messages for it
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

// bytes returns what a settle has the server read, or copy where messages that are done are kept. A look has none.
func (s *settle) bytes() int {
	if s == nil {
		return 0
	}
	n := len(s.result) + len(s.cause)
	if !s.nack && s.d.c.keeps.Load() {
		n += s.d.size
	}
	return n
}

// cutSteps returns how many of the waiting calls go out as one.
func cutSteps(waiting []*stepCall) int {
	return together(len(waiting), mostSettled, func(i int) int { return waiting[i].Ask.settle.bytes() })
}

// together returns how many of n things go out together: up to most of them and a megabyte, or one.
func together(n, most int, bytes func(i int) int) int {
	size := 0
	for i := range n {
		size += bytes(i)
		if i > 0 && (i == most || size > mostBytes) {
			return i
		}
	}
	return n
}

// longestCause is how much of a cause the queue keeps.
const longestCause = 1024

// releasedFor returns a give-back of what somebody has seen, which waits for so long.
func releasedFor(delay time.Duration) *settle {
	return &settle{nack: true, delay: released, cause: decimal(core.Millis(delay))}
}

// retriedBy returns a nack after which the message waits as its terms say.
func retriedBy(cause error) *settle {
	return &settle{nack: true, delay: backoff, cause: causeOf(cause)}
}

// failedBy returns a nack after which it waits for so long.
func failedBy(cause error, delay time.Duration) *settle {
	return &settle{nack: true, delay: core.Millis(max(delay, 0)), cause: causeOf(cause)}
}

// causeOf returns the text of a cause.
func causeOf(err error) string {
	if err == nil {
		return ""
	}
	text := fmt.Sprint(err) // which bears an Error that panics
	if len(text) > longestCause {
		text = strings.ToValidUTF8(text[:longestCause], "")
	}
	return text
}

// retryError is what RetryIn returns.
type retryError struct {
	error
	delay time.Duration
}

func (e *retryError) Unwrap() error { return e.error }

// RetryIn returns err as a handler returns it whose message is to be tried again in d. It is
// nil for a nil err.
func RetryIn(err error, d time.Duration) error {
	if err == nil {
		return nil
	}
	return &retryError{err, min(max(d, 0), core.LongestLease)}
}

// discardError is what Discard returns.
type discardError struct{ error }

func (e *discardError) Unwrap() error { return e.error }

// Discard returns err as a handler returns it whose message is not to be tried again: it is
// buried at once. It is nil for a nil err.
func Discard(err error) error {
	if err == nil {
		return nil
	}
	return &discardError{err}
}

// snoozeError is what Snooze returns.
type snoozeError time.Duration

func (e snoozeError) Error() string { return fmt.Sprintf("not before %v", time.Duration(e)) }

// Snooze returns the error of a handler whose message is to come again in d, without an attempt:
// because what it waits for is not there yet. See [Message.Release].
func Snooze(d time.Duration) error { return snoozeError(min(max(d, 0), core.LongestLease)) }

// outcome returns how a message is settled whose handler has returned err.
func outcome(err error) *settle {
	if err == nil {
		return &settle{}
	}
	var retry *retryError
	var discard *discardError
	var snooze snoozeError
	switch {
	case errors.As(err, &snooze):
		return releasedFor(time.Duration(snooze))
	case errors.As(err, &discard):
		return &settle{nack: true, delay: buried, cause: causeOf(err)}
	case errors.As(err, &retry):
		return failedBy(err, retry.delay)
	}
	return retriedBy(err)
}
