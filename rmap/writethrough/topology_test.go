package writethrough

import (
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

// TestLoadsAndWritesOnACluster whose slot moves meanwhile.
func TestLoadsAndWritesOnACluster(t *testing.T) {
	t.Parallel()
	cluster := redistest.StartCluster(t)
	raw := cluster.Client(t)
	for kind, of := range mapkinds.LoadKinds {
		t.Run(kind, func(t *testing.T) {
			s := maptest.NewSource()
			name := redistest.Name(t)
			var all sync.WaitGroup
			for range 3 {
				l := readthrough.New(of(maptest.EngineOn(t, raw), name), s.Load)
				for range 10 {
					all.Go(func() {
						v, _, err := l.Get(t.Context(), "k")
						assert.NoError(t, err)
						assert.Equal(t, 7, v)
					})
				}
			}
			<-s.Began
			close(s.Open)
			all.Wait()
			require.EqualValues(t, 1, s.Calls.Load())
		})
	}
	for _, kind := range []string{"map", "cache", "locked"} {
		t.Run("a slot moves, "+kind, func(t *testing.T) {
			name, s := redistest.Name(t), newBehindMap()
			w := New(mapkinds.LoadKinds[kind](maptest.EngineOn(t, raw), name), s.write, WithBehind(10), WithWriteDelay(time.Millisecond))
			l := readthrough.New(w, maptest.Quick)
			put := func(from int) {
				for i := range 20 {
					require.NoError(t, w.Put(t.Context(), strconv.Itoa(from+i), i))
				}
			}
			put(0)
			migration := cluster.StartMigration(t, name)
			got := make(chan error, 1)
			go func() {
				_, _, err := l.Get(t.Context(), "1000")
				got <- err
			}()
			migration.Move(t, name)
			migration.Finish(t)
			require.NoError(t, <-got)
			put(100)
			require.NoError(t, w.Close(t.Context()))
			all := mapkinds.Contents(t, w.m)
			delete(all, "1000") // which was loaded
			require.Equal(t, all, s.now())
		})
	}
}
