package rmap

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
	"github.com/rueidisson/rueidisson/rmap/internal/mapcache"
)

// discardError is what Discard returns.
type discardError struct{ error }

func (e *discardError) Unwrap() error { return e.error }

// Discard returns err as a writer returns it whose change is not to be tried again, such as one
// that the store can never take. Of a batch the changes are tried again one by one then, and
// those that it is returned for alone are dead at once, see [Writing.Dead]; the others go on.
// Through, it is as err is. It is nil for a nil err.
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
func (w *Writing[K, V]) bury(t *draining, one []backlogged, told core.Write, why error) error {
	w.h.h.e.Logger.Warn("the store does not take a change", "name", w.h.key, "id", one[0].id, "err", why)
	w.drain.streak = streak{}
	told.Dead = true
	cause := why.Error()
	cause = strings.ToValidUTF8(cause[:min(len(cause), longestCause)], "")
	return w.settle(t, grave{w.cfg.dead, cause}, one, told)
}

// isDeadID says whether an ID may be that of a dead change.
var isDeadID = regexp.MustCompile(`^[0-9]{1,20}-[0-9]{1,20}$`).MatchString

// usableIDs checks what usableDead does, and those IDs.
func (w *Writing[K, V]) usableIDs(ctx context.Context, op string, ids []string) error {
	for _, id := range ids {
		if !isDeadID(id) {
			return fmt.Errorf("%w: %s is no ID of a dead change", ErrInvalidArgument, object.Quoted(id))
		}
	}
	return w.usableDead(ctx, op)
}

// Dead walks the changes that the store has not taken, the oldest first: those that the writer
// has said to [Discard], and those given up by [WithMaxRetryTime]. A change that cannot be
// decoded is yielded with its ID and an error, and the walk continues.
//
// Cost: a script call for 500 changes, or 1 MB. Errors: as the map's All; of a Writing that writes through,
// [ErrInvalidArgument].
func (w *Writing[K, V]) Dead(ctx context.Context) iter.Seq2[DeadChange[K, V], error] {
	return func(yield func(DeadChange[K, V], error) bool) {
		from, err := "-", w.usableDead(ctx, "list the dead changes of")
		for err == nil {
			var page []deadEntry
			page, err = reading(ctx, w.h.h, func() ([]deadEntry, error) {
				s := w.h.sender()
				return s.dead(ctx, from, w.skips())
			})
			for _, one := range page {
				if c, bad := w.deadChange(one); !yield(c, w.h.failed("list the dead changes of", bad)) {
					return
				}
				from = "(" + one.id
			}
			if len(page) == 0 {
				break
			}
		}
		if err != nil {
			yield(DeadChange[K, V]{}, w.h.failed("list the dead changes of", err))
		}
	}
}

// usableDead checks what those operations need. It is not named yet.
func (w *Writing[K, V]) usableDead(ctx context.Context, op string) error {
	switch err := w.usable(op); {
	case err != nil:
		return err
	case !w.cfg.behind:
		return fmt.Errorf("%w: only what is written behind can die", ErrInvalidArgument)
	}
	return w.h.usable(ctx)
}

func (w *Writing[K, V]) deadChange(one deadEntry) (c DeadChange[K, V], err error) {
	c = DeadChange[K, V]{ID: one.id, Cause: one.why, Overtaken: one.overtaken}
	if ms, err := strconv.ParseInt(strings.Split(one.id, "-")[0], 10, 64); err == nil {
		c.When = time.UnixMilli(ms)
	}
	c.Removed = !one.to.there
	if c.Key, err = w.h.codecs.DecodeKey(one.key); err == nil {
		c.Value, _, err = w.h.decode(one.key, one.to)
	}
	return c, err
}

// Redrive queues dead changes to be written again: those of the IDs, or all if there are none.
// It returns how many were queued; after a lost reply it may have been more. A change that is
// overtaken stays dead, so that no older change is written after a newer one.
//
// Cost: a script call for 500, or 1 MB, and where all are meant those of [Writing.Dead]. Errors: as
// Put, and as [Writing.Dead]; after an error some may be queued.
func (w *Writing[K, V]) Redrive(ctx context.Context, ids ...string) (n int64, err error) {
	const op = "redrive the dead changes of"
	if err = w.usableIDs(ctx, op, ids); err != nil {
		return 0, w.h.failed(op, err)
	}
	if len(ids) == 0 {
		for one, err := range w.Dead(ctx) {
			if one.ID == "" {
				return 0, err
			}
			ids = append(ids, one.ID)
		}
	}
	s := w.h.sender()
	for len(ids) > 0 && err == nil {
		var did redriven
		did, err = writing(ctx, w.h.h, func() (redriven, error) {
			return s.redrive(ctx, w.cfg.backlog, w.skips(), ids[:min(len(ids), deadPage, w.cfg.backlog)])
		})
		if err == nil && did.full {
			err = errFull(w.cfg.backlog)
		}
		w.drain.queued.Add(did.queued)
		n, ids = n+did.queued, ids[did.through:]
	}
	w.drains() // also if the answer was lost
	return n, w.h.failed(op, err)
}

// Purge drops dead changes: those of the IDs, or all if there are none. It returns how many there were;
// after a lost reply it may have been more.
//
// Cost: a script call for 500. Errors: as [Writing.Redrive].
func (w *Writing[K, V]) Purge(ctx context.Context, ids ...string) (n int64, err error) {
	const op = "purge the dead changes of"
	if err = w.usableIDs(ctx, op, ids); err != nil {
		return 0, w.h.failed(op, err)
	}
	s := w.h.sender()
	purge := func(some []string) error {
		did, err := writing(ctx, w.h.h, func() (int64, error) {
			return s.purge(ctx, some)
		})
		n += did
		return err
	}
	if len(ids) == 0 {
		err = purge(nil)
		return n, w.h.failed(op, err)
	}
	for some := range slices.Chunk(ids, deadPage) {
		if err = purge(some); err != nil {
			break
		}
	}
	return n, w.h.failed(op, err)
}

// skips returns the offset of a value in the map's value: how many bytes precede it.
func (w *Writing[K, V]) skips() int {
	if w.h.isCache() {
		return mapcache.Header
	}
	return 0
}
