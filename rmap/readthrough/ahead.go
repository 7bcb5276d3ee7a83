package readthrough

import (
	"context"
	"math"
	"math/rand/v2"
	"time"

	"github.com/rueidisson/rueidisson/lock"
	"github.com/rueidisson/rueidisson/rmap/internal/mapstore"
)

// mostHorizons is of how many entries a handle remembers when they end.
const mostHorizons = 10_000

// horizon is when entries end, as far as it is known: see [WithRefreshAhead].
type horizon[K comparable] struct {
	of   map[K]end
	mean time.Duration // of a load, smoothed
}

// end is when an entry ends, or when to ask for it again.
type end struct {
	at      time.Duration
	unknown bool
	asked   bool // somebody looks after it now
}

// lookAgain is how long it counts that an entry has no end, or is another's to
// refresh.
const lookAgain = time.Minute

// took learns how long loads take.
func (l *Map[K, V]) took(d time.Duration, err error) {
	if l.cfg.beta == 0 || err != nil {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.ends.mean == 0 {
		l.ends.mean = d
	}
	l.ends.mean += (d - l.ends.mean) / 4
}

// hit handles a Get that found an entry: it may be the one to have it loaded anew.
func (l *Map[K, V]) hit(ctx context.Context, k K) {
	e, turn := l.turn(k)
	if !turn {
		return
	}
	ctx = lock.Detach(context.WithoutCancel(ctx))
	l.h.Hub.Engine.Spawn(func() { // ends with the loader's time
		defer func() { _ = recover() }() // the panic of the loader, which was told of
		// It is loaded anew only if it still is the entry whose time had come. A later reader handles what fails.
		if key, err := l.h.EncodeKey(ctx, k); err == nil && l.stays(ctx, k, e) {
			l.reload(ctx, k, key, e)
		}
	})
}

// heard is hit of a nearcache.Cache that has answered by itself, and returns for how long it need
// not tell of another hit of k.
func (l *Map[K, V]) heard(ctx context.Context, k K) time.Duration {
	l.hit(ctx, k)
	now := l.now()
	l.mu.Lock()
	defer l.mu.Unlock()
	e, known := l.ends.of[k]
	gap := time.Duration(min(float64(l.ends.mean)*l.cfg.beta, float64(24*time.Hour)))
	switch {
	case !known || e.asked:
		return 10 * time.Millisecond // the answer is on its way
	case e.unknown:
		return e.at - now
	}
	return max(e.at-l.cfg.stale-farGaps*gap-now, gap/16, time.Millisecond)
}

// farGaps is so far from its end that an entry is loaded anew by one hit of 500 million.
const farGaps = 20

// turn reports whether it is time to look after k, and what was known of its end.
// Nobody else of the process does so meanwhile.
func (l *Map[K, V]) turn(k K) (e end, turn bool) {
	now := l.now()
	l.mu.Lock()
	defer l.mu.Unlock()
	e, known := l.ends.of[k]
	if l.out(k) != nil {
		return e, false
	}
	gap := float64(l.ends.mean) * l.cfg.beta * -math.Log(1-rand.Float64()) // XFetch
	switch {
	case !known:
		e.unknown = true
	case e.unknown && now < e.at, !e.unknown && float64(now)+gap < float64(e.at-l.cfg.stale):
		return e, false
	}
	l.ends.put(k, end{now + l.cfg.lease(), true, true})
	return e, true
}

func (h *horizon[K]) put(k K, e end) {
	if h.of == nil {
		h.of = make(map[K]end)
	}
	for old := range h.of { // whichever comes first
		if len(h.of) < mostHorizons {
			break
		}
		delete(h.of, old)
	}
	h.of[k] = e
}

func (l *Map[K, V]) learn(k K, e end) {
	l.mu.Lock()
	l.ends.put(k, e)
	l.mu.Unlock()
}

// stays asks when an entry ends, and reports whether that is when it was known to:
// else it was written anew.
func (l *Map[K, V]) stays(ctx context.Context, k K, e end) bool {
	before := l.now()
	left, err := l.in.Left(ctx, k)
	if err == nil && left == 0 { // it has come to its end: the next one has another
		l.mu.Lock()
		delete(l.ends.of, k)
		l.mu.Unlock()
		return false
	}
	if err != nil || left < 0 { // it has no end
		l.learn(k, end{at: before + lookAgain, unknown: true})
		return false
	}
	if !e.unknown && before+left <= e.at+2*time.Millisecond { // which are what rounding makes of one
		return true
	}
	l.learn(k, end{at: l.now() + left})
	return false
}

// reload loads an entry that exists. Only the holder of the lease in the fleet does that, and
// it first asks again when the entry expires: another process may have been faster.
func (l *Map[K, V]) reload(ctx context.Context, k K, key string, e end) {
	r := l.newRun(k, key)
	r.how, r.locks = mapstore.Ahead, false
	got, err := r.look(ctx, mapstore.Ahead)
	if got.Later { // what the source does not have yet: it would load what is older
		got.Left = lookAgain
	}
	if err != nil || got.Left > 0 {
		r.abandon(ctx)
		l.learn(k, end{at: l.now() + got.Left, unknown: true})
		return
	}
	if r.seen, err = l.h.Store.Get(ctx, key); err != nil || !r.seen.There || !l.stays(ctx, k, e) {
		_, _ = r.end(ctx, toldLeft)
		return
	}
	if _, _, _, err = r.load(ctx); err == nil {
		l.mu.Lock()
		delete(l.ends.of, k)
		l.mu.Unlock()
	}
}
