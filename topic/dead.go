package topic

import (
	"context"
	"iter"
	"strconv"
	"time"

	"github.com/rueidisson/rueidisson/codec"
	"github.com/rueidisson/rueidisson/internal/attempts"
	"github.com/rueidisson/rueidisson/internal/core"
	"github.com/rueidisson/rueidisson/internal/keys"
	"github.com/rueidisson/rueidisson/internal/send"
)

// Dead is a message that a [Durable] name has put aside.
type Dead[T any] struct {
	ID       string    // that it had in the topic
	Value    T         // of the message
	Attempts int64     // that have failed
	Cause    string    // of the last failure
	Buried   time.Time // when it was put aside
}

// Dead walks the dead letters of the name, the oldest first, 100 at a time. If one
// does not decode, Dead yields [ErrDecode] with what is known of it, and continues;
// another error ends the walk.
//
// Cost: one command for each 100. Errors: [ErrDecode]; ctx's error and cause; [ErrInvalidArgument]; [ErrClosed]; those
// of Redis.
func (d *Durable[T]) Dead(ctx context.Context) iter.Seq2[Dead[T], error] {
	return func(yield func(Dead[T], error) bool) {
		const op = "list what was put aside of"
		if err := d.usable(ctx); err != nil {
			yield(Dead[T]{}, d.t.failed(op, err))
			return
		}
		for it, err := range attempts.Walk(ctx, d.t.h.e, d.t.of.key, d.name) {
			if err != nil {
				yield(Dead[T]{}, d.t.failed(op, err))
				return
			}
			dead, err := d.dead(it)
			if !yield(dead, core.Notice(d.t.failed(op, err))) {
				return
			}
		}
	}
}

func (d *Durable[T]) dead(it attempts.Dead) (dead Dead[T], err error) {
	dead = Dead[T]{ID: it.ID, Attempts: it.Attempts, Cause: it.Cause, Buried: it.Buried}
	if it.Err != nil {
		return dead, &codec.DecodeError{Name: d.t.h.name, Key: it.At, Cause: it.Err}
	}
	for _, f := range it.Fields {
		if f.Field == "m" {
			if dead.Value, err = codec.Decode(d.t.h.codec, f.Value); err != nil {
				err = &codec.DecodeError{Name: d.t.h.name, Key: it.ID, Bytes: []byte(f.Value), Cause: err}
			}
			return dead, err
		}
	}
	return dead, &codec.DecodeError{Name: d.t.h.name, Key: it.ID, Cause: errNoMessage}
}

// Redrive has the messages that the name has put aside come to it again, and to no other, with
// attempts that count anew, and returns how many. Present listeners get them within a second. What
// is put aside while it runs stays aside. A call that ends with an error may have redriven some.
//
// Cost: one script call for each 100, and a share of UNLINK. Errors: [ErrOutcomeUnknown], which also ends a ctx that
// ends before the answer; ctx's error and cause; [ErrInvalidArgument]; [ErrClosed]; those of Redis.
func (d *Durable[T]) Redrive(ctx context.Context) (redriven int64, err error) {
	if err = d.usable(ctx); err == nil {
		redriven, err = send.Writing(d.t.h.e.Sender, ctx, func() (n int64, err error) {
			for next := (attempts.Redriven{Next: "-", Till: "+"}); next.Next != "" && err == nil && ctx.Err() == nil; {
				next, err = d.redriveSome(ctx, next.Till)
				n += next.N
			}
			return n, err
		})
	}
	return redriven, d.t.failed("redrive", err)
}

// mostRedriven bounds how long one call keeps the server.
const mostRedriven = 100

// redriveSome makes one call, up to an ID: "+" at first, and then what the one before returned.
func (d *Durable[T]) redriveSome(ctx context.Context, till string) (attempts.Redriven, error) {
	r, of := d.t.r, d.t.of
	return attempts.Redrive(ctx, r.e, r.requests, of.key, redriveScript, []string{keys.StreamDead(of.key, d.name), of.again(d.name)},
		d.name, consumer, strconv.Itoa(mostRedriven), till)
}

// PurgeDead deletes what the name has put aside, and returns how many messages that were. Cost: one script call, and a
// share of UNLINK. Errors: as [Durable.Redrive].
func (d *Durable[T]) PurgeDead(ctx context.Context) (purged int64, err error) {
	if err = d.usable(ctx); err == nil {
		purged, err = attempts.Purge(ctx, d.t.h.e, d.t.r.requests, d.t.of.key, d.name)
	}
	return purged, d.t.failed("purge what was put aside of", err)
}

func (d *Durable[T]) usable(ctx context.Context) error {
	if d.bad != nil {
		return d.bad
	}
	return d.t.h.usable(ctx)
}
