package rmap

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"github.com/rueidisson/rueidisson/internal/core"
	"github.com/rueidisson/rueidisson/internal/locking"
)

// report tells the observer what a near cache has done. No hit knows of it: whoever
// hears that the server lives, or misses, looks whether it is due.
type report struct {
	e    *locking.Engine
	did  func() core.NearCounts // so far
	born time.Time
	next atomic.Int64 // when it is due, since born

	mu   sync.Mutex
	told core.NearCounts
}

// reportEvery is how often an observer is told of a near cache.
const reportEvery = time.Second

func newReport(e *locking.Engine, did func() core.NearCounts) *report {
	r := &report{e: e, did: did, born: time.Now()}
	r.next.Store(int64(reportEvery))
	return r
}

// look has the observer told if that is due. It does not block.
func (r *report) look() {
	if r.e.Caches == nil {
		return
	}
	now, due := int64(time.Since(r.born)), r.next.Load()
	if now >= due && r.next.CompareAndSwap(due, now+int64(reportEvery)) {
		r.spawn()
	}
}

// spawn tells on a goroutine of its own, for callers that an observer may not hold up.
func (r *report) spawn() {
	if r.e.Caches != nil {
		r.e.Spawn(r.tell) // ends with the observer's call
	}
}

// tell tells the observer what has become more.
func (r *report) tell() {
	if r.e.Caches == nil {
		return
	}
	if more := r.more(); more != (core.NearCounts{Cache: more.Cache}) {
		r.e.Caches.Near(context.Background(), more)
	}
}

func (r *report) more() core.NearCounts {
	r.mu.Lock()
	defer r.mu.Unlock()
	now, before := r.did(), r.told
	r.told = now
	now.Hits -= before.Hits
	now.Misses -= before.Misses
	now.Drops -= before.Drops
	now.WholeDrops -= before.WholeDrops
	return now
}
