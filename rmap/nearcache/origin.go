package nearcache

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"github.com/rueidisson/rueidisson/internal/locking"
)

// origin is one hash that entries of a near cache were read from, and what is
// known of how right they still are. An entry counts while the hash has the
// generation that it was read in, and what tells of changes is alive.
type origin struct {
	born    time.Time // monotonic readings are since then
	silence time.Duration

	gen   atomic.Uint64 // one more with whatever may have changed all entries
	armed atomic.Uint64 // the generation whose end will be told, and 1; 0: none
	ends  atomic.Int64  // when the hash as a whole goes, in that generation
	mono  atomic.Int64  // every change from before then has been told
	wall  atomic.Int64  // the same
	awake atomic.Int64  // when the wall clock was looked at, and had nothing to say
	used  atomic.Bool   // since Used was called
	muted atomic.Int64  // until when nothing may be kept

	// arm has the end of the present generation told, and says how long the hash
	// stays: -1, or -2 if there is none.
	arm func(ctx context.Context) (left time.Duration, err error)

	heard func() // called when the server was found alive

	mu     sync.Mutex
	flight *arming
	err    error // why it could not be armed
}

// never is the end of what has none.
const never = int64(1<<63 - 1)

// Dropped has no entry count any more.
func (o *origin) Dropped() { o.gen.Add(1) }

// Alive implements tracking.Listener.
func (o *origin) Alive(at time.Time) {
	o.lapse()
	raise(&o.mono, int64(at.Sub(o.born)))
	o.wall.Store(at.UnixNano()) // also when the clock was set back
	if o.heard != nil {
		o.heard()
	}
}

// lapse drops what was kept before a silence that was too long. Had every word of
// it come late, it would be right still; whether one was lost on the way is not
// known.
func (o *origin) lapse() {
	if last := o.mono.Load(); last != 0 && (!o.alive(o.now()) || o.slept()) {
		o.Dropped()
		o.mono.CompareAndSwap(last, 0)
	}
}

// raise sets what others may have set higher.
func raise(to *atomic.Int64, n int64) {
	for old := to.Load(); old < n && !to.CompareAndSwap(old, n); old = to.Load() {
	}
}

// Used implements tracking.Listener.
func (o *origin) Used() bool { return o.used.Swap(false) }

// use notes that it is worth asking about.
func (o *origin) use() {
	if !o.used.Load() {
		o.used.Store(true)
	}
}

// now returns a reading of the monotonic clock.
func (o *origin) now() int64 { return int64(time.Since(o.born)) }

// doze is how much of the monotonic clock passes at least while a machine goes to
// sleep and wakes up: programs are stopped before its devices, and go on after them,
// which takes it many times as long.
const doze = 100 * time.Microsecond

// alive reports whether all that has changed was told, as far as silence allows.
// The monotonic clock cannot be set, but stands still while the machine sleeps. The
// wall clock goes on, and is as slow to read: so not each hit does.
func (o *origin) alive(now int64) bool {
	last := o.mono.Load()
	return last != 0 && now-last < int64(o.silence) && (now-o.awake.Load() < int64(doze) || o.looks(now))
}

// looks looks at the wall clock.
func (o *origin) looks(now int64) (alive bool) {
	if alive = !o.slept(); alive {
		raise(&o.awake, now)
	}
	return alive
}

// slept reports whether it was silent for too long by the wall clock.
func (o *origin) slept() bool { return time.Now().UnixNano()-o.wall.Load() >= int64(o.silence) }

// arming is one exchange that all share who need it.
type arming struct {
	done chan struct{}
	gen  uint64
	ok   bool
}

// ready returns the generation that an entry which is read now is of. Without ok its
// end would not be told.
func (o *origin) ready(ctx context.Context, e *locking.Engine) (gen uint64, ok bool) {
	o.use()
	now := o.now()
	if gen = o.gen.Load(); o.armed.Load() == gen+1 && o.alive(now) && now < o.ends.Load() {
		return gen, true
	}
	f := o.join(e)
	select {
	case <-f.done:
		return f.gen, f.ok
	case <-ctx.Done():
		return 0, false
	}
}

// join returns the exchange under way, or a new one. A singleflight.Group does not do: a new generation begins an
// exchange of its own, and the engine waits for those under way.
func (o *origin) join(e *locking.Engine) *arming {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.lapse()
	if f := o.flight; f != nil && f.gen == o.gen.Load() {
		return f
	}
	f := &arming{done: make(chan struct{}), gen: o.gen.Load()}
	o.flight = f
	if !e.Spawn(func() { o.fly(f) }) { // ends with the answer, or its bound
		close(f.done)
	}
	return f
}

func (o *origin) fly(f *arming) {
	defer close(f.done)
	began := o.now()
	left, err := o.arm(context.Background())
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.flight == f {
		o.flight = nil
	}
	if o.err = err; err != nil || left == noHash {
		return
	}
	ends := never
	if left >= 0 {
		ends = began + int64(left)
	}
	if o.gen.Load() == f.gen && o.muted.Load() <= o.now() {
		o.ends.Store(ends)
		o.armed.Store(f.gen + 1)
		f.ok = true
	}
}

// noHash is how long a hash stays that is not there.
const noHash time.Duration = -2

// mute has nothing be kept until then; 0 ends it.
func (o *origin) mute(until int64) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.muted.Store(until)
	o.armed.Store(0)
}
