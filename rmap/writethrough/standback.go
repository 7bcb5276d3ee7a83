package writethrough

import (
	"context"
	"errors"
	"strings"
	"sync/atomic"
	"time"

	"github.com/rueidisson/rueidisson/internal/keys"
	"github.com/rueidisson/rueidisson/internal/send"
	"github.com/rueidisson/rueidisson/rmap/internal/mapstore"
)

// lookout is when a handle looks for what others have left.
type lookout struct {
	last   atomic.Int64 // when it did, see Engine.Mono
	looks  atomic.Int64 // so many were begun
	others atomic.Bool  // others were seen to queue, or nobody knows
}

// betweenLooks is how long a handle that has seen others queue does not look again.
const betweenLooks = time.Second

// look looks in the background whether changes are queued that nobody writes, if that
// is due: a process that has queued them may have been killed.
func (w *Map[K, V]) look() {
	if w.cfg.others {
		return
	}
	d, e := &w.drain, w.h.Hub.Engine
	now, last := int64(e.Mono()), d.last.Load()
	every := int64(e.WatchdogTimeout)
	if d.others.Load() {
		every = min(every, int64(betweenLooks))
	}
	if d.looks.Load() > 0 && now-last < every || !d.last.CompareAndSwap(last, now) {
		return
	}
	d.looks.Add(1)
	e.Spawn(func() { // ends with the answer
		there, err := send.Yes(e.Run(context.Background(), mapstore.Exists, []string{keys.MapWrites(w.h.Key)}, nil))
		switch {
		case err != nil:
			d.others.Store(true)
		case there:
			w.drains()
		default:
			d.others.Store(false)
		}
	})
}

// saw takes in whose changes a batch has.
func (l *lookout) saw(h *mapstore.Hub, some []mapstore.Backlogged) {
	own := h.Requests.ID()
	own = own[:strings.LastIndexByte(own, '-')+1]
	for _, one := range some {
		if !strings.HasPrefix(one.By, own) {
			l.others.Store(true)
			return
		}
	}
}

// fewFailures is how many calls of a writer may fail in a row before others have their
// turn.
const fewFailures = 3

// errStandBack has a process give the turn back, since its own writer fails.
var errStandBack = errors.New("the writer of this process fails")

// streak is failures of the writer in a row.
type streak struct {
	calls int
	took  time.Duration // the last of them
	first string        // the oldest change was this one
	since time.Duration // when it was called with that first, see Engine.Mono
}

// add notes a call that has failed, of whose changes that was the oldest.
func (s *streak) add(first string, began, now time.Duration) {
	if s.first != first {
		s.first, s.since = first, began
	}
	s.calls, s.took = s.calls+1, now-began
}

// standBack waits after a failure: so long as it took at least, and for as long as
// others write, which shows by the oldest change.
func (w *Map[K, V]) standBack(ctx context.Context) {
	for {
		before, err := w.ends(ctx)
		nap(ctx, max(restOf(w.drain.streak.calls-1), w.drain.streak.took))
		after, againErr := w.ends(ctx)
		if err != nil || againErr != nil || ctx.Err() != nil || after.First == before.First || after.First == "" {
			return
		}
	}
}
