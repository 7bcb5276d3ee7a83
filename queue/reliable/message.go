package reliable

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"runtime/debug"
	"time"

	"github.com/rueidisson/rueidisson/codec"
	"github.com/rueidisson/rueidisson/internal/core"
	"github.com/rueidisson/rueidisson/internal/object"
)

// Message is a message that this process holds: [Queue.Receive] returns it, and Ack,
// Nack or Release settles it. It belongs to no goroutine; all methods may be called from any.
//
// Until it is settled its lease is renewed. It is trusted as a lock's hold is, see
// package lock: when renewals have failed for so long that the server might redeliver the
// message, it is lost first.
type Message[T any] struct {
	// Value is what was added.
	Value T
	// ID is the number that Add returned.
	ID int64
	// Attempt is 1 for the first one. One that was given back by Release has the same
	// number again.
	Attempt int
	// Delivery is the number of this delivery. It grows with each delivery of the message,
	// and messages that are taken together share it. So ID and Delivery are a fencing pair: a store
	// that keeps the last Delivery of an ID can refuse writes of an older one. A queue that
	// a failover made forget deliveries does not give their numbers again, as long as the
	// new master's clock is not later than the old one's by more than the failover took.
	Delivery int64
	// Header is what [WithHeader] has given; nil: nothing.
	Header map[string]string
	// AddedAt is when it was added, by the clock of who did.
	AddedAt time.Time

	q *Queue[T]
	d *delivery
}

// Err returns nil while the message may be trusted to be held by this process, and otherwise why
// it ended: [ErrLost], [ErrSettled], [ErrTimeout], [ErrCancelled] or [ErrClosed]. It compares the
// clocks at each call, so it reports at once that a process was paused past its lease. It does
// no I/O.
func (m *Message[T]) Err() error { return m.d.Err() }

// Context returns a child of parent for the work on the message. It ends when the
// message does, with the cause that [Message.Err] tells, always before the server may
// give the message to another.
//
// Contexts derived from it end when its Done channel does: a timer's delay after the
// end of trust, and after up to 100 ms more if the whole machine was suspended.
//
// It panics if parent is nil, as the context package does.
func (m *Message[T]) Context(parent context.Context) context.Context {
	if parent == nil {
		panic("reliable: cannot create a context from a nil parent")
	}
	c := m.d.under(parent)
	_ = c.Err() // a message whose lease has run out ends it at once
	return c
}

// Ack acknowledges the message: it is deleted, and the next of its group is ready. Ack also runs
// to its end if ctx is cancelled; it takes only the values of ctx. It takes as long as sending
// takes: a few seconds at most if the server is silent.
//
// Cost: one script call, shared with other settlements and takes of this process on the
// queue. Errors: [ErrLost] if another process may hold, or have held, the message, so that
// the work may be done again; [ErrSettled] if it was settled before; [ErrTimeout];
// [ErrOutcomeUnknown] if no answer came: the client repeats the ack until the server has
// answered or the lease has expired; [ErrClosed]; [ErrInvalidArgument].
func (m *Message[T]) Ack(ctx context.Context) error {
	return m.failed("acknowledge", m.d.settle(ctx, &settle{}))
}

// Nack says that the attempt has failed. The queue keeps up to a kilobyte of the text of cause.
// The message is redelivered after the wait of [WithBackoff], or of [WithDelay]; or it is
// buried, if that was its last attempt. Otherwise it is as [Message.Ack].
func (m *Message[T]) Nack(ctx context.Context, cause error, opts ...NackOption) error {
	s, err := nackOf(cause, opts)
	if err == nil {
		err = m.d.settle(ctx, s)
	}
	return m.failed("nack", err)
}

func nackOf(cause error, opts []NackOption) (*settle, error) {
	n, err := object.Options(nacking{delay: -1}, opts, NackOption.applyNack)
	if err != nil {
		return nil, err
	}
	if n.delay >= 0 {
		return failedBy(cause, n.delay), nil
	}
	return retriedBy(cause), nil
}

// Buried reports whether the end of this delivery was that of the message: its Nack, or
// [WithTimeout], has used up its last attempt, or it was discarded. It waits for the server's
// answer to that, until ctx ends; a message that is not settled has none. After a [Queue.Redrive]
// attempts are counted anew, so Attempt does not tell. Cost: none, it sends nothing. Errors: ctx's
// error and cause; [ErrInvalidArgument].
func (m *Message[T]) Buried(ctx context.Context) (bool, error) {
	if err := object.CheckContext(ctx); err != nil {
		return false, m.failed("ask for the end of", err)
	}
	buried, err := m.d.outcome(ctx)
	return buried, m.failed("ask for the end of", err)
}

// A NackOption changes one Nack: [WithDelay].
type NackOption interface{ applyNack(*nacking) error }

// nacking is what the options of a Nack say.
type nacking struct{ delay time.Duration } // below 0: the backoff's

// Release gives the message back, as if this process had never had it: the attempt does not
// count. It is put at the front of the ready messages and is taken again at once, or waits for
// [WithDelay] first; in a group the messages after it wait, too. Otherwise it is as [Message.Ack].
func (m *Message[T]) Release(ctx context.Context, opts ...ReleaseOption) error {
	s, err := releaseOf(opts)
	if err == nil {
		err = m.d.settle(ctx, s)
	}
	return m.failed("release", err)
}

func releaseOf(opts []ReleaseOption) (*settle, error) {
	r, err := object.Options(releasing{}, opts, ReleaseOption.applyRelease)
	return releasedFor(r.delay), err
}

// A ReleaseOption changes one Release: [WithDelay].
type ReleaseOption interface{ applyRelease(*releasing) error }

// releasing is what the options of a Release say.
type releasing struct{ delay time.Duration }

// Extend makes the lease last for at least d from now; it never shortens one. It is
// renewed anyway, so this is for work during which renewals may fail.
//
// Cost: one script call. Errors: [ErrLost]; [ErrSettled]; [ErrInvalidArgument] for a lease that
// [WithLease] would refuse; ctx's, which bounds the round trip; [ErrOutcomeUnknown] if the
// reply was lost, when the lease may have grown without this side trusting it.
func (m *Message[T]) Extend(ctx context.Context, d time.Duration) error {
	err := m.d.Err()
	switch {
	case ctx == nil:
		err = object.CheckContext(ctx)
	case err == nil:
		if err = core.CheckLease(d); err == nil {
			err = m.d.grant.Grow(ctx, d)
		}
	}
	return m.failed("extend", err)
}

func (m *Message[T]) failed(op string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s message %d of reliable queue %q: %w", op, m.ID, m.q.name, err)
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

// message returns what was taken, as the caller gets it. One that cannot be decoded has failed an
// attempt: in a rolling deploy another process may be able to decode it.
func (q *Queue[T]) message(d *delivery) (*Message[T], bool) {
	head, text, err := unseal(d.body)
	var v T
	if err == nil {
		v, err = q.decode(text)
	}
	if err != nil {
		err = &codec.DecodeError{Name: q.name, Key: decimal(d.id), Bytes: []byte(d.body), Cause: err}
		q.h.e.Logger.Warn("a message cannot be decoded, and is tried again", "name", q.of.key, "id", d.id, "attempt", d.attempt, "err", err)
		d.post(retriedBy(err), ErrSettled)
		return nil, false
	}
	d.body = "" // the value has what it needs of it
	d.timeout = time.Duration(head.Timeout) * time.Millisecond
	return &Message[T]{
		Value: v, ID: d.id, Attempt: d.attempt, Delivery: d.number, Header: head.Values, AddedAt: time.UnixMilli(head.Added),
		q: q, d: d,
	}, true
}

// longestProgress is how much of a progress the queue keeps.
const longestProgress = 4096

// SetProgress stores how far the work on the message is, for [Queue.Find] and [Queue.Messages]. The progress is
// written as JSON, of at most 4 kB. It stays with the message also for its next attempts, until another is set, and is
// deleted with it. Only the consumer that holds the message can set it.
//
// Cost: one script call. Errors: [ErrLost] if the message is not in this delivery any more, and the other
// errors of [Message.Err], before anything is sent; ctx's error and cause; [ErrInvalidArgument] for what is no JSON or too
// long; [ErrOutcomeUnknown] if the reply was lost; [ErrClosed]; those of Redis.
func (m *Message[T]) SetProgress(ctx context.Context, progress any) error {
	err := m.d.Err()
	if err == nil {
		err = m.q.progress(ctx, m.d.member, progress)
	}
	return m.failed("set the progress of", err)
}

// SetProgress stores the progress of the delivery that has the token, as [Message.SetProgress]
// does, whichever process took it.
//
// Cost and errors: as [Message.SetProgress]; [ErrInvalidArgument] for what is no token.
func (q *Queue[T]) SetProgress(ctx context.Context, token string, progress any) error {
	err := q.usable(ctx)
	if err == nil {
		_, err = q.tokenOf(token)
	}
	if err == nil {
		err = q.progress(ctx, token, progress)
	}
	return q.failed("set the progress of a message of", err)
}

func (q *Queue[T]) progress(ctx context.Context, member string, progress any) error {
	text, err := json.Marshal(progress)
	switch {
	case err != nil:
		return fmt.Errorf("%w: progress: %w", ErrInvalidArgument, err)
	case len(text) > longestProgress:
		return fmt.Errorf("%w: a progress of %d bytes is more than %d", ErrInvalidArgument, len(text), longestProgress)
	}
	n, err := q.request(ctx, progressScript, member, string(text))
	if err == nil && n == 0 {
		err = ErrLost
	}
	return err
}
