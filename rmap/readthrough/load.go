package readthrough

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"

	"github.com/rueidisson/rueidisson/rmap/internal/mapstore"

	mathrand "math/rand/v2"
	"strings"
	"sync/atomic"
	"time"

	"github.com/rueidisson/rueidisson/internal/core"
	"github.com/rueidisson/rueidisson/internal/keys"
	"github.com/rueidisson/rueidisson/internal/pubsub"
	"github.com/rueidisson/rueidisson/internal/send"
	"github.com/rueidisson/rueidisson/internal/turn"
	"github.com/rueidisson/rueidisson/internal/wait"
	"github.com/rueidisson/rueidisson/lock"
)

// run is one attempt of this process to have an entry that is not there: by a
// load of its own, or by another's.
type run[K comparable, V any] struct {
	l      *Map[K, V]
	h      *mapstore.Handle[K, V]
	k      K
	leases mapstore.Leases
	lease  mapstore.Lease
	locks  bool        // the entry's lock is taken, too
	how    string      // the lease is asked for
	anew   bool        // what others found before does not count
	sends  func()      // is called before each exchange that may tell the outcome
	mild   bool        // it gives up where others fail
	still  func() bool // there is reason to load what is there; nil: there is

	bulk *bulk[K, V] // it is counted in; nil: none

	lives  mapstore.Lifetime // of what was loaded
	seen   mapstore.Value    // what a load replaces
	his    string            // the token of who had the lease at the last look
	unsure bool              // whether a look has taken the lease
	looks  int               // so many

	// What was heard of the loads of others.
	failed atomic.Int64
	news   atomic.Bool
	absent atomic.Value // the token of who found nothing

	paused int64 // so many failures were paused for
	until  time.Duration
}

func (l *Map[K, V]) newRun(k K, key string) *run[K, V] {
	return &run[K, V]{
		l: l, h: l.h, k: k, leases: l.h.StoreOf(key), locks: l.locks, sends: func() {},
		lease: mapstore.Lease{Key: key, Token: rand.Text(), Lasts: l.cfg.lease()}, lives: l.h.Config.Entries,
	}
}

// get goes on until there is an entry, or none by what the loader says.
func (r *run[K, V]) get(ctx context.Context) (v V, there bool, err error) {
	for try := 0; ; try++ {
		got, absent, err := r.await(ctx)
		if err != nil || absent {
			r.abandon(ctx)
			return v, false, err
		}
		if got.There {
			r.abandon(ctx)
			return r.decode(got)
		}
		v, there, done, err := r.loadLocked(ctx)
		if done || err != nil {
			return v, there, err
		}
		turn.Pause(try) // somebody has written, removed or taken it meanwhile
	}
}

func (r *run[K, V]) decode(got mapstore.Value) (V, bool, error) { return r.h.Decode(r.lease.Key, got) }

// await waits until there is an entry, or the lease is the caller's: then there
// is neither an entry nor an error.
func (r *run[K, V]) await(ctx context.Context) (got mapstore.Value, absent bool, err error) {
	elsewhere, name := false, keys.MapLoaded(r.h.Home(r.lease.Key), r.lease.Key)
	err = r.h.Hub.Engine.Watch(ctx, wait.Watch{
		Key: core.Key{Kind: r.h.Kind, Name: r.h.Key}, Heard: r.heard,
		Channels: []pubsub.Channel{r.h.Hub.Engine.Channel(name)},
		Look: func(ctx context.Context) (left time.Duration, done bool, err error) {
			if absent = !r.anew && r.his != "" && r.absent.Load() == r.his; absent {
				return 0, true, nil
			}
			if left := r.pausing(); left > 0 {
				r.leaves()
				elsewhere = r.mild
				return left, r.mild, nil
			}
			before := r.his
			var l mapstore.Look
			l, err = r.look(ctx, r.how)
			got, absent = l.Entry, l.Gone
			if err == nil && !r.anew && l.Granted() && before != "" && r.absent.Load() == before { // it was told meanwhile
				_, _ = r.end(ctx, toldLeft)
				absent = true
			}
			if l.Left > 0 || err != nil {
				r.leaves()
			}
			left = l.Left
			if r.looks++; len(l.Other) != len(r.lease.Token) { // Redisson loads, which tells nobody
				left = min(left, time.Millisecond<<min(r.looks, 7))
			}
			return left, err == nil && l.Left == 0, err
		},
	})
	if elsewhere && err == nil {
		err = errElsewhere
	}
	return got, absent, err
}

func (r *run[K, V]) look(ctx context.Context, how string) (mapstore.Look, error) {
	r.sends()
	l, err := r.leases.Ask(ctx, r.lease, how)
	switch {
	case err != nil || l.Replayed && !l.Granted() && l.Left == 0:
		r.unsure = true
	case l.Granted() || l.Left > 0: // an entry says nothing of the lease
		r.unsure = false
	}
	if err == nil {
		r.his = l.Other
	}
	return l, err
}

// abandon gives back the lease that a look may have taken whose answer did not come: nobody loads, and others would wait
// until it ends.
func (r *run[K, V]) abandon(ctx context.Context) {
	if r.unsure {
		r.h.Hub.Engine.Spawn(func() { _, _ = r.end(ctx, toldLeft) }) // ends with the answer
	}
}

// What becomes of a load, as it is told.
const (
	toldLoaded = "loaded"
	toldAbsent = "absent"
	toldFailed = "failed"
	toldLeft   = "left" // nobody waits for it any more
)

// heard handles an event, on the hub's goroutine.
func (r *run[K, V]) heard(payload string) bool {
	what, token, _ := strings.Cut(payload, " ")
	switch what {
	case toldLoaded:
		r.news.Store(true)
	case toldAbsent:
		r.absent.Store(token)
	case toldFailed:
		r.failed.Add(1)
	}
	return true
}

// longestOut is the longest between loads that fail.
const longestOut = 2 * time.Second

// pausing returns how long not to load yet, since others have failed: longer with each,
// and not the same for everybody. If one has brought an entry it is over.
func (r *run[K, V]) pausing() time.Duration {
	now, failed := r.h.Hub.Engine.Mono(), r.failed.Load()
	if r.news.Swap(false) {
		return 0
	}
	if failed > r.paused {
		r.paused = failed
		most := min(10*time.Millisecond<<min(failed, 10), longestOut)
		r.until = now + most/2 + mathrand.N(most/2)
	}
	return r.until - now
}

// loadLocked loads, and where Java's read-through may do so too under the entry's
// lock, which that takes. Done is false if somebody else has written meanwhile.
func (r *run[K, V]) loadLocked(ctx context.Context) (v V, there, done bool, err error) {
	if !r.locks {
		return r.load(ctx)
	}
	hold, err := r.lockEntry(ctx)
	if err != nil {
		_, _ = r.end(ctx, toldLeft)
		if errors.Is(err, lock.ErrNotAcquired) {
			return v, false, false, nil
		}
		return v, false, false, err
	}
	defer func() { _ = hold.Unlock(context.WithoutCancel(ctx)) }()
	return r.loadHeld(ctx)
}

// lockEntry waits for the lock of the entry, where others of a bulk do not wait for that.
func (r *run[K, V]) lockEntry(ctx context.Context) (*lock.Hold, error) {
	entry, lasts := lock.New(r.h.Hub.Engine, r.h.LockName(r.lease.Key)), lock.WithLease(r.lease.Lasts)
	if r.bulk != nil {
		if hold, err := entry.TryLock(ctx, lasts); err == nil {
			return hold, nil
		}
		r.leaves()
	}
	return entry.TryLock(ctx, lock.WithWait(r.l.cfg.timeout), lasts)
}

// loadHeld loads, unless who had the lock before has done so.
func (r *run[K, V]) loadHeld(ctx context.Context) (v V, there, done bool, err error) {
	got, err := r.look(ctx, r.how)
	switch {
	case err != nil: // the lease is the caller's since await
		_, _ = r.end(ctx, toldLeft)
		return v, false, false, err
	case got.Entry.There:
		_, _ = r.end(ctx, toldLoaded)
		v, there, err = r.decode(got.Entry)
		return v, there, true, err
	case got.Gone:
		_, _ = r.end(ctx, toldAbsent)
		return v, false, true, nil
	case got.Left > 0: // it took so long that another has the lease
		return v, false, false, nil
	}
	return r.load(ctx)
}

// load calls the loader, and writes what it returns unless the lease has gone.
func (r *run[K, V]) load(ctx context.Context) (v V, there, done bool, err error) {
	v, there, err = r.call(ctx)
	switch {
	case err != nil:
		what := toldFailed
		if ctx.Err() != nil {
			what = toldLeft
		}
		_, _ = r.end(ctx, what)
		return v, false, false, err
	case there:
		done, err = r.write(ctx, v)
	case r.seen.There:
		done, err = r.bring(ctx, mapstore.Value{})
	default:
		done, err = r.insist(func() (bool, error) { return r.end(ctx, toldAbsent) })
	}
	return v, there, done, err
}

// write has the lease given back if it does not get through.
func (r *run[K, V]) write(ctx context.Context, v V) (done bool, err error) {
	text, err := r.h.Codecs.Value(v)
	if err == nil {
		done, err = r.bring(ctx, mapstore.Value{Text: text, There: true})
	}
	if err != nil {
		_, _ = r.end(ctx, toldFailed)
		err = fmt.Errorf("it was loaded, but not written: %w", err)
	}
	return done, err
}

// bring brings the map what was loaded.
func (r *run[K, V]) bring(ctx context.Context, now mapstore.Value) (done bool, err error) {
	ctx = context.WithoutCancel(ctx)
	defer r.kept(ctx)()
	return r.insist(func() (bool, error) { return r.leases.Loaded(ctx, r.lease, now, r.seen, r.lives) })
}

// kept keeps the lease while a server refuses what was loaded, so that nobody else loads
// meanwhile: by calls of their own, which a full server takes.
func (r *run[K, V]) kept(ctx context.Context) (stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	var beat func()
	var timer atomic.Pointer[time.Timer]
	beat = func() {
		r.h.Hub.Engine.Spawn(func() { // ends with the answer
			_ = r.leases.Keep(ctx, r.lease)
			if ctx.Err() == nil {
				timer.Store(time.AfterFunc(r.lease.Lasts/3, beat))
			}
		})
	}
	timer.Store(time.AfterFunc(r.lease.Lasts/3, beat))
	return func() {
		cancel()
		timer.Load().Stop()
	}
}

// insist goes on while the server refuses for a passing reason, for a watchdog
// timeout, and while the slot of the map moves, for as long as the lease may be
// there: what came of a load is worth one.
func (r *run[K, V]) insist(call func() (bool, error)) (done bool, err error) {
	e := r.h.Hub.Engine
	for began := e.Mono(); ; {
		r.sends()
		done, err = call()
		most := e.WatchdogTimeout
		if send.Moving(err) {
			most = r.lease.Lasts
		}
		if !send.Transient(err) || e.Mono()-began > most || e.Open() != nil {
			return done, err
		}
	}
}

// end gives the lease back, and reports whether it was there still. If that does
// not get through, it goes by itself.
func (r *run[K, V]) end(ctx context.Context, what string) (bool, error) {
	return r.leases.Ended(context.WithoutCancel(ctx), r.lease, what)
}

// outcome is what a loader returned, if it did.
type outcome[V any] struct {
	v     V
	there bool
	err   error
	lives mapstore.Lifetime // the entry
}

// call calls the loader, on a goroutine of its own: one that does not heed its
// context must not keep anybody.
func (r *run[K, V]) call(ctx context.Context) (V, bool, error) {
	e := r.h.Hub.Engine
	bounded, cancel := context.WithTimeout(ctx, r.l.cfg.timeout)
	defer cancel()
	started, returned := e.Mono(), make(chan outcome[V], 1)
	if b := r.bulk; b != nil {
		r.bulk = nil
		b.join(ctx, r.k, returned)
	} else {
		go r.guarded(bounded, returned) // ends with the loader
	}
	got := outcome[V]{}
	select {
	case got = <-returned:
	case <-bounded.Done():
		got = r.atLast(returned, fmt.Errorf("the loader took longer than %v: %w", r.l.cfg.timeout, bounded.Err()))
	case <-e.Closing():
		cancel()
		got = r.atLast(returned, ErrClosed)
	}
	if ctx.Err() != nil && got.err != nil {
		got.err = core.ContextError(ctx)
	}
	if closed := e.Open(); closed != nil && errors.Is(got.err, context.Canceled) {
		got.err = closed // which is why the loader, or its caller, was told to end
	}
	if got.there {
		r.lives = got.lives
	}
	if got.err == nil || ctx.Err() == nil && e.Open() == nil { // else it is not the source that fails
		r.l.tried(r.k, got.err)
	}
	took := e.Mono() - started
	r.l.took(took, got.err)
	if e.Caches != nil {
		e.Caches.Loaded(ctx, core.Load{Map: r.h.Key, Took: took, Absent: got.err == nil && !got.there, Ahead: r.how == mapstore.Ahead, Err: got.err})
	}
	return got.v, got.there, got.err
}

// atLast returns what the loader returns in the time that it has left.
func (r *run[K, V]) atLast(returned <-chan outcome[V], why error) outcome[V] {
	timer := time.NewTimer(mapstore.Heed)
	defer timer.Stop()
	select {
	case got := <-returned:
		return got
	case <-timer.C:
		return outcome[V]{err: why}
	}
}

// guarded calls the loader, and has an outcome also if that panics, or ends its
// goroutine.
func (r *run[K, V]) guarded(ctx context.Context, returned chan<- outcome[V]) {
	got := outcome[V]{err: turn.ErrExited}
	defer func() {
		if p := recover(); p != nil {
			got.err = turn.Panicked(p)
		}
		returned <- got
	}()
	v, there, err := r.l.load(ctx, r.k)
	got = r.l.outcomeOf(r.k, v, there, err)
}
