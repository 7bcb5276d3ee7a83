package stream

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"time"

	"github.com/redis/rueidis"

	"github.com/rueidisson/rueidisson/internal/blocked"
	"github.com/rueidisson/rueidisson/internal/core"
	"github.com/rueidisson/rueidisson/internal/paging"
	"github.com/rueidisson/rueidisson/internal/send"
	"github.com/rueidisson/rueidisson/internal/whole"
)

// Consumer is a consumer of a group, as the server knows it.
type Consumer struct {
	Name    string        // in its group
	Pending int64         // entries that it has
	Idle    time.Duration // since it asked for some last
}

// Consumers returns the consumers of the group, also those that have died: names stay until
// [Group.RemoveConsumer].
//
// Cost: one command. Errors: as [Group.Pending]. Source: RStream.listConsumers.
func (g *Group[K, V]) Consumers(ctx context.Context) (all []Consumer, err error) {
	if err = g.usable(ctx); err == nil {
		all, err = whole.Read(ctx, &g.s.Object, consumersOf, xconsumers, g.name)
	}
	return all, g.failed("list consumers of", err)
}

func consumersOf(got send.Answer, err error) ([]Consumer, error) {
	if err != nil {
		return nil, err
	}
	rows, err := got.ToArray()
	all := make([]Consumer, len(rows))
	for i, row := range rows {
		about, bad := row.AsMap()
		name, pending, idle := about["name"], about["pending"], about["idle"]
		text, bad1 := name.ToString()
		n, bad2 := pending.AsInt64()
		ms, bad3 := idle.AsInt64()
		err = errors.Join(err, bad, bad1, bad2, bad3)
		all[i] = Consumer{text, n, time.Duration(ms) * time.Millisecond}
	}
	return all, err
}

// RemoveConsumer removes the name of a consumer, and reports whether it existed. It returns
// [ErrPending] if the consumer has entries: Redis would forget that they were given to
// it, and they would never be redelivered. Others take them over first, see [WithIdle] and
// [Group.Claim].
//
// Cost: one script call. Errors: [ErrPending]; as [Group.Create]. Source: RStream.removeConsumer.
func (g *Group[K, V]) RemoveConsumer(ctx context.Context, name string) (there bool, err error) {
	if err = g.usable(ctx); err == nil {
		var n int64
		n, err = whole.Write(ctx, &g.s.Object, send.Number, removeConsumerScript, []string{g.s.Key}, g.name, name)
		if there = n > 0; n < 0 {
			err = fmt.Errorf("%w: %q has %d", ErrPending, name, -n)
		}
	}
	return there, g.failed("remove a consumer of", err)
}

// Claim gives entries that are pending for longer than idle to a consumer, whichever consumer
// holds them, and returns them. Other entries, and those that the stream has no more, are left
// out. So are entries that do not decode; Claim then returns the others together with an error.
//
// Cost: one command. Errors: [ErrDecode]; [ErrOutcomeUnknown]; as [Group.Create]. Source: RStream.claim.
func (g *Group[K, V]) Claim(ctx context.Context, consumer string, idle time.Duration, ids ...string) (all []Entry[K, V], err error) {
	err = g.usable(ctx)
	for _, id := range ids {
		if err == nil {
			err = checkID(id, "")
		}
	}
	if err == nil && (consumer == "" || idle < 0 || len(ids) > paging.Most) {
		err = fmt.Errorf("%w: a claim of %d entries by %q, idle for %v", ErrInvalidArgument, len(ids), consumer, idle)
	}
	if err != nil || len(ids) == 0 {
		return nil, g.failed("claim entries of", err)
	}
	args := append([]string{g.name, consumer, decimal(idle.Milliseconds())}, ids...)
	got, err := whole.Write(ctx, &g.s.Object, entries, xclaimed, []string{g.s.Key}, args...)
	return g.all(got, err)
}

// AutoClaim gives up to n entries that others hold for longer than idle to a consumer, and
// returns them; see [Group.Claim]. A consumer of [Group.Consume] does so automatically.
//
// Cost: one command, and further ones while it finds too few. Errors: as [Group.Claim]. Source: RStream.autoClaim.
func (g *Group[K, V]) AutoClaim(ctx context.Context, consumer string, idle time.Duration, n int) (all []Entry[K, V], err error) {
	if err = g.usable(ctx); err == nil && (consumer == "" || idle < 0 || n < 1 || n > paging.Most) {
		err = fmt.Errorf("%w: a claim of %d entries by %q, idle for %v", ErrInvalidArgument, n, consumer, idle)
	}
	var found []rueidis.XRangeSlice
	for from := "0-0"; err == nil && len(found) < n; {
		var some []rueidis.XRangeSlice
		some, err = whole.Write(ctx, &g.s.Object, func(got send.Answer, err error) ([]rueidis.XRangeSlice, error) {
			if err != nil {
				return nil, err
			}
			parts, err := got.ToArray()
			if err != nil || len(parts) < 2 {
				return nil, err
			}
			if from, err = parts[0].ToString(); err != nil {
				return nil, err
			}
			return parts[1].AsXRangeSlices()
		}, xautoclaim, []string{g.s.Key}, g.name, consumer, decimal(idle.Milliseconds()), from, "COUNT", decimal(int64(n-len(found))))
		if found = append(found, some...); from == "0-0" {
			break
		}
	}
	return g.all(found, err)
}

// all returns entries, without those that do not decode.
func (g *Group[K, V]) all(got []rueidis.XRangeSlice, err error) (all []Entry[K, V], _ error) {
	var undecoded []error
	for _, it := range got {
		e, bad := g.s.entry(it)
		if bad != nil {
			undecoded = append(undecoded, bad)
			continue
		}
		all = append(all, e)
	}
	return all, g.failed("claim entries of", errors.Join(append(undecoded, err)...))
}

// SetID makes the group continue after the entry of an ID, or [FromStart], or [FromNow],
// whatever it was given. What is pending stays so.
//
// Cost: one command. Errors: as [Group.Create]; [ErrNoGroup]. Source: RStream.updateGroupMessageId.
func (g *Group[K, V]) SetID(ctx context.Context, from string) (err error) {
	if err = g.usable(ctx); err == nil && from != FromNow {
		err = checkID(from, "")
	}
	if err == nil {
		_, err = whole.Write(ctx, &g.s.Object, func(_ send.Answer, err error) (bool, error) { return true, err }, xgroupSet, []string{g.s.Key}, g.name, from)
	}
	return g.failed("move", err)
}

// IDAt returns the first ID that an entry of a time may have, where the server chooses IDs: for
// [Stream.ReadFrom], [Stream.TrimBefore] and [Group.Create].
func IDAt(t time.Time) string { return decimal(max(t.UnixMilli(), 0)) + "-0" }

// ReadFrom walks the entries from an ID on, or "" for the first, without a group, and waits
// for more until ctx ends or the loop is left. [IDAt] is the ID of a time. Nothing is
// marked as read. If an entry does not decode, ReadFrom yields [ErrDecode] with its ID and
// continues. Any other error, that of ctx too, is the last. While it waits, it tolerates a
// silent server for a watchdog timeout.
//
// Cost: one command for each 100 or 1 MB, a share of one that blocks, and one in each watchdog timeout of a wait.
// Errors: [ErrDecode]; [ErrInvalidArgument]; ctx's error and cause; [ErrClosed]; Redis' and the network's. Source: RStream.read.
func (s *Stream[K, V]) ReadFrom(ctx context.Context, id string) iter.Seq2[Entry[K, V], error] {
	return func(yield func(Entry[K, V], error) bool) {
		q, p := s.q, paging.Walk(mostEntries)
		for from := or(id, "-"); ; {
			some, err := q.window(ctx, p.Expect(xrange), from, "+", p.N)
			if err == nil && len(some) == 0 {
				some, err = q.awaitBehind(ctx, from, p)
			}
			if err != nil {
				yield(Entry[K, V]{}, q.Failed("read", err))
				return
			}
			for _, it := range some {
				if e, err := q.entry(it); !yield(e, core.Notice(q.Failed("read", err))) {
					return
				}
				from = "(" + it.ID
			}
			if len(some) > 0 {
				p.Saw(len(some), bytesOf(some))
			}
		}
	}
}

// awaitBehind waits for an entry from an ID on, or after an ID that follows a "(". It looks again after each watchdog
// timeout, since the server tells of IDs that follow the last one alone: a stream that was deleted and begun again may
// have lower ones.
func (s *stream[K, V]) awaitBehind(ctx context.Context, from string, p paging.Plan) ([]rueidis.XRangeSlice, error) {
	tips, last := s.h.tips, "0-0"
	newest, err := whole.Read(ctx, &s.Object, entries, xrevrange, "+", "-", "COUNT", "1")
	if err != nil {
		return nil, err
	}
	if len(newest) > 0 {
		last = newest[0].ID
	}
	if tips.Enter(s.Key, last) {
		s.h.poller.Tell(tips.Kind, s.Key)
	}
	defer tips.Leave(s.Key)
	place := s.h.poller.Join(tips.Kind, s.Key)
	some, err := s.window(ctx, p.Expect(xrange), from, "+", p.N) // what came before it stood in line
	why := error(nil)                                            // of the last look
	for err == nil && len(some) == 0 {
		waiting, cancel := context.WithTimeout(ctx, s.h.e.WatchdogTimeout)
		select {
		case got := <-place.Got():
			cancel()
			return nil, got.Err
		case <-waiting.Done():
		case <-s.h.e.Closing():
		}
		cancel()
		if ctx.Err() != nil || s.h.e.Open() != nil {
			break
		}
		// An outage ends the wait when the poller gives up.
		if some, err = s.window(ctx, p.Expect(xrange), from, "+", p.N); err != nil && ctx.Err() == nil && blocked.Passes(err) {
			why, err = err, nil
		} else {
			why = nil
		}
	}
	got, _ := s.h.poller.Leave(place)
	switch {
	case err != nil || len(some) > 0:
		return some, err
	case got.Err != nil:
		return nil, got.Err
	case ctx.Err() != nil:
		return nil, send.Unanswered(ctx, why)
	case s.h.e.Open() != nil:
		return nil, ErrClosed
	}
	return nil, nil
}
