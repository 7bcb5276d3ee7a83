package writethrough

import (
	"context"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rueidisson/rueidisson/internal/core"
	"github.com/rueidisson/rueidisson/internal/redistest"
	"github.com/rueidisson/rueidisson/rmap"
	"github.com/rueidisson/rueidisson/rmap/internal/mapkinds"
	"github.com/rueidisson/rueidisson/rmap/internal/maptest"
	"github.com/rueidisson/rueidisson/rmap/readthrough"
)

// onFailovers runs a test with a master whose replica is promoted by fails: it knows
// all that the master did, or nothing that was done since forgets was called.
func onFailovers(t *testing.T, test func(t *testing.T, s *redistest.Sentinel, kept bool, forgets, fails func())) {
	t.Helper()
	for what, kept := range map[string]bool{"kept": true, "forgotten": false} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			s := redistest.StartSentinel(t)
			old, replica := s.Master(), s.Replica()
			forgets := func() {
				old.AwaitReplica(t)
				if !kept {
					replica.Pause() // it still reads later what was sent before the connection ends
					redistest.Do(t, old.Client(t), "CLIENT", "KILL", "TYPE", "replica")
				}
			}
			test(t, s, kept, forgets, func() {
				if kept {
					old.AwaitReplica(t)
				}
				old.Kill()
				if !kept {
					replica.Resume()
				}
				s.AwaitMaster(t, old.Addr())
			})
		})
	}
}

// TestAFailoverUnderALoad: what was loaded is written if the new master knows of the
// load, and if not, nothing newer is overwritten.
func TestAFailoverUnderALoad(t *testing.T) {
	t.Parallel()
	onFailovers(t, func(t *testing.T, s *redistest.Sentinel, kept bool, forgets, fails func()) {
		raw := s.Client(t)
		sources, maps := map[string]*maptest.Source{}, map[string]rmap.Mapping[string, int]{}
		got := make(chan int, len(mapkinds.LoadKinds))
		for kind, of := range mapkinds.LoadKinds {
			sources[kind], maps[kind] = maptest.NewSource(), of(maptest.EngineOn(t, raw), kind)
			require.NoError(t, maps[kind].Put(t.Context(), "other", 1))
		}
		forgets()
		for kind, m := range maps {
			l := readthrough.New(m, sources[kind].Load, readthrough.WithLoadTimeout(time.Minute))
			go func() {
				v, _, err := l.Get(t.Context(), "k")
				assert.NoError(t, err, kind)
				got <- v
			}()
			<-sources[kind].Began
		}
		fails()
		want := 7
		if !kept {
			want = 8
			for _, m := range maps {
				redistest.Eventually(t, func() bool { return m.Put(t.Context(), "k", want) == nil }, maptest.Soon, 10*time.Millisecond)
			}
		}
		for _, one := range sources {
			close(one.Open)
		}
		for range maps {
			require.Equal(t, want, redistest.Done(t, got))
		}
		for kind, m := range maps {
			require.Equal(t, map[string]int{"k": want, "other": 1}, mapkinds.Contents(t, m), kind)
			require.EqualValues(t, 1, sources[kind].Calls.Load(), kind)
		}
	})
}

// TestAFailoverUnderADrain: what the new master knows of, or is told, reaches the
// store, and that of a key in order.
func TestAFailoverUnderADrain(t *testing.T) {
	t.Parallel()
	onFailovers(t, func(t *testing.T, s *redistest.Sentinel, kept bool, forgets, fails func()) {
		for _, kind := range []string{"map", "cache"} {
			// One that has gone over is a server like any other: the second kind only goes on.
			store, began, open := newBehindMap(), make(chan struct{}, 1000), make(chan struct{})
			m := mapkinds.LoadKinds[kind](maptest.EngineOn(t, s.Client(t), func(c *core.Config) { c.WatchdogTimeout = 3 * time.Second }), kind)
			store.fences = true // the first writer outlives its turn, and comes when the next one does
			w := New(m, func(ctx context.Context, changes []Change[string, int]) error {
				began <- struct{}{}
				<-open
				return store.write(ctx, changes)
			}, WithBehind(5), WithWriteDelay(time.Millisecond))
			if kind == "map" {
				forgets()
			}
			for i := range 20 {
				redistest.Eventually(t, func() bool { return w.Put(t.Context(), strconv.Itoa(i), i) == nil }, maptest.Soon, 10*time.Millisecond)
			}
			<-began
			if kind == "map" {
				fails()
			}
			for i := range 20 {
				redistest.Eventually(t, func() bool { return w.Put(t.Context(), strconv.Itoa(i), 100+i) == nil }, maptest.Soon, 10*time.Millisecond)
			}
			close(open)
			require.NoError(t, w.Close(t.Context()))
			require.Equal(t, mapkinds.Contents(t, m), store.now(), kind)
			require.Len(t, store.now(), 20)
			maptest.NothingIsLeft(t, s.Client(t), kind)
		}
	})
}
