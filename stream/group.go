package stream

import (
	"context"
	"fmt"
	"iter"
	"strings"
	"time"

	"github.com/redis/rueidis"

	"github.com/rueidisson/rueidisson/internal/send"
	"github.com/rueidisson/rueidisson/internal/whole"
)

// Group is a group of consumers of a stream, who share its entries: each goes to one
// of them, and is pending until it is acknowledged. It holds nothing, so it may be
// used by any number of goroutines.
type Group[K comparable, V any] struct {
	s    *stream[K, V]
	name string
	bad  error
}

// Where a group begins: [Group.Create].
const (
	FromStart = "0" // with the first entry that the stream has
	FromNow   = "$" // with the next that is added
)

// Name returns the name of the group.
func (g *Group[K, V]) Name() string { return g.name }

// Create makes the group, and the stream if there is none. The group begins after the entry of
// an ID, or [FromStart], or [FromNow]. Create reports whether it did; it returns false if the
// group exists, which stays as it is.
//
// Cost: one command. Errors: [ErrInvalidArgument]; [ErrOutcomeUnknown], which also ends a ctx that ends before the
// answer; ctx's error and cause; [ErrClosed]; Redis' and the network's. Source: RStream.createGroup.
func (g *Group[K, V]) Create(ctx context.Context, from string) (created bool, err error) {
	if err = g.usable(ctx); err == nil && from != FromNow {
		err = checkID(from, "")
	}
	if err == nil {
		created, err = whole.Write(ctx, &g.s.Object, func(got send.Answer, err error) (bool, error) {
			if err != nil && strings.Contains(err.Error(), "BUSYGROUP") {
				return false, nil
			}
			return err == nil, err
		}, xcreate, []string{g.s.Key}, g.name, from, "MKSTREAM")
	}
	return created, g.failed("make", err)
}

// Destroy takes the group away with all that it knows of entries, and reports whether it was there. Cost: one command.
// Errors: as [Group.Create]. Source: RStream.removeGroup.
func (g *Group[K, V]) Destroy(ctx context.Context) (there bool, err error) {
	if err = g.usable(ctx); err == nil {
		there, err = whole.Write(ctx, &g.s.Object, func(got send.Answer, err error) (bool, error) {
			if err != nil && strings.Contains(err.Error(), "requires the key to exist") {
				return false, nil
			}
			return send.Yes(got, err)
		}, xdestroy, []string{g.s.Key}, g.name)
	}
	return there, g.failed("destroy", err)
}

// Ack acknowledges entries, whichever consumer of the group holds them, and returns how many
// were pending. An entry that is not acknowledged is redelivered. The request is sent once.
// After [ErrOutcomeUnknown] the entries may be acknowledged or not, and Ack may be called again.
//
// Cost: one command. Errors: as [Group.Create]. Source: RStream.ack.
func (g *Group[K, V]) Ack(ctx context.Context, ids ...string) (acked int64, err error) {
	if err = g.usable(ctx); err == nil {
		acked, err = g.s.settle(ctx, xack, []string{g.name}, ids)
	}
	return acked, g.failed("acknowledge entries of", err)
}

// Pending is an entry that a consumer was given and has not acknowledged.
type Pending struct {
	ID         string        // of the entry
	Consumer   string        // that has it
	Idle       time.Duration // since it was given
	Deliveries int64         // how often it was
}

// mostPending is how many pending entries are listed at a time.
const mostPending = 1000

// Pending walks the entries that are pending, in their order, 1,000 at a time. An
// error ends it.
//
// Cost: one command for each 1,000. Errors: [ErrNoGroup]; ctx's error and cause; [ErrInvalidArgument]; [ErrClosed];
// Redis' and the network's. Source: RStream.listPending.
func (g *Group[K, V]) Pending(ctx context.Context) iter.Seq2[Pending, error] {
	return func(yield func(Pending, error) bool) {
		for from := "-"; ; {
			err := g.usable(ctx)
			var some []Pending
			if err == nil {
				some, err = whole.Read(ctx, &g.s.Object, pendings, xpending, g.name, from, "+", decimal(mostPending))
			}
			if err != nil {
				yield(Pending{}, g.failed("list what is pending of", err))
				return
			}
			for _, p := range some {
				if !yield(p, nil) {
					return
				}
			}
			if len(some) < mostPending {
				return
			}
			from = "(" + some[len(some)-1].ID
		}
	}
}

// pendings returns an answer of XPENDING.
func pendings(got send.Answer, err error) ([]Pending, error) {
	if err != nil || got.Nil {
		return nil, err
	}
	rows, err := got.ToArray()
	all := make([]Pending, len(rows))
	for i, row := range rows {
		if err == nil {
			all[i], err = pendingOf(row)
		}
	}
	return all, err
}

func pendingOf(row rueidis.RedisMessage) (p Pending, err error) {
	parts, err := row.ToArray()
	if err == nil && len(parts) != 4 {
		err = fmt.Errorf("a pending entry has %d parts", len(parts))
	}
	if err == nil {
		p.ID, err = parts[0].ToString()
	}
	if err == nil {
		p.Consumer, err = parts[1].ToString()
	}
	var ms int64
	if err == nil {
		ms, err = parts[2].AsInt64()
		p.Idle = time.Duration(ms) * time.Millisecond
	}
	if err == nil {
		p.Deliveries, err = parts[3].AsInt64()
	}
	return p, err
}

func (g *Group[K, V]) usable(ctx context.Context) error {
	if g.bad != nil {
		return g.bad
	}
	return g.s.Usable(ctx)
}

// failed names the group, too.
func (g *Group[K, V]) failed(op string, err error) error {
	if err == nil {
		return nil
	}
	if text := err.Error(); strings.Contains(text, "NOGROUP") || strings.Contains(text, "no such key") {
		err = fmt.Errorf("%w: %w", ErrNoGroup, err)
	}
	return g.s.Failed(fmt.Sprintf("%s group %q of", op, g.name), err)
}
