package writethrough

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/rueidisson/rueidisson/internal/core"
	"github.com/rueidisson/rueidisson/internal/object"
	"github.com/rueidisson/rueidisson/rmap/internal/mapstore"
)

// discardError is what Discard returns.
type discardError struct{ error }

func (e *discardError) Unwrap() error { return e.error }

// Discard returns the error of a writer whose change is not to be tried again, such as one that the
// store can never take. Of a batch the changes are tried again one by one then. Those whose own
// call returns Discard are dead at once, see [Map.Dead]; the others go on. In write-through mode
// Discard changes nothing. It is nil for a nil err.
func Discard(err error) error {
	if err == nil {
		return nil
	}
	return &discardError{err}
}

func discarded(err error) bool {
	var discard *discardError
	return errors.As(err, &discard)
}

// DeadChange is a change that the store does not have, and that is not tried any more.
type DeadChange[K comparable, V any] struct {
	ID string // for Redrive and Purge
	Change[K, V]
	When  time.Time // it was given up, by the server's clock
	Cause string    // what the writer has said last, cut at 1000 bytes

	// Overtaken says that the entry has changed since this change. A newer change is queued, was
	// written, or died after this one, or the map has another value now. Redrive leaves such a
	// change where it is.
	Overtaken bool
}

// longestCause is how much of an error a dead change keeps.
const longestCause = 1000

// bury puts a change aside that the store does not take.
func (w *Map[K, V]) bury(t *draining, one []mapstore.Backlogged, told core.Write, why error) error {
	w.h.Hub.Engine.Logger.Warn("the store does not take a change", "name", w.h.Key, "id", one[0].ID, "err", why)
	w.drain.streak = streak{}
	told.Dead = true
	cause := why.Error()
	cause = strings.ToValidUTF8(cause[:min(len(cause), longestCause)], "")
	return w.settle(t, mapstore.Grave{Most: w.cfg.dead, Why: cause}, one, told)
}

// isDeadID says whether an ID may be that of a dead change.
var isDeadID = regexp.MustCompile(`^[0-9]{1,20}-[0-9]{1,20}$`).MatchString

// usableIDs checks what usableDead does, and those IDs.
func (w *Map[K, V]) usableIDs(ctx context.Context, op string, ids []string) error {
	for _, id := range ids {
		if !isDeadID(id) {
			return fmt.Errorf("%w: %s is no ID of a dead change", ErrInvalidArgument, object.Quoted(id))
		}
	}
	return w.usableDead(ctx, op)
}

// Dead walks the changes that the store has not taken, the oldest first: those that the writer
// has said to [Discard], and those given up by [WithMaxRetryTime]. A change that cannot be
// decoded is yielded with its ID and an error that wraps rueidisson.ErrNotice, and the walk continues.
//
// Cost: a script call for 500 changes, or 1 MB. Errors: as the map's All; of a Map that writes through,
// [ErrInvalidArgument].
func (w *Map[K, V]) Dead(ctx context.Context) iter.Seq2[DeadChange[K, V], error] {
	return func(yield func(DeadChange[K, V], error) bool) {
		from, err := "-", w.usableDead(ctx, "list the dead changes of")
		for err == nil {
			var page []mapstore.DeadEntry
			page, err = mapstore.Reading(ctx, w.h.Hub, func() ([]mapstore.DeadEntry, error) {
				s := w.h.Sender()
				return s.Dead(ctx, from, w.h.Skips())
			})
			for _, one := range page {
				if c, bad := w.deadChange(one); !yield(c, core.Notice(w.h.Failed("list the dead changes of", bad))) {
					return
				}
				from = "(" + one.ID
			}
			if len(page) == 0 {
				break
			}
		}
		if err != nil {
			yield(DeadChange[K, V]{}, w.h.Failed("list the dead changes of", err))
		}
	}
}

// usableDead checks what those operations need. It is not named yet.
func (w *Map[K, V]) usableDead(ctx context.Context, op string) error {
	switch err := w.usable(op); {
	case err != nil:
		return err
	case !w.cfg.behind:
		return fmt.Errorf("%w: only what is written behind can die", ErrInvalidArgument)
	}
	return w.h.Usable(ctx)
}

func (w *Map[K, V]) deadChange(one mapstore.DeadEntry) (c DeadChange[K, V], err error) {
	c = DeadChange[K, V]{ID: one.ID, Cause: one.Why, Overtaken: one.Overtaken}
	if ms, err := strconv.ParseInt(strings.Split(one.ID, "-")[0], 10, 64); err == nil {
		c.When = time.UnixMilli(ms)
	}
	c.Removed = !one.To.There
	if c.Key, err = w.h.Codecs.DecodeKey(one.Key); err == nil {
		c.Value, _, err = w.h.Decode(one.Key, one.To)
	}
	return c, err
}

// Redrive queues dead changes to be written again: those of the IDs, or all if there are none.
// It returns how many were queued; after a lost reply it may have been more. A change that is
// overtaken stays dead, so that no older change is written after a newer one.
//
// Cost: a script call for 500, or 1 MB, and where all are meant those of [Map.Dead]. Errors: as
// Put, and as [Map.Dead]; after an error some may be queued.
func (w *Map[K, V]) Redrive(ctx context.Context, ids ...string) (n int64, err error) {
	const op = "redrive the dead changes of"
	if err = w.usableIDs(ctx, op, ids); err != nil {
		return 0, w.h.Failed(op, err)
	}
	if len(ids) == 0 {
		for one, err := range w.Dead(ctx) {
			if one.ID == "" {
				return 0, err
			}
			ids = append(ids, one.ID)
		}
	}
	s := w.h.Sender()
	for len(ids) > 0 && err == nil {
		var did mapstore.Redriven
		did, err = mapstore.Writing(ctx, w.h.Hub, func() (mapstore.Redriven, error) {
			return s.Redrive(ctx, w.cfg.backlog, w.h.Skips(), ids[:min(len(ids), mapstore.DeadPage, w.cfg.backlog)])
		})
		if err == nil && did.Full {
			err = errFull(w.cfg.backlog)
		}
		w.drain.queued.Add(did.Queued)
		n, ids = n+did.Queued, ids[did.Through:]
	}
	w.drains() // also if the answer was lost
	return n, w.h.Failed(op, err)
}

// Purge drops dead changes: those of the IDs, or all if there are none. It returns how many there were;
// after a lost reply it may have been more.
//
// Cost: a script call for 500. Errors: as [Map.Redrive].
func (w *Map[K, V]) Purge(ctx context.Context, ids ...string) (n int64, err error) {
	const op = "purge the dead changes of"
	if err = w.usableIDs(ctx, op, ids); err != nil {
		return 0, w.h.Failed(op, err)
	}
	s := w.h.Sender()
	purge := func(some []string) error {
		did, err := mapstore.Writing(ctx, w.h.Hub, func() (int64, error) {
			return s.Purge(ctx, some)
		})
		n += did
		return err
	}
	if len(ids) == 0 {
		err = purge(nil)
		return n, w.h.Failed(op, err)
	}
	for some := range slices.Chunk(ids, mapstore.DeadPage) {
		if err = purge(some); err != nil {
			break
		}
	}
	return n, w.h.Failed(op, err)
}
