package topic

import (
	"context"
	"iter"

	"github.com/rueidisson/rueidisson/internal/attempts"
	"github.com/rueidisson/rueidisson/internal/send"
)

// Durable is a subscriber that has a name; see [ReliableTopic.Durable].
type Durable[T any] struct {
	t    *ReliableTopic[T]
	name string
	bad  error
}

// Subscribe listens from when the loop over the messages begins until it ends; see
// [Durable.Listen].
func (d *Durable[T]) Subscribe(ctx context.Context) iter.Seq2[T, error] {
	return d.t.subscribed(ctx, d.Listen)
}

// Listen subscribes under the name; see [ReliableTopic.Listen]. Close leaves the group
// where it is. A message that a loop has then stays with it until it is done, for as long as its process lives. What a
// process has that died is given to the others a watchdog
// timeout later, or to whoever listens then.
func (d *Durable[T]) Listen(ctx context.Context) (*ReliableSubscription[T], error) {
	if d.bad != nil {
		return nil, d.t.failed("listen to", d.bad)
	}
	return d.t.listen(ctx, d.name, true)
}

// Drop takes the name away, with what it has not handled. What it has put aside stays, see
// [Durable.PurgeDead]. It reports whether it was there. Whoever listens under it makes it anew.
func (d *Durable[T]) Drop(ctx context.Context) (there bool, err error) {
	if err = d.usable(ctx); err == nil {
		there, err = send.Writing(d.t.h.e.Sender, ctx, func() (bool, error) {
			f := &feed{h: d.t.r, of: d.t.of, group: d.name}
			n, err := d.t.r.member(membership{f: f, drop: true})
			if err == nil {
				_, err = d.t.h.e.Run(ctx, hdel, []string{d.t.of.missed}, []string{d.name})
			}
			if err == nil {
				_, err = d.t.h.e.Run(ctx, unlink, []string{d.t.of.again(d.name)}, nil)
			}
			return n > 0, err
		})
	}
	return there, d.t.failed("drop a subscriber of", err)
}

// Lag returns how many messages of the topic the name has not handled: those that no process
// of it was given, those that one has, and those that come again. It is 0 for a name that nobody has listened
// under, since there is no group of it.
//
// Cost: a command and a script call, and where the server does not know it, one for each 100
// messages. Wire: XINFO GROUPS, XLEN, XRANGE. Errors: ctx's error and cause; [ErrOption]; [ErrClosed];
// those of Redis.
func (d *Durable[T]) Lag(ctx context.Context) (n int64, err error) {
	if err = d.usable(ctx); err == nil {
		n, err = send.Reading(d.t.h.e.Sender, ctx, func() (int64, error) {
			return d.t.h.e.StreamLength(ctx, d.t.of.again(d.name))
		})
	}
	if err == nil {
		var more int64
		more, err = attempts.Lag(ctx, d.t.h.e, d.t.of.key, d.name)
		n += more
	}
	return n, d.t.failed("look at a subscriber of", err)
}
