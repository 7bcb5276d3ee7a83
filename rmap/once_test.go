package rmap

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"runtime/debug"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/rueidis"
	"github.com/stretchr/testify/require"

	"github.com/rueidisson/rueidisson/codec"
	"github.com/rueidisson/rueidisson/internal/keys"
	"github.com/rueidisson/rueidisson/internal/locking"
	"github.com/rueidisson/rueidisson/internal/redistest"
)

// usedOnce makes an object of a name, uses it, and drops it.
type usedOnce func(ctx context.Context, e *locking.Engine, raw rueidis.Client, name string) error

var usesOnce = map[string]usedOnce{
	"map": func(ctx context.Context, e *locking.Engine, _ rueidis.Client, name string) error {
		m := New[string, int](e, name, WithCodec(codec.Text), WithEntryLock())
		ids := New[string, int](e, name, WithCodec(codec.Text), WithRequestIDs())
		_, _, err := m.Compute(ctx, "5", increment)
		return errors.Join(err, holds(ctx, ids, 1), deletes(ctx, ids))
	},
	"cache": func(ctx context.Context, e *locking.Engine, _ rueidis.Client, name string) error {
		m := NewCache[string, int](e, name, WithTTL(time.Second))
		return errors.Join(m.Put(ctx, "5", 5), holds(ctx, m, 5))
	},
	"sharded": func(ctx context.Context, e *locking.Engine, _ rueidis.Client, name string) error {
		m := NewSharded[string, int](e, name, 3)
		return errors.Join(m.Put(ctx, "5", 5), holds(ctx, m, 5), deletes(ctx, m))
	},
	"multimap": func(ctx context.Context, e *locking.Engine, _ rueidis.Client, name string) error {
		m := kinds["list"](e, name, WithRequestIDs())
		_, err := m.put(ctx, "k", "v")
		_, ends := m.expire(ctx, "expire", "k", time.Second)
		return errors.Join(err, ends)
	},
	"near, tracked":   nearOnce(nil),
	"near, announced": nearOnce([]MapOption{WithAnnounce()}, WithAnnounced()),
	"loading": func(ctx context.Context, e *locking.Engine, _ rueidis.Client, name string) error {
		m := New[string, int](e, name)
		l := NewLoading(m, quick, WithAbsentFor(time.Hour))
		_, _, err := l.Get(ctx, "none")
		return errors.Join(err, holds(ctx, l, 5), deletes(ctx, m))
	},
	"writing through": writingOnce(),
	"writing behind":  writingOnce(WithBehind(1), WithWriteDelay(time.Millisecond)),
}

func nearOnce(opts []MapOption, with ...NearOption) usedOnce {
	return func(ctx context.Context, e *locking.Engine, _ rueidis.Client, name string) error {
		m := New[string, int](e, name, opts...)
		n := NewNear(m, with...)
		return errors.Join(n.Put(ctx, "5", 5), holds(ctx, n, 5), holds(ctx, n, 5), deletes(ctx, m))
	}
}

func writingOnce(opts ...WritingOption) usedOnce {
	return func(ctx context.Context, e *locking.Engine, raw rueidis.Client, name string) error {
		m := New[string, int](e, name)
		w := NewWriting(m, func(context.Context, []Change[string, int]) error { return nil }, opts...)
		return errors.Join(w.Put(ctx, "5", 5), holds(ctx, w, 5), w.Close(ctx), deletes(ctx, m),
			raw.Do(ctx, raw.B().Del().Key(keys.FenceToken(keys.MapDrain(name))).Build()).Error())
	}
}

func holds(ctx context.Context, m Mapping[string, int], want int) error {
	v, _, err := m.Get(ctx, "5")
	if err == nil && v != want {
		return fmt.Errorf("read %d", v)
	}
	return err
}

func deletes(ctx context.Context, m interface {
	Delete(ctx context.Context) (bool, error)
}) error {
	_, err := m.Delete(ctx)
	return err
}

// TestWhatIsUsedOnceLeavesNothing: neither heap nor goroutines, nothing that the
// client is subscribed to or has watched, no connection, and no key. Nobody closes
// a near cache. It is not parallel: it looks at the heap.
func TestWhatIsUsedOnceLeavesNothing(t *testing.T) {
	defer debug.SetMemoryLimit(debug.SetMemoryLimit(1 << 30)) // what is dropped would else be collected late
	for kind, once := range usesOnce {
		t.Run(kind, func(t *testing.T) {
			server, at := redistest.Start(t, redistest.Version("8.0")), newHandClock()
			raw := server.Client(t)
			r := onceRig{t, engineOn(t, raw, at.on), raw, at, server}
			use := func(i int) error { return once(t.Context(), r.e, raw, strconv.Itoa(i)) }
			names := redistest.Count(t, 1000, 1_000_000)
			warm := max(1000, names/10) // tables have the size of as many as there are at a time
			r.uses(0, warm, use)
			r.settles("the first", func() bool { return true })
			heap, goroutines, connections := redistest.HeapInUse(), runtime.NumGoroutine(), server.Connections(t)
			began := time.Now()
			r.uses(warm, warm+names, use)
			t.Logf("%d in %v", names, time.Since(began))
			r.settles("all", func() bool {
				return redistest.HeapInUse() < heap+uint64(1<<20+4*names) &&
					runtime.NumGoroutine() < goroutines+20 && server.Connections(t) <= connections
			})
		})
	}
}

type onceRig struct {
	*testing.T
	e      *locking.Engine
	raw    rueidis.Client
	clock  *handClock
	server *redistest.Server
}

// portion is how many names there are at most whose entries have not ended.
const portion = 100_000

func (r onceRig) uses(from, to int, use func(i int) error) {
	for ; from < to; from += portion {
		var next atomic.Int64
		next.Store(int64(from))
		var all sync.WaitGroup
		for range 64 {
			all.Go(func() {
				for i := int(next.Add(1)) - 1; i < min(to, from+portion) && !r.Failed(); i = int(next.Add(1)) - 1 {
					if err := use(i); err != nil {
						r.Error(err)
					}
				}
			})
		}
		all.Wait()
		r.clock.forward(time.Second)
		redistest.Eventually(r, func() bool { return hubOf(r.e).sweeper.Len() == 0 }, 4*soon, 10*time.Millisecond, "names that are to be swept")
	}
}

// gone is what remembers owners of locks of the maps that were given up.
func (r onceRig) gone() []string {
	all, err := r.raw.Do(r.Context(), r.raw.B().Keys().Pattern(keys.Tombstones("{*}:*")).Build()).AsStrSlice()
	require.NoError(r, err)
	return all
}

// settles waits until nothing is left but what else says.
func (r onceRig) settles(what string, fine func() bool) {
	r.Helper()
	count := func(cmd ...string) int {
		all, err := r.raw.Do(r.Context(), r.raw.B().Arbitrary(cmd...).Build()).ToAny()
		if n, is := all.(int64); is && err == nil {
			return int(n)
		}
		list, _ := all.([]any)
		return len(list)
	}
	var left string
	if !redistest.InTime(func() bool {
		runtime.GC()
		watches, channels, there := r.e.Tracked(), count("PUBSUB", "CHANNELS"), count("DBSIZE")
		if there > 0 && there < 1000 { // a lock whose holder was given up by then is remembered for a while
			for _, key := range r.gone() {
				if count("PTTL", key) > 0 {
					there--
				}
			}
		}
		left = fmt.Sprintf("%d watches, %d channels, %d keys, %d goroutines", watches, channels, there, runtime.NumGoroutine())
		return watches == 0 && channels == 0 && there == 0 && fine()
	}, 2*soon, 50*time.Millisecond) {
		r.Fatalf("after %s there are left: %s; the heap has %d", what, left, redistest.HeapInUse())
	}
}
