package set

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/redis/rueidis"
	"github.com/stretchr/testify/require"

	"github.com/rueidisson/rueidisson/internal/core"
	"github.com/rueidisson/rueidisson/internal/enginetest"
	"github.com/rueidisson/rueidisson/internal/keys"
	"github.com/rueidisson/rueidisson/internal/redistest"
	"github.com/rueidisson/rueidisson/internal/sweep"
)

// rig is a cache with a clock that is moved by hand, and whose sweeps are made one at a time.
type rig struct {
	t     *testing.T
	raw   rueidis.Client
	c     *Cache[string]
	clock *enginetest.Clock
}

func rigOn(t *testing.T, raw rueidis.Client) *rig {
	t.Helper()
	clock := enginetest.NewClock()
	name := fresh(t, raw)
	t.Cleanup(func() { raw.Do(context.Background(), raw.B().Del().Key(keys.SweepLatch(name)).Build()) })
	return &rig{t, raw, NewCache[string](enginetest.On(t, raw, clock.To), name), clock}
}

func (r *rig) visit() sweep.Visit {
	r.t.Helper()
	return swept{hubOf(r.c.b.Engine), r.c.b.Key}.Visit()
}

// card returns how many members there are, expired ones too.
func (r *rig) card() int64 {
	r.t.Helper()
	msg := redistest.Do(r.t, r.raw, "ZCARD", r.c.b.Key)
	n, err := msg.AsInt64()
	require.NoError(r.t, err)
	return n
}

// write adds members that end at a time, and that nobody sweeps automatically.
func (r *rig) write(at time.Duration, vs ...string) {
	r.t.Helper()
	for i := 0; i < len(vs); i += 1000 {
		var args []string
		for _, v := range vs[i:min(i+1000, len(vs))] {
			args = append(args, decimal(r.clock.Now().Add(at).UnixMilli()), v)
		}
		redistest.Do(r.t, r.raw, append([]string{"ZADD", r.c.b.Key}, args...)...)
	}
}

// TestASweepDropsWhatHasExpiredAndNothingElse.
func TestASweepDropsWhatHasExpiredAndNothingElse(t *testing.T) {
	t.Parallel()
	redistest.OnServers(t, func(t *testing.T, raw rueidis.Client) {
		r := rigOn(t, raw)
		r.write(0, numbered(0, 1500)...)
		r.write(time.Second, "later")
		redistest.Do(t, raw, "ZADD", r.c.b.Key, permanent, "ever", "92233720368547759", "java", "inf", "infinite", "9.2e16", "many")
		got := r.visit()
		require.NoError(t, got.Err)
		require.EqualValues(t, 1000, got.Expired)
		require.True(t, got.More)
		got = r.visit()
		require.NoError(t, got.Err)
		require.EqualValues(t, 500, got.Expired)
		require.False(t, got.More)
		require.Equal(t, r.clock.Now().Add(time.Second).UnixMilli(), got.Next)
		require.EqualValues(t, 5, r.card())
		r.clock.Pass(time.Second)
		got = r.visit()
		require.EqualValues(t, 1, got.Expired)
		require.EqualValues(t, sweep.Never, got.Next)
		got = r.visit()
		require.NoError(t, got.Err)
		require.Zero(t, got.Expired)
		n, err := r.c.Len(t.Context())
		require.NoError(t, err)
		require.EqualValues(t, 4, n)
		for _, v := range []string{"ever", "java", "infinite", "many"} {
			left, err := r.c.Remaining(t.Context(), v)
			require.NoError(t, err)
			require.EqualValues(t, -1, left, v)
		}
		did, err := r.c.AddIfShorter(t.Context(), "infinite")
		require.NoError(t, err)
		require.True(t, did)
	})
}

// TestOneOfTheFleetSweepsAtATime: who has the latch.
func TestOneOfTheFleetSweepsAtATime(t *testing.T) {
	t.Parallel()
	redistest.OnServers(t, func(t *testing.T, raw rueidis.Client) {
		r := rigOn(t, raw)
		latch := keys.SweepLatch(r.c.b.Key)
		redistest.Do(t, raw, "SET", latch, "1", "PX", "5000") // Redisson's
		got := r.visit()
		require.False(t, got.Busy, "nothing is due")
		r.write(0, "a")
		got = r.visit()
		require.True(t, got.Busy)
		require.True(t, got.Wait > 0 && got.Wait <= 5*time.Second+sweep.Lateness, got.Wait)
		require.EqualValues(t, 1, r.card())
		redistest.Do(t, raw, "DEL", latch)
		got = r.visit()
		require.EqualValues(t, 1, got.Expired)
		r.write(0, "a")
		got = r.visit()
		require.EqualValues(t, 1, got.Expired, "who sweeps goes on")
		other := swept{hubOf(enginetest.On(t, raw, r.clock.To)), r.c.b.Key}
		r.write(0, "a")
		require.True(t, other.Visit().Busy)
		redistest.Do(t, raw, "SET", latch, "left without an end")
		require.True(t, r.visit().Busy)
		left := redistest.Left(t, raw, latch)
		require.Positive(t, left, "it has one now")
	})
}

// TestExpiredMembersAreTold, each of them once, in Redisson's bytes; many are told in several sweeps, and so are large ones.
func TestExpiredMembersAreTold(t *testing.T) {
	t.Parallel()
	redistest.OnServers(t, func(t *testing.T, raw rueidis.Client) {
		r := rigOn(t, raw)
		for what, vs := range map[string][]string{"many": numbered(0, 500), "large": {strings.Repeat("a", 200_000), strings.Repeat("b", 200_000), strings.Repeat("c", 200_000)}} {
			ctx, stop := context.WithCancel(t.Context())
			told := r.c.Expired(ctx)
			r.write(0, vs...)
			r.clock.Forward(time.Millisecond) // which has them swept
			want := setOf(vs)
			for v, err := range told {
				require.NoError(t, err)
				require.True(t, want[v], "%s: %.10s is told once", what, v)
				if delete(want, v); len(want) == 0 {
					break
				}
			}
			stop()
		}
		redistest.Eventually(t, func() bool { return r.card() == 0 }, redistest.Soon, time.Millisecond)
	})
}

// TestNobodyListens: then no more than the first is told.
func TestNobodyListens(t *testing.T) {
	t.Parallel()
	r := rigOn(t, redistest.Shared(t).Client(t))
	r.write(0, numbered(0, 3000)...)
	for range 3 {
		got := r.visit()
		require.EqualValues(t, 1000, got.Expired)
	}
}

// TestExpiredEnds with its context, the client, and for a handle that cannot be used.
func TestExpiredEnds(t *testing.T) {
	t.Parallel()
	r := rigOn(t, redistest.Shared(t).Client(t))
	ctx, cancel := context.WithCancelCause(t.Context())
	told, why := r.c.Expired(ctx), errors.New("why")
	cancel(why)
	for _, err := range told {
		require.ErrorIs(t, err, why)
		require.ErrorContains(t, err, r.c.Name())
	}
	for _, err := range NewCache[string](r.c.b.Engine, "").Expired(t.Context()) {
		require.ErrorIs(t, err, ErrInvalidArgument)
	}
	told = r.c.Expired(t.Context())
	for range 2 { // the second loop is over at once
		r.write(0, "a")
		r.clock.Forward(time.Millisecond)
		for v, err := range told {
			require.NoError(t, err)
			require.Equal(t, "a", v)
			break
		}
	}
}

// TestALostConnectionIsTold, and that members may have been missed.
func TestALostConnectionIsTold(t *testing.T) {
	t.Parallel()
	server := redistest.Shared(t)
	client, proxy := redistest.ThroughProxy(t, server)
	raw := server.Client(t)
	c := NewCache[string](enginetest.On(t, client), fresh(t, raw))
	told := c.Expired(t.Context())
	proxy.Refuse()
	proxy.CutAll()
	var heard []error
	for _, err := range told {
		if heard = append(heard, err); errors.Is(err, ErrDisconnected) {
			proxy.Accept()
		}
		if require.ErrorIs(t, err, core.ErrNotice); errors.Is(err, ErrMissed) {
			break
		}
	}
	require.Len(t, heard, 3)
	require.ErrorIs(t, heard[1], ErrReconnected)
	told = c.Expired(t.Context())
	redistest.Do(t, raw, "PUBLISH", keys.SetExpired(c.b.Key), "no event")
	if c.b.Engine.Publish() == "spublish" {
		redistest.Do(t, raw, "SPUBLISH", keys.SetExpired(c.b.Key), "no event")
	}
	for _, err := range told {
		require.ErrorIs(t, err, ErrDecode)
		require.ErrorIs(t, err, core.ErrNotice)
		break
	}
}

// TestAClockAheadSweepsNothing, and says so; one that is right drops what has expired.
func TestAClockAheadSweepsNothing(t *testing.T) {
	t.Parallel()
	server, clock := redistest.StartWithClock(t)
	raw := server.Client(t)
	clock.Set(-time.Hour) // the server's
	var log enginetest.Log
	ahead := NewCache[string](enginetest.On(t, raw, func(c *core.Config) {
		c.Logger = slog.New(slog.NewTextHandler(&log, nil))
	}), "sessions")
	require.NoError(t, last(ahead.Add(t.Context(), "k", WithTTL(time.Millisecond))))
	redistest.Eventually(t, func() bool { return log.Has("not swept") }, redistest.Soon, time.Millisecond)
	require.Contains(t, log.String(), "ahead of the server's")
	msg := redistest.Do(t, raw, "ZCARD", "sessions")
	n, err := msg.AsInt64()
	require.NoError(t, err)
	require.EqualValues(t, 1, n)
	clock.Set(0)
	right := NewCache[string](enginetest.On(t, raw), "sessions")
	require.NoError(t, last(right.Add(t.Context(), "other", WithTTL(time.Millisecond))))
	redistest.Eventually(t, func() bool { there, err := right.Exists(t.Context()); return err == nil && !there }, redistest.Soon, time.Millisecond)
}

// TestAClockBehindSweeps what has expired by it: a process that was paused looks like one whose clock is behind.
func TestAClockBehindSweeps(t *testing.T) {
	t.Parallel()
	server, clock := redistest.StartWithClock(t)
	clock.Set(time.Hour) // the server's
	var log enginetest.Log
	behind := NewCache[string](enginetest.On(t, server.Client(t), func(c *core.Config) {
		c.Logger = slog.New(slog.NewTextHandler(&log, nil))
	}), "sessions")
	require.NoError(t, last(behind.Add(t.Context(), "k", WithTTL(time.Millisecond))))
	redistest.Eventually(t, func() bool { there, err := behind.Exists(t.Context()); return err == nil && !there }, redistest.Soon, time.Millisecond)
	require.Empty(t, log.String())
}

// TestAFullServerIsSwept, because that frees memory.
func TestAFullServerIsSwept(t *testing.T) {
	t.Parallel()
	redistest.OnStarted(t, func(t *testing.T, server *redistest.Server) {
		r := rigOn(t, server.Client(t))
		r.write(0, "a", "b")
		redistest.Do(t, r.raw, "CONFIG", "SET", "maxmemory", "1")
		defer redistest.Do(t, r.raw, "CONFIG", "SET", "maxmemory", "0")
		got := r.visit()
		require.NoError(t, got.Err)
		require.EqualValues(t, 2, got.Expired)
	})
}

// TestTheClientSweeps what it has added: also what is renamed or copied.
func TestTheClientSweeps(t *testing.T) {
	t.Parallel()
	redistest.OnServers(t, func(t *testing.T, raw rueidis.Client) {
		e, ctx := enginetest.On(t, raw), t.Context()
		gone := func(name string) {
			t.Helper()
			redistest.Eventually(t, func() bool { there, err := NewCache[string](e, name).Exists(ctx); return err == nil && !there }, redistest.Soon, time.Millisecond)
		}
		for what, add := range map[string]func(c *Cache[string]) error{
			"add": func(c *Cache[string]) error { return last(c.Add(ctx, "a", WithTTL(time.Millisecond))) },
			"handle": func(c *Cache[string]) error {
				return last(NewCache[string](e, c.Name(), WithTTL(time.Millisecond)).Add(ctx, "a"))
			},
			"many": func(c *Cache[string]) error {
				return last(c.AddMany(ctx, []string{"a", "b"}, WithTTL(time.Millisecond)))
			},
			"absent": func(c *Cache[string]) error { return last(c.AddIfAbsent(ctx, "a", WithTTL(time.Millisecond))) },
			"all": func(c *Cache[string]) error {
				return last(c.AddAllIfAbsent(ctx, []string{"a"}, WithTTL(time.Millisecond)))
			},
			"shorter": func(c *Cache[string]) error {
				return errors.Join(last(c.Add(ctx, "a")), last(c.AddIfShorter(ctx, "a", WithTTL(time.Millisecond))))
			},
		} {
			k := kitOn(e, fresh(t, raw))
			require.NoError(t, add(k.c), what)
			gone(k.name)
		}
		k := kitOn(e, fresh(t, raw))
		redistest.Do(t, raw, "ZADD", k.name, "1", "a")
		did, err := k.c.Copy(ctx, k.to)
		require.NoError(t, err)
		require.True(t, did)
		gone(k.to)
		did, err = k.c.Rename(ctx, k.to)
		require.NoError(t, err)
		require.True(t, did)
		gone(k.to)
	})
}

// TestRandomIsOfWhatLives, however much has expired, and each as likely as any other.
func TestRandomIsOfWhatLives(t *testing.T) {
	t.Parallel()
	redistest.OnServers(t, func(t *testing.T, raw rueidis.Client) {
		r := rigOn(t, raw)
		r.write(0, numbered(100, 2000)...)
		r.write(time.Hour, numbered(0, 10)...)
		seen := map[string]int{}
		for range 300 {
			vs, err := r.c.Random(t.Context(), 3)
			require.NoError(t, err)
			require.Len(t, setOf(vs), 3)
			for _, v := range vs {
				seen[v]++
			}
		}
		require.Len(t, seen, 10)
		for v, n := range seen { // 90 each: it is below 45 or above 180 once in 10^7 runs
			require.True(t, n > 45 && n < 180, "%s: %d", v, n)
		}
		vs, err := r.c.Random(t.Context(), 100)
		require.NoError(t, err)
		require.Len(t, setOf(vs), 10)
		n, err := r.c.Retain(t.Context(), "v1", "v150")
		require.NoError(t, err)
		require.EqualValues(t, 9, n)
		require.EqualValues(t, 1901, r.card(), "what has expired is left to the sweeper")
	})
}

// TestManyExpiredAreSweptInShortCalls: they are swept in calls of a millisecond.
func TestManyExpiredAreSweptInShortCalls(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	m := redistest.Meter(t, server)
	r := rigOn(t, m)
	n := redistest.Count(t, 50_000, 1_000_000)
	for i := 0; i < n; i += 10_000 {
		r.write(0, numbered(i, i+10_000)...)
	}
	m.Most()
	for more := true; more; {
		got := r.visit()
		require.NoError(t, got.Err)
		more = got.More
	}
	require.Zero(t, r.card())
	most, what := m.Most()
	t.Log(fmt.Sprint(most, " ", what))
	require.Less(t, most, redistest.Scaled(5*time.Millisecond), what)
}

// TestHasLooksAtTheClock of its client.
func TestHasLooksAtTheClock(t *testing.T) {
	t.Parallel()
	r := rigOn(t, redistest.Shared(t).Client(t))
	ctx := t.Context()
	require.NoError(t, last(r.c.Add(ctx, "a", WithTTL(90*time.Second))))
	r.clock.Pass(30 * time.Second)
	left, err := r.c.Remaining(ctx, "a")
	require.NoError(t, err)
	require.Equal(t, time.Minute, left)
	r.clock.Pass(time.Minute)
	for what, v := range map[string]any{
		"has":       func() any { has, _ := r.c.Has(ctx, "a"); return has }(),
		"remaining": func() any { left, _ := r.c.Remaining(ctx, "a"); return left != 0 }(),
	} {
		require.Equal(t, false, v, what)
	}
}
