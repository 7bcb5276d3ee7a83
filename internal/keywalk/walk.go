package keywalk

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/redis/rueidis"

	"github.com/rueidisson/rueidisson/internal/core"
	"github.com/rueidisson/rueidisson/internal/locking"
	"github.com/rueidisson/rueidisson/internal/send"
)

// Query says which keys are handed on.
type Query struct {
	Pattern string // as SCAN reads it; "" for all
	Type    string // as TYPE says it; "" for any
	Most    int64  // about how many keys are looked at, an equal part on each master; 0: all
}

// ErrMore says that there are more keys than Most lets a walk look at. The others were handed on.
var ErrMore = errors.New("there are more keys than were looked at")

// Visitor is told of what is found. Its error ends the walk.
type Visitor struct {
	// Page gets some keys, or none, with the client of the server that has them. A key may come again.
	Page func(node rueidis.Client, keys []string) error
	// Again says that the keys of some slots come from the beginning; nil: nobody wants to know. Without a cluster all keys
	// are in slot 0.
	Again func(has func(slot uint16) bool)
}

const (
	// tries is how often a server is asked for one page before the others are looked at.
	tries = 2
	// fruitless is how many rounds of a walk may find nothing out, and patience how many times the bound of one send that may
	// last: a replica needs so long to take over.
	fruitless, patience = 3, 5
	// pause is how long a walk waits for what is not in order yet.
	pause = 100 * time.Millisecond
)

// walk is one walk through all keys.
type walk struct {
	e     *locking.Engine
	q     Query
	visit Visitor
	left  slots // what has not been seen
	seen  []visited
	count int64 // keys that a page asks for
	share int64 // keys of one server that may be looked at; 0: all
	more  bool  // a server has more
}

// visited is a server that was scanned, with the slots that it had before.
type visited struct {
	id  string
	had slots
}

// Walk hands on all keys that match. It returns with an error of the visitor, with the first error that will not
// pass, or when a part of the keys cannot be reached for so long that no replica takes over. It returns [ErrMore] after the end of a
// walk that the query has bounded.
func Walk(ctx context.Context, e *locking.Engine, q Query, visit Visitor) error {
	w := &walk{e: e, q: q, visit: visit, left: all(e.Cluster()), count: firstPage}
	began := e.Now().Mono
	for round, idle := 0, 0; ; round++ {
		left := w.left.len()
		err := w.round(ctx, round > 0)
		now := e.Now().Mono
		switch idle++; {
		case w.left.none() && w.more:
			return ErrMore
		case w.left.none():
			return nil
		case err != nil && !Passes(err):
			return err
		case w.left.len() < left:
			began, idle = now, 0
		case idle >= fruitless && now-began > patience*e.SendTimeout():
			return w.unseen(err)
		}
		if err := w.rest(ctx); err != nil {
			return err
		}
	}
}

// Passes reports whether a later try may do better.
func Passes(err error) bool { return send.Transient(err) && !errors.As(err, new(final)) }

// final is an error that ends the walk: of the visitor, of its ctx, or because the client was closed.
type final struct{ error }

func (f final) Unwrap() error { return f.error }

// unseen returns why a part of the keys was not seen.
func (w *walk) unseen(err error) error {
	if err == nil {
		err = core.ErrSlotMoving
	}
	if w.e.Cluster() {
		return fmt.Errorf("%d slots of the cluster were not seen: %w", w.left.len(), err)
	}
	return err
}

// rest waits before the next round.
func (w *walk) rest(ctx context.Context) error {
	timer := time.NewTimer(pause)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
	return w.usable(ctx)
}

// usable reports why the walk cannot go on.
func (w *walk) usable(ctx context.Context) error {
	if err := w.e.Open(); err != nil {
		return final{err}
	}
	if ctx.Err() != nil {
		return final{core.ContextError(ctx)}
	}
	return nil
}

// round scans each server that has something which was not seen. Its error is that of the last server that failed, or one that
// will not pass.
func (w *walk) round(ctx context.Context, again bool) (last error) {
	nodes, err := w.involved(ctx)
	if err != nil {
		return err
	}
	if again && len(nodes) > 1 { // what moves is seen when the one that gives was scanned before the one that gets
		nodes = append(nodes, nodes...)
	}
	for _, node := range nodes {
		if w.left.none() {
			return nil
		}
		if err := w.scan(ctx, node); err != nil {
			if !Passes(err) {
				return err
			}
			last = err
			w.e.Topo.MarkStale()
		}
	}
	return last
}

// involved returns the servers that have, or get, slots which were not seen. One that does not answer may have them.
func (w *walk) involved(ctx context.Context) (nodes []rueidis.Client, err error) {
	if err := w.usable(ctx); err != nil {
		return nil, err
	}
	bound, cancel := w.bounded(ctx)
	defer cancel()
	masters, err := w.e.Masters(bound)
	if err != nil {
		return nil, w.ended(ctx, err)
	}
	if w.q.Most > 0 {
		w.share = max(1, w.q.Most/int64(len(masters)))
	}
	if !w.e.Cluster() || len(w.seen) == 0 {
		return masters, nil
	}
	for _, node := range masters {
		v, err := w.look(ctx, node)
		if err != nil && !Passes(err) {
			return nil, err
		}
		if err != nil || v.owns.meets(&w.left) || v.gets.meets(&w.left) {
			nodes = append(nodes, node)
		}
	}
	return nodes, nil
}

// bounded returns a context for one exchange.
func (w *walk) bounded(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeout(ctx, w.e.SendTimeout())
}

// ended returns the error of an exchange that failed: that of ctx, or of the client, if these have ended.
func (w *walk) ended(ctx context.Context, err error) error {
	if why := w.usable(ctx); why != nil {
		return why
	}
	return err
}

// settled notes what has been seen by a server that was scanned between two looks at it: the slots that it had all the time,
// and those that came from a server which was scanned earlier. One that it gives away meanwhile may have keys that
// neither had when it was scanned.
func (w *walk) settled(before, after view) {
	before.owns.each(func(slot uint16) {
		if before.epoch == after.epoch && after.owns[slot] && !before.moving(slot) && !after.moving(slot) {
			w.left[slot] = false
		}
	})
	for _, earlier := range w.seen {
		if earlier.id == after.id {
			continue
		}
		earlier.had.each(func(slot uint16) {
			if !after.gives[slot] && (after.owns[slot] || after.gets[slot]) {
				w.left[slot] = false
			}
		})
	}
	w.seen = append(w.seen, visited{after.id, before.owns})
}
