package stream

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"time"

	"github.com/redis/rueidis"

	"github.com/rueidisson/rueidisson/codec"
	"github.com/rueidisson/rueidisson/internal/attempts"
	"github.com/rueidisson/rueidisson/internal/core"
	"github.com/rueidisson/rueidisson/internal/keys"
	"github.com/rueidisson/rueidisson/internal/paging"
	"github.com/rueidisson/rueidisson/internal/send"
	"github.com/rueidisson/rueidisson/internal/whole"
)

// redriver is the consumer that has what comes again until one takes it over.
const redriver = "rueidisson redrive"

// WithMaxAttempts sets after how many failed attempts a message of [Group.Messages] is a dead
// letter, see [Group.Dead]. Without it none is. An attempt without an outcome counts, too: its
// consumer died, or took longer than [WithIdle]. Other messages that a dead consumer had read
// count an attempt, too. With one attempt, messages are read one at a time.
func WithMaxAttempts(n int) ConsumeOption {
	return consumeOption(func(c *consumeConfig) error {
		if c.attempts = int64(n); n < 1 {
			return fmt.Errorf("%w: %d attempts: at least 1", ErrInvalidArgument, n)
		}
		return nil
	})
}

// WithBackoff sets how long a message of [Group.Messages] waits after a failed attempt, but not
// longer than [WithIdle]. The attempt is 1 for the first. The default is a second, and twice as
// long after each further attempt. The loop in which it failed looks for
// it then. Others of the group, and all if that loop has ended, find it within half of their
// WithIdle.
func WithBackoff(f func(attempt int64) time.Duration) ConsumeOption {
	return consumeOption(func(c *consumeConfig) error {
		if c.backoff = f; f == nil {
			return fmt.Errorf("%w: a nil backoff", ErrInvalidArgument)
		}
		return nil
	})
}

// Message is an entry that a consumer of a group was given. It is settled once, by
// [Message.Ack], [Message.Nack] or [Message.Bury].
type Message[K comparable, V any] struct {
	Entry[K, V]
	Attempt int64 // 1 for the first

	g       *Group[K, V]
	c       *consumption
	settled bool
}

// Messages reads entries as [Group.Consume] does, each as a message that carries its own
// outcome. One that the loop leaves without an outcome, by continue, break or return, is a
// [Message.Nack].
//
//	for m, err := range orders.Group("billing").Messages(ctx, hostname, stream.WithMaxAttempts(5)) {
//		switch {
//		case errors.Is(err, stream.ErrDecode): // m has an ID and no fields
//			err = m.Bury(ctx, err)
//		case errors.Is(err, rueidisson.ErrNotice):
//			continue
//		case err != nil:
//			return err // and the sequence is over
//		default:
//			if err = bill(ctx, m.Fields); err != nil {
//				err = m.Nack(ctx, err) // it comes again, or is put aside
//			} else {
//				err = m.Ack(ctx)
//			}
//		}
//		if err != nil {
//			log.Print(err) // it comes again
//		}
//	}
//
// A message that failed comes again when its backoff is over, to any consumer of the group,
// also of Java, and later ones come meanwhile: there is no order between them.
//
// Cost: as [Group.Consume]; one script call for each message; one command for each batch that others
// had, and for each 5,000 that the consumer has between them. Errors: as [Group.Consume]. If a
// message has had all its attempts and cannot be put aside, the reason is yielded together with
// it. The loop continues and may settle the message; otherwise it is redelivered when its idle
// time is over.
func (g *Group[K, V]) Messages(ctx context.Context, consumer string, opts ...ConsumeOption) iter.Seq2[*Message[K, V], error] {
	return func(yield func(*Message[K, V], error) bool) {
		c, err := g.consumption(ctx, consumer, opts)
		if err != nil {
			yield(nil, g.failed("consume", err))
			return
		}
		c.counts = map[string]int64{}
		if c.cfg.attempts == 1 { // if it dies, whatever else it has read has had its attempt
			c.cfg.batch = 1
		}
		defer c.leave()
		for {
			it, err := c.next(ctx)
			if err != nil {
				yield(nil, g.failed("consume", err))
				return
			}
			if !g.give(ctx, c, it, yield) {
				return
			}
		}
	}
}

// give has the loop handle a message, which fails if the loop does not say how that ended.
func (g *Group[K, V]) give(ctx context.Context, c *consumption, it rueidis.XRangeSlice, yield func(*Message[K, V], error) bool) (goOn bool) {
	m := &Message[K, V]{Attempt: max(c.counts[it.ID], 1), g: g, c: c}
	delete(c.counts, it.ID)
	var err error
	m.Entry, err = g.s.entry(it)
	g.s.h.e.TakenEntry(ctx, g.s.Kind, g.s.Key, it.ID)
	if a := c.cfg.attempts; a > 0 && m.Attempt > a {
		if err := m.Bury(context.WithoutCancel(ctx), attempts.ErrUnsettled); m.left(err) {
			return yield(m, core.Notice(err)) // else it would come and go unseen for as long as that fails
		}
		return true
	}
	defer func() {
		if !m.settled {
			m.left(m.Nack(context.WithoutCancel(ctx), attempts.ErrLeft))
		}
	}()
	return yield(m, core.Notice(g.failed("consume", err)))
}

// left handles an outcome that the loop has not asked for. It reports whether the message stays
// where it is, though the consumer has it.
func (m *Message[K, V]) left(err error) bool {
	if err == nil || errors.Is(err, ErrLost) || errors.Is(err, ErrClosed) {
		return false
	}
	m.g.s.h.e.Logger.Warn("a message is left to its idle time", "name", m.g.s.Key, "id", m.ID, "err", err)
	return true
}

// count notes how often entries were delivered that were taken over, and returns those that the
// consumer still has: the others are somebody else's, or done.
func (c *consumption) count(entries []rueidis.XRangeSlice) (mine []rueidis.XRangeSlice, err error) {
	if len(entries) == 0 {
		return nil, nil
	}
	wanted := make(map[string]bool, len(entries))
	for _, it := range entries {
		wanted[it.ID] = true
	}
	last := entries[len(entries)-1].ID
	for from := entries[0].ID; ; {
		some, err := pendings(c.h.e.Run(context.Background(), xpending, []string{c.post.key},
			[]string{c.post.group, from, last, decimal(paging.Most), c.consumer}))
		if err != nil {
			return nil, err
		}
		for _, p := range some {
			if wanted[p.ID] {
				c.counts[p.ID] = p.Deliveries
			}
		}
		if len(some) < paging.Most {
			break
		}
		from = "(" + some[len(some)-1].ID
	}
	for _, it := range entries {
		if c.counts[it.ID] > 0 {
			mine = append(mine, it)
		}
	}
	return mine, nil
}

// Ack acknowledges the message: it is done. If another consumer was given it meanwhile, Ack leaves it alone and returns
// [ErrLost]. The request is sent once. After [ErrOutcomeUnknown] the message may be acknowledged, or it is redelivered.
//
// Cost: one script call. Errors: [ErrLost]; [ErrOutcomeUnknown]; [ErrNoGroup]; ctx's error and cause; [ErrClosed];
// Redis' and the network's.
func (m *Message[K, V]) Ack(ctx context.Context) error {
	m.settled = true
	err := m.g.usable(ctx)
	if err == nil {
		var n int64
		s := m.g.s
		n, err = whole.Write(ctx, &s.Object, send.Number, ackScript, []string{s.Key}, m.g.name, m.c.consumer, m.ID, decimal(m.Attempt))
		if err == nil && n == 0 {
			err = ErrLost
		}
	}
	return m.g.failed("acknowledge a message of", err)
}

// Nack says that an attempt failed. The message is redelivered when its backoff is over, see
// [WithBackoff], or is put aside if that was the last attempt, see [WithMaxAttempts].
//
// Cost: one script call, and a share of UNLINK. Errors: [ErrLost]; [ErrOutcomeUnknown]; ctx's error and cause;
// [ErrClosed]; Redis' and the network's. The message is redelivered after all of them, unless the stream has dropped
// it: then Nack returns [ErrLost].
func (m *Message[K, V]) Nack(ctx context.Context, cause error) error {
	cfg := m.c.cfg
	if cfg.attempts > 0 && m.Attempt >= cfg.attempts {
		return m.Bury(ctx, cause)
	}
	wait := attempts.Backoff(cfg.backoff, m.Attempt, cfg.idle)
	err := m.settle(ctx, "give back a message of", cause, cfg.idle-wait)
	if err == nil {
		m.c.dues.Add(wait)
	}
	return err
}

// Bury puts the message aside, with why: no consumer gets it any more. [Group.Dead] lists
// it, [Group.Redrive] has it come again. Of a group the last 10,000 stay, about.
//
// Cost: one script call, and a share of UNLINK. Errors: as [Message.Nack].
func (m *Message[K, V]) Bury(ctx context.Context, cause error) error {
	return m.settle(ctx, "put aside a message of", cause, attempts.PutAside)
}

func (m *Message[K, V]) settle(ctx context.Context, op string, cause error, idle time.Duration) error {
	m.settled = true
	err := m.g.usable(ctx)
	if err == nil {
		s, said := m.g.s, attempts.Lost
		said, err = send.Writing(s.h.e.Sender, ctx, func() (attempts.Outcome, error) {
			return attempts.Say(ctx, s.h.e, s.h.requests, attempts.Failure{
				Name: s.Key, Stream: s.Key, Group: m.g.name, Consumer: m.c.consumer, ID: m.ID, Attempt: m.Attempt, Idle: idle, Cause: cause,
			})
		})
		if err == nil && (said == attempts.Lost || said == attempts.Dropped) {
			err = ErrLost
		}
	}
	return m.g.failed(op, err)
}

// Dead is an entry that a group has put aside.
type Dead[K comparable, V any] struct {
	Entry[K, V]
	Attempts int64     // that have failed
	Cause    string    // of the last failure
	Buried   time.Time // when it was put aside
}

// Dead walks the dead letters of the group, the oldest first, 100 at a time. If one
// does not decode, Dead yields [ErrDecode] with what is known of it, and continues;
// another error ends the walk.
//
// Cost: one command for each 100. Errors: [ErrDecode]; as [Group.Pending].
func (g *Group[K, V]) Dead(ctx context.Context) iter.Seq2[Dead[K, V], error] {
	return func(yield func(Dead[K, V], error) bool) {
		const op = "list what was put aside of"
		if err := g.usable(ctx); err != nil {
			yield(Dead[K, V]{}, g.failed(op, err))
			return
		}
		for it, err := range attempts.Walk(ctx, g.s.h.e, g.s.Key, g.name) {
			if err != nil {
				yield(Dead[K, V]{}, g.failed(op, err))
				return
			}
			d := Dead[K, V]{Entry: Entry[K, V]{ID: it.ID}, Attempts: it.Attempts, Cause: it.Cause, Buried: it.Buried}
			if it.Err != nil {
				err = &codec.DecodeError{Name: g.s.Name, Key: it.At, Cause: it.Err}
			} else {
				d.Entry, err = g.s.entry(rueidis.XRangeSlice{ID: it.ID, FieldValues: it.Fields})
			}
			if !yield(d, core.Notice(g.failed(op, err))) {
				return
			}
		}
	}
}

// Redrive has the entries that the group has put aside come to its consumers again, with
// attempts that count anew, and returns how many. What the stream has no more, and what is put aside while it runs,
// stays aside.
//
// Cost: one script call for each 100, and a share of UNLINK. Errors: [ErrOutcomeUnknown]; as [Group.Create].
func (g *Group[K, V]) Redrive(ctx context.Context) (redriven int64, err error) {
	err = g.usable(ctx)
	for next := (attempts.Redriven{Next: "-", Till: "+"}); err == nil && next.Next != ""; {
		next, err = g.redriveSome(ctx, next.Next, next.Till)
		redriven += next.N
	}
	return redriven, g.failed("redrive", err)
}

// redriveSome makes one call, from where the one before ended, up to an ID: "+" at first, and then what
// the one before returned.
func (g *Group[K, V]) redriveSome(ctx context.Context, at, till string) (attempts.Redriven, error) {
	s := g.s
	return send.Writing(s.h.e.Sender, ctx, func() (attempts.Redriven, error) {
		return attempts.Redrive(ctx, s.h.e, s.h.requests, s.Key, redriveScript, []string{s.Key, keys.StreamDead(s.Key, g.name)},
			g.name, at, decimal(mostEntries), redriver, keys.StreamReturned(s.Key), s.h.e.Publish(), till)
	})
}

// PurgeDead deletes what the group has put aside, and returns how many entries that were. Cost: one script call, and a
// share of UNLINK. Errors: as [Group.Create].
func (g *Group[K, V]) PurgeDead(ctx context.Context) (purged int64, err error) {
	if err = g.usable(ctx); err == nil {
		purged, err = attempts.Purge(ctx, g.s.h.e, g.s.h.requests, g.s.Key, g.name)
	}
	return purged, g.failed("purge what was put aside of", err)
}
