package rmap

import (
	"context"
	"os"
	"strconv"
	"testing"
	"time"

	"github.com/redis/rueidis"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rueidisson/rueidisson/codec"
	"github.com/rueidisson/rueidisson/internal/core"
	"github.com/rueidisson/rueidisson/internal/keys"
	"github.com/rueidisson/rueidisson/internal/locking"
	"github.com/rueidisson/rueidisson/internal/owner"
	"github.com/rueidisson/rueidisson/internal/redistest"
	"github.com/rueidisson/rueidisson/rmap/internal/mapcache"
	"github.com/rueidisson/rueidisson/rmap/internal/maptest"
)

// sweepAsChild sweeps a cache that it listens to, until it is ended.
func sweepAsChild(p *redistest.Parent) {
	c, err := rueidis.NewClient(rueidis.ClientOption{InitAddress: []string{os.Getenv("SERVER")}, DisableCache: true})
	if err != nil {
		panic(err)
	}
	e, err := locking.New(context.Background(), c, core.Config{
		ClientID: owner.NewClient(), WatchdogTimeout: 30 * time.Second, Linger: time.Second, Caches: maptest.Spoken{Parent: p},
	})
	if err != nil {
		panic(err)
	}
	NewCache[string, int](e, os.Getenv("NAME")).Events(context.Background(), Expired)
	p.Say("sweeps")
	for {
		if _, more := p.Hear(); !more {
			return
		}
	}
}

// fillOver has entries there that have expired, which no client of this process has written.
func fillOver(t *testing.T, raw rueidis.Client, name string, n int) {
	t.Helper()
	packed := string(mapcache.Pack(nil, "1", 0))
	for i := 0; i < n; i += 1000 {
		hset, zadd := raw.B().Hset().Key(name).FieldValue(), raw.B().Zadd().Key(keys.MapTimes(name)).ScoreMember()
		for j := i; j < i+1000; j++ {
			hset, zadd = hset.FieldValue(strconv.Itoa(j), packed), zadd.ScoreMember(1, strconv.Itoa(j))
		}
		for _, got := range raw.DoMulti(t.Context(), hset.Build(), zadd.Build()) {
			require.NoError(t, got.Error())
		}
	}
}

// TestASweeperThatIsKilledIsFollowedByAnother, which drops what has expired and nothing else.
func TestASweeperThatIsKilledIsFollowedByAnother(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	raw, name := server.Client(t), redistest.Name(t)
	living := map[string]int{}
	for i := range 300 {
		living["living"+strconv.Itoa(i)] = i
	}
	m := NewCache[string, int](maptest.EngineOn(t, raw), name, WithCodec(codec.Text))
	require.NoError(t, m.PutMany(t.Context(), living, WithTTL(time.Hour), WithMaxIdle(time.Hour)))
	var processes []*redistest.Child
	for range 3 {
		p := redistest.StartChild(t, "sweeper", "SERVER="+server.Addr(), "NAME="+name)
		p.Await("sweeps")
		processes = append(processes, p)
	}
	fillOver(t, raw, name, redistest.Count(t, 30_000, 300_000))
	swept := make(chan int, len(processes))
	for i, p := range processes { // whoever has the latch
		go func() {
			if _, ok := p.AwaitFor("swept", maptest.Soon); ok {
				swept <- i
			}
		}()
	}
	first := <-swept
	processes[first].Kill()
	there, err := m.Len(t.Context())
	require.NoError(t, err)
	require.Greater(t, there, int64(len(living)), "it was killed before its work was done")
	require.Eventually(t, func() bool { n, err := m.Len(context.Background()); return err == nil && n == int64(len(living)) }, 2*maptest.Soon, 10*time.Millisecond)
	assert.NotEqual(t, first, <-swept, "another one")
	got := map[string]int{}
	for e, err := range m.All(t.Context()) {
		require.NoError(t, err)
		got[e.Key] = e.Value
	}
	assert.Equal(t, living, got)
}
