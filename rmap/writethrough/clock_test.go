package writethrough

import (
	"context"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rueidisson/rueidisson/internal/redistest"
	"github.com/rueidisson/rueidisson/rmap/internal/mapkinds"
	"github.com/rueidisson/rueidisson/rmap/internal/maptest"
	"github.com/rueidisson/rueidisson/rmap/readthrough"
)

// TestTheClockOfTheServerIsSet under loads and drains: ahead, which ends leases and
// the hold of who drains, and back, which has queued changes share one millisecond.
func TestTheClockOfTheServerIsSet(t *testing.T) {
	t.Parallel()
	for what, by := range map[string]time.Duration{"ahead": time.Hour, "back": -time.Hour} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			server, clock := redistest.StartWithClock(t)
			raw := server.Client(t)
			stores, ws := map[string]*behindMap{}, map[string]*Map[string, int]{}
			began, open := make(chan struct{}, 1000), make(chan struct{})
			for _, kind := range []string{"map", "cache"} {
				s := newBehindMap()
				m := mapkinds.LoadKinds[kind](maptest.EngineOn(t, raw), "written "+kind)
				stores[kind], ws[kind] = s, New(m, func(ctx context.Context, changes []Change[string, int]) error {
					began <- struct{}{}
					<-open
					return s.write(ctx, changes)
				}, WithBehind(10), WithWriteDelay(time.Millisecond))
			}
			puts := func(from int) {
				for i := range 30 {
					for _, w := range ws {
						require.NoError(t, w.Put(t.Context(), strconv.Itoa(i), from+i))
					}
				}
			}
			puts(0)
			<-began
			s := maptest.NewSource()
			var all sync.WaitGroup
			for kind, of := range mapkinds.LoadKinds {
				l := readthrough.New(of(maptest.EngineOn(t, raw), "loaded "+kind), s.Load)
				all.Go(func() {
					for _, k := range []string{"k", "behind it"} {
						v, _, err := l.Get(t.Context(), k)
						assert.NoError(t, err, kind)
						assert.Equal(t, 7, v, kind)
					}
				})
				<-s.Began
			}
			clock.Set(by)
			puts(100)
			close(open)
			close(s.Open)
			all.Wait()
			puts(200)
			for kind, w := range ws {
				require.NoError(t, w.Close(t.Context()))
				require.Equal(t, mapkinds.Contents(t, w.m), stores[kind].now(), kind)
			}
		})
	}
}
