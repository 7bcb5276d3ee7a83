package reliable

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"strings"
	"time"

	"github.com/rueidisson/rueidisson/codec"
	"github.com/rueidisson/rueidisson/internal/engine"
)

// Message is a message that this process has: what [Queue.Receive] returns, and Ack,
// Nack or Release ends. It belongs to whoever has it, not to a goroutine; all methods
// may be called from any goroutine.
//
// Until it is settled its lease is renewed. It is trusted as a lock's hold is, see
// package lock: when renewals have failed for so long that the server might give the
// message to another, it is lost first.
type Message[T any] struct {
	// Value is what was added.
	Value T
	// ID is the number that Add returned. ID and Attempt together are given to one
	// consumer at a time: who writes elsewhere can have older attempts refused by them.
	ID int64
	// Attempt is 1 for the first one. One that was given back by Release has the same
	// number again.
	Attempt int
	// Header is what [WithHeader] has given; nil: nothing.
	Header map[string]string
	// AddedAt is when it was added, by the clock of who did.
	AddedAt time.Time

	name      string // of the queue
	maxResult int
	d         *delivery
}

// Err is nil while the message may be trusted to be this process's, and else why it
// ended: [ErrLost], [ErrSettled], [ErrTimeout], [ErrCancelled] or [ErrClosed]. It compares the clocks at
// each call, so it says so at once in a process that was paused past its lease. It asks
// nobody.
func (m *Message[T]) Err() error { return m.d.Err() }

// Context returns a child of parent for the work on the message. It ends when the
// message does, with the cause that [Message.Err] tells, always before the server may
// give the message to another.
//
// Contexts derived from it end when its Done channel does: a timer's delay after the
// end of trust, and after up to 100 ms more if the whole machine was suspended.
//
// It panics if parent is nil, as the context package does.
func (m *Message[T]) Context(parent context.Context) context.Context { return m.d.context(parent) }

// Ack says that the message is done: it goes, and the next of its group is ready. Ack
// runs to its end on a cancelled ctx, of which it takes the values only, and for as
// long as sending takes: a few seconds at most if the server is silent.
//
// Cost: one script call, shared with what else this process says and takes of the
// queue. Errors: [ErrLost] if somebody else may have, or have had, the message, so that
// the work may be done again; [ErrSettled] if it was settled before; [ErrTimeout];
// [ErrUnknown] if no answer came: the client goes on saying it until the server has
// answered or the lease has ended; [ErrClosed]; [ErrOption].
func (m *Message[T]) Ack(ctx context.Context) error {
	return m.failed("acknowledge", m.d.settle(ctx, &settle{}))
}

// Nack says that the attempt has failed, for a cause of which the queue keeps up to a
// kilobyte of text. The message is tried again after a while: a second behind the first
// attempt, twice that behind each further one, at most ten minutes, a tenth more or
// less, or [WithDelay]; or is buried, if that was its last attempt. Otherwise it is as
// [Message.Ack].
func (m *Message[T]) Nack(ctx context.Context, cause error, opts ...NackOption) error {
	n := nacking{delay: m.d.backoff(m.Attempt)}
	for _, o := range opts {
		if o == nil {
			return m.failed("nack", fmt.Errorf("%w: a nil option", ErrOption))
		}
		if err := o.applyNack(&n); err != nil {
			return m.failed("nack", err)
		}
	}
	return m.failed("nack", m.d.settle(ctx, failedBy(cause, n.delay)))
}

// A NackOption changes one Nack: [WithDelay].
type NackOption interface{ applyNack(*nacking) error }

// nacking is what the options of a Nack say.
type nacking struct{ delay time.Duration }

// Release gives the message back, as if this process had never had it: to the front of
// what is ready, and the attempt does not count. Otherwise it is as [Message.Ack].
func (m *Message[T]) Release(ctx context.Context) error {
	return m.failed("release", m.d.settle(ctx, &settle{nack: true, delay: released}))
}

// Extend makes the lease last for at least d from now; it never shortens one. It is
// renewed anyway, so this is for work during which renewals may fail.
//
// Cost: one script call. Errors: [ErrLost]; [ErrSettled]; [ErrOption] for a lease that
// [WithLease] would refuse; ctx's, which bounds the round trip; [ErrUnknown] if the
// reply was lost, when the lease may have grown without this side trusting it.
func (m *Message[T]) Extend(ctx context.Context, d time.Duration) error {
	err := m.d.Err()
	switch {
	case ctx == nil:
		err = errNilContext
	case err == nil:
		if err = engine.CheckLease(d); err == nil {
			err = m.d.grant.Grow(ctx, d)
		}
	}
	return m.failed("extend", err)
}

func (m *Message[T]) failed(op string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s message %d of reliable queue %q: %w", op, m.ID, m.name, err)
}

// longestCause is how much of a cause the queue keeps.
const longestCause = 1024

// failedBy is a nack.
func failedBy(cause error, delay time.Duration) *settle {
	return &settle{nack: true, delay: engine.Millis(max(delay, 0)), cause: causeOf(cause)}
}

// buriedBy is the last one.
func buriedBy(cause error) *settle { return &settle{nack: true, delay: buried, cause: causeOf(cause)} }

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

// decode bears a codec that panics, as it would in every process that gets the message.
func (q *Queue[T]) decode(text string) (v T, err error) {
	defer func() {
		if caught := recover(); caught != nil {
			err = errCodec
			q.h.e.Logger.Error("a codec has panicked", "name", q.of.key, "err", fmt.Sprint(caught), "stack", string(debug.Stack()))
		}
	}()
	return codec.Decode(q.codec, text)
}

var errCodec = errors.New("the codec has panicked")

// message is what was taken, as the caller gets it. What cannot be decoded is buried,
// since it would be so for everybody here.
func (q *Queue[T]) message(d *delivery, backoff func(attempt int) time.Duration) (*Message[T], bool) {
	head, text, err := unseal(d.body)
	var v T
	if err == nil {
		v, err = q.decode(text)
	}
	if err != nil {
		err = &codec.DecodeError{Name: q.name, Key: decimal(d.id), Bytes: []byte(d.body), Cause: err}
		q.h.e.Logger.Warn("a message is buried", "name", q.of.key, "id", d.id, "err", err)
		d.post(buriedBy(err), ErrSettled)
		return nil, false
	}
	d.body, d.backoff = "", backoff // the value has what it needs of it
	d.starts(head.timeout())
	return &Message[T]{
		Value: v, ID: d.id, Attempt: d.attempt, Header: head.Values, AddedAt: time.UnixMilli(head.Added),
		name: q.name, maxResult: q.cfg.maxBody, d: d,
	}, true
}
