package timeseries

import (
	"log/slog"
	"testing"
	"time"

	"github.com/redis/rueidis"
	"github.com/stretchr/testify/require"

	"github.com/rueidisson/rueidisson/codec"
	"github.com/rueidisson/rueidisson/internal/core"
	"github.com/rueidisson/rueidisson/internal/enginetest"
	"github.com/rueidisson/rueidisson/internal/keys"
	"github.com/rueidisson/rueidisson/internal/redistest"
	"github.com/rueidisson/rueidisson/internal/sweep"
)

// rig is a series with a clock that is moved by hand, and whose sweeps are made one at a time.
type rig struct {
	t     *testing.T
	raw   rueidis.Client
	s     *Series[string]
	clock *enginetest.Clock
}

func rigOn(t *testing.T, raw rueidis.Client) *rig {
	t.Helper()
	clock := enginetest.NewClock()
	return &rig{t, raw, New[string](enginetest.On(t, raw, clock.To), fresh(t, raw), WithCodec(codec.Text)), clock}
}

func (r *rig) visit() sweep.Visit {
	r.t.Helper()
	return swept{hubOf(r.s.b.Engine), r.s.b.Key}.Visit()
}

// card returns how many entries there are, expired ones too, of which each has an end.
func (r *rig) card() int64 {
	r.t.Helper()
	var all [2]int64
	for i, key := range keys.Series(r.s.b.Key)[:2] {
		msg := redistest.Do(r.t, r.raw, "ZCARD", key)
		n, err := msg.AsInt64()
		require.NoError(r.t, err)
		all[i] = n
	}
	require.Equal(r.t, all[0], all[1])
	return all[0]
}

// write adds entries that end at a time, and that nobody sweeps automatically.
func (r *rig) write(at time.Duration, all ...Entry[string]) {
	r.t.Helper()
	for i := 0; i < len(all); i += 1000 {
		entries, ends := []string{"ZADD", r.s.b.Key}, []string{"ZADD", keys.SeriesEnds(r.s.b.Key)}
		for _, e := range all[i:min(i+1000, len(all))] {
			is, err := r.s.store(e)
			require.NoError(r.t, err)
			entries, ends = append(entries, is.score, is.text), append(ends, decimal(r.clock.Now().Add(at).UnixMilli()), is.text)
		}
		redistest.Do(r.t, r.raw, entries...)
		redistest.Do(r.t, r.raw, ends...)
	}
}

// clear deletes the series.
func (r *rig) clear() {
	r.t.Helper()
	require.NoError(r.t, last(r.s.Delete(r.t.Context())))
}

// TestASweepDropsWhatHasExpiredAndNothingElse.
func TestASweepDropsWhatHasExpiredAndNothingElse(t *testing.T) {
	t.Parallel()
	redistest.OnServers(t, func(t *testing.T, raw rueidis.Client) {
		r := rigOn(t, raw)
		r.write(0, numbered(0, mostSwept+100, 0)...)
		r.write(time.Second, numbered(0, 1, 0)...)
		require.NoError(t, r.s.Add(t.Context(), at(1), "ever"))
		put(t, raw, r.s.Name(), "2", packed{value: "infinite"}.text(idOf("y")), "inf")
		redistest.Do(t, raw, "HSET", keys.SeriesIDs(r.s.Name()), "id", "7")
		got := r.visit()
		require.NoError(t, got.Err)
		require.EqualValues(t, mostSwept, got.Expired)
		require.True(t, got.More)
		got = r.visit()
		require.EqualValues(t, 100, got.Expired)
		require.False(t, got.More)
		require.Equal(t, r.clock.Now().Add(time.Second).UnixMilli(), got.Next)
		require.EqualValues(t, 3, r.card())
		r.clock.Pass(time.Second)
		got = r.visit()
		require.EqualValues(t, 1, got.Expired)
		require.EqualValues(t, sweep.Never, got.Next, "nobody waits for what ends in a hundred years")
		got = r.visit()
		require.NoError(t, got.Err)
		require.Zero(t, got.Expired)
		n, err := r.s.Len(t.Context())
		require.NoError(t, err)
		require.EqualValues(t, 2, n)
		ids := func() int64 {
			msg := redistest.Do(t, raw, "EXISTS", keys.SeriesIDs(r.s.Name()))
			n, err := msg.AsInt64()
			require.NoError(t, err)
			return n
		}
		require.EqualValues(t, 1, ids())
		require.NoError(t, last(r.s.PopFirst(t.Context(), 1)))
		redistest.Do(t, raw, "ZADD", keys.SeriesEnds(r.s.Name()), "1", packed{value: "infinite"}.text(idOf("y")))
		require.EqualValues(t, 1, r.visit().Expired)
		require.Zero(t, ids(), "with the last entry")
	})
}

// TestOneOfTheFleetSweepsAtATime: who has the latch.
func TestOneOfTheFleetSweepsAtATime(t *testing.T) {
	t.Parallel()
	redistest.OnServers(t, func(t *testing.T, raw rueidis.Client) {
		r := rigOn(t, raw)
		latch := keys.SweepLatch(r.s.b.Key)
		redistest.Do(t, raw, "SET", latch, "1", "PX", "5000")
		require.False(t, r.visit().Busy, "nothing is due")
		r.write(0, numbered(0, 1, 0)...)
		got := r.visit()
		require.True(t, got.Busy)
		require.True(t, got.Wait > 0 && got.Wait <= 5*time.Second+sweep.Lateness, got.Wait)
		require.EqualValues(t, 1, r.card())
		redistest.Do(t, raw, "DEL", latch)
		require.EqualValues(t, 1, r.visit().Expired)
		r.write(0, numbered(0, 1, 0)...)
		require.EqualValues(t, 1, r.visit().Expired, "who sweeps goes on")
		other := swept{hubOf(enginetest.On(t, raw, r.clock.To)), r.s.b.Key}
		r.write(0, numbered(0, 1, 0)...)
		require.True(t, other.Visit().Busy)
	})
}

// TestASweepLeavesWhatIsNotItsOwn: a key of another type that has the name of the latch stays as it is. A latch without an end gets one.
func TestASweepLeavesWhatIsNotItsOwn(t *testing.T) {
	t.Parallel()
	redistest.OnServers(t, func(t *testing.T, raw rueidis.Client) {
		r := rigOn(t, raw)
		latch := keys.SweepLatch(r.s.b.Key)
		redistest.Do(t, raw, "RPUSH", latch, "foreign")
		r.write(0, numbered(0, 1, 0)...)
		require.ErrorContains(t, r.visit().Err, "WRONGTYPE")
		require.EqualValues(t, 1, r.card())
		require.Negative(t, redistest.Left(t, raw, latch), "it has no end")
		redistest.Do(t, raw, "SET", latch, "left without an end")
		require.True(t, r.visit().Busy)
		require.Positive(t, redistest.Left(t, raw, latch), "it has one now")
	})
}

// TestASweepThatIsRefusedChangesNothing: an entry is in both keys, or in none.
func TestASweepThatIsRefusedChangesNothing(t *testing.T) {
	t.Parallel()
	redistest.OnStarted(t, func(t *testing.T, server *redistest.Server) {
		r := rigOn(t, server.Client(t))
		r.write(0, numbered(0, 3, 0)...)
		name := r.s.b.Key
		for user, may := range map[string][]string{
			"no ranks": {"~*", "+@all", "-zremrangebyrank"}, "no members": {"~*", "+@all", "-zrem"},
			"reads the ends": {"~" + name, "~" + keys.SweepLatch(name), "%R~*", "+@all"}, "reads the entries": {"~redisson__*", "%R~*", "+@all"},
		} {
			redistest.Do(t, r.raw, append([]string{"ACL", "SETUSER", "u", "reset", "on", ">password", "&*"}, may...)...)
			client := server.Client(t, func(o *rueidis.ClientOption) { o.Username, o.Password = "u", "password" })
			err := swept{hubOf(enginetest.On(t, client, r.clock.To)), name}.Visit().Err
			require.Error(t, err, user)
			require.Regexp(t, "ermission|can't run this command|can't access", err.Error(), user)
			require.EqualValues(t, 3, r.card(), user)
		}
		require.EqualValues(t, 3, r.visit().Expired)
	})
}

// TestTheLastEntryLeavesAKeyOfAnotherType at the name of Redisson's counter.
func TestTheLastEntryLeavesAKeyOfAnotherType(t *testing.T) {
	t.Parallel()
	redistest.OnServers(t, func(t *testing.T, raw rueidis.Client) {
		r := rigOn(t, raw)
		redistest.Do(t, raw, "SET", keys.SeriesIDs(r.s.b.Key), "foreign")
		for what, last := range map[string]func() error{
			"sweep": func() error { r.write(0, numbered(0, 1, 0)...); return r.visit().Err },
			"pop":   func() error { r.write(hour, numbered(0, 1, 0)...); return last(r.s.PopFirst(t.Context(), 1)) },
			"remove": func() error {
				r.write(hour, numbered(0, 1, 0)...)
				return last(r.s.RemoveRange(t.Context(), Earliest, Latest))
			},
		} {
			require.NoError(t, last(), what)
			require.Zero(t, r.card(), what)
			msg := redistest.Do(t, raw, "GET", keys.SeriesIDs(r.s.b.Key))
			text, err := msg.ToString()
			require.NoError(t, err, what)
			require.Equal(t, "foreign", text, what)
		}
	})
}

// TestAClockAheadSweepsNothing, and says so; one that is right, or behind, drops what has expired by it.
func TestAClockAheadSweepsNothing(t *testing.T) {
	t.Parallel()
	server, clock := redistest.StartWithClock(t)
	raw := server.Client(t)
	clock.Set(-time.Hour) // the server's
	var log enginetest.Log
	ahead := kitOn(enginetest.On(t, raw, func(c *core.Config) {
		c.Logger = slog.New(slog.NewTextHandler(&log, nil))
	}), "s")
	require.NoError(t, ahead.s.Add(t.Context(), at(1), "k", WithTTL(time.Millisecond)))
	redistest.Eventually(t, func() bool { return log.Has("expired entries of time series are not swept") }, redistest.Soon, time.Millisecond)
	require.Contains(t, log.String(), "ahead of the server's")
	there, err := ahead.s.Exists(t.Context())
	require.NoError(t, err)
	require.True(t, there)
	for _, by := range []time.Duration{0, time.Hour} {
		clock.Set(by)
		right := kitOn(enginetest.On(t, raw), "s")
		require.NoError(t, right.s.Add(t.Context(), at(1), "other", WithTTL(time.Millisecond)))
		redistest.Eventually(t, func() bool { there, err := right.s.Exists(t.Context()); return err == nil && !there }, redistest.Soon, time.Millisecond)
	}
}

// TestAFullServerIsSwept, because that frees memory.
func TestAFullServerIsSwept(t *testing.T) {
	t.Parallel()
	redistest.OnStarted(t, func(t *testing.T, server *redistest.Server) {
		r := rigOn(t, server.Client(t))
		r.write(0, numbered(0, 2, 0)...)
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
			redistest.Eventually(t, func() bool { there, err := kitOn(e, name).s.Exists(ctx); return err == nil && !there }, redistest.Soon, time.Millisecond)
		}
		for what, add := range map[string]func(k kit) error{
			"add":    func(k kit) error { return k.s.Add(ctx, at(1), "a", WithTTL(time.Millisecond)) },
			"handle": func(k kit) error { return kitOn(e, k.name, WithTTL(time.Millisecond)).s.Add(ctx, at(1), "a") },
			"many":   func(k kit) error { return last(k.s.AddMany(ctx, numbered(0, 2, 0), WithTTL(time.Millisecond))) },
		} {
			k := kitOn(e, fresh(t, raw))
			require.NoError(t, add(k), what)
			gone(k.name)
		}
		k := kitOn(e, fresh(t, raw))
		put(t, raw, k.name, "1", packed{value: "a"}.text(idOf("1")), "1")
		did, err := k.s.Copy(ctx, k.to)
		require.NoError(t, err)
		require.True(t, did)
		gone(k.to)
		did, err = k.s.Rename(ctx, k.to)
		require.NoError(t, err)
		require.True(t, did)
		gone(k.to)
		require.NoError(t, kitOn(e, k.name, WithTTL(hour)).s.Add(ctx, at(1), "a", WithTTL(0)))
		require.Equal(t, "1=a:forever", state(t, raw, k.name))
	})
}

// TestManyExpiredAreSweptInShortCalls: 5 ms of the server each, also if they are large.
func TestManyExpiredAreSweptInShortCalls(t *testing.T) {
	t.Parallel()
	m := redistest.Meter(t, redistest.Start(t))
	r := rigOn(t, m)
	r.write(0, numbered(0, redistest.Count(t, 30_000, 1_000_000), 0)...)
	for i := range 10 {
		r.write(0, numbered(10*i, 10*i+10, 50_000)...)
	}
	m.Most()
	for more := true; more; {
		got := r.visit()
		require.NoError(t, got.Err)
		more = got.More
	}
	require.Zero(t, r.card())
	most, what := m.Most()
	t.Log(most, what)
	require.Less(t, most, redistest.Scaled(5*time.Millisecond), what)
}

// TestEntriesExpireByTheClockOfTheClient.
func TestEntriesExpireByTheClockOfTheClient(t *testing.T) {
	t.Parallel()
	r := rigOn(t, redistest.Shared(t).Client(t))
	ctx := t.Context()
	require.NoError(t, r.s.Add(ctx, at(1), "a", WithTTL(90*time.Second)))
	r.clock.Pass(90*time.Second - time.Millisecond)
	_, there, err := r.s.Get(ctx, at(1))
	require.NoError(t, err)
	require.True(t, there)
	r.clock.Pass(time.Millisecond)
	_, there, err = r.s.Get(ctx, at(1))
	require.NoError(t, err)
	require.False(t, there)
}
