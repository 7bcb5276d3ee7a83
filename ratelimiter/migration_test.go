package ratelimiter_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rueidisson/rueidisson/internal/keys"
	"github.com/rueidisson/rueidisson/internal/redistest"
	"github.com/rueidisson/rueidisson/ratelimiter"
	"github.com/rueidisson/rueidisson/ratelimiter/redissonlimiter"
)

func TestLimitersWhoseSlotsMove(t *testing.T) {
	t.Parallel()
	cluster := redistest.StartCluster(t)
	t.Run("a bucket under load", func(t *testing.T) { bucketMoves(t, cluster) })
	t.Run("several limits under load", func(t *testing.T) { severalMove(t, cluster) })
	t.Run("several limits, half of them moved", func(t *testing.T) { halfMoved(t, cluster) })
	t.Run("several limits that are full", func(t *testing.T) { fullMove(t, cluster) })
	t.Run("a sliding log", func(t *testing.T) { slidingLogMoves(t, cluster) })
}

// halfThere is what a request ends with that needs several keys, if a move takes
// longer than it is repeated for. Nothing was taken then.
func halfThere(err error) bool { return err != nil && strings.Contains(err.Error(), "TRYAGAIN") }

// persist repeats what a move stands in the way of: a slow machine moves slowly.
func persist(do func() error) error {
	err := do()
	for halfThere(err) {
		err = do()
	}
	return err
}

// bucketMoves moves the slot of a limiter's rule and of its bucket there and
// back, and that of a key's bucket, which is another one. At each step requests
// go on, half of them on nodes that send them elsewhere.
func bucketMoves(t *testing.T, cluster *redistest.Cluster) {
	r := ratelimiter.PerSecond(1000).WithBurst(20)
	name := redistest.Name(t)
	one, two := openCluster(t, cluster).RateLimiter(name), openCluster(t, cluster).RateLimiter(name)
	_, _, err := one.TrySetRate(t.Context(), r)
	require.NoError(t, err)
	for _, of := range []struct {
		what    string
		buckets []*ratelimiter.Bucket
		order   []string // of the keys
	}{
		{"rule first", []*ratelimiter.Bucket{&one.Bucket, &two.Bucket}, []string{name, keys.Bucket(name)}},
		{"rule last", []*ratelimiter.Bucket{&one.Bucket, &two.Bucket}, []string{keys.Bucket(name), name}},
		{"of a key", []*ratelimiter.Bucket{one.For("u"), two.For("u")}, []string{keys.BucketOf(name, "u")}},
	} {
		var takers []taker
		for _, b := range of.buckets {
			takers = append(takers, taker{b.Allow, b.Wait})
		}
		tr := startTraffic(t, nil, r, takers...)
		tr.goesOn(of.what)
		m := cluster.StartMigration(t, of.order[0])
		tr.goesOn(of.what + ": begun")
		for i, key := range of.order {
			m.Move(t, key)
			tr.goesOn(fmt.Sprintf("%s: %d keys moved", of.what, i+1))
			for _, l := range []*ratelimiter.Limiter{one, two} { // asks wherever the rule is now
				stored, err := l.Rate(t.Context())
				require.NoError(t, err)
				require.Equal(t, r, stored)
			}
		}
		m.Finish(t)
		tr.goesOn(of.what + ": finished")
		tr.end()
		t.Logf("%s: granted %d of %d", of.what, tr.granted.Load(), bound(r, tr.now()-tr.from))
	}
}

// several are limits of one key, of a client of their own.
func several(t *testing.T, cluster *redistest.Cluster, tail string, rates ...ratelimiter.Rate) (*ratelimiter.Combined, []*ratelimiter.Bucket) {
	t.Helper()
	c := openCluster(t, cluster)
	var members []ratelimiter.Member
	var buckets []*ratelimiter.Bucket
	for i, r := range rates {
		l := c.RateLimiter(fmt.Sprintf("%d-%s", i, tail))
		_, _, err := l.TrySetRate(t.Context(), r)
		require.NoError(t, err)
		buckets = append(buckets, l.For(tail))
		members = append(members, buckets[i])
	}
	return ratelimiter.All(members...), buckets
}

func stateKeys(buckets []*ratelimiter.Bucket, tail string) (all []string) {
	for i := range buckets {
		all = append(all, keys.BucketOf(fmt.Sprintf("%d-%s", i, tail), tail))
	}
	return all
}

// severalMove: while some of the keys are there and others are not, nobody can
// decide, and requests are repeated until the move is over. None is granted by
// one limit alone. Neither is ever full, since its key would be missing then.
func severalMove(t *testing.T, cluster *redistest.Cluster) {
	fast, day := ratelimiter.PerSecond(100).WithBurst(500), ratelimiter.Every(1_000_000, 30*24*time.Hour)
	tail := redistest.Name(t)
	one, buckets := several(t, cluster, tail, fast, day)
	two, _ := several(t, cluster, tail, fast, day)
	state := stateKeys(buckets, tail)
	tr := startTraffic(t, halfThere, fast, taker{one.Allow, one.Wait}, taker{two.Allow, two.Wait})
	tr.goesOn("before")
	for round := range 2 {
		m := cluster.StartMigration(t, state[0])
		tr.goesOn("begun")
		m.From().ResetStats()
		m.Move(t, state[round])
		redistest.Eventually(t, func() bool { return m.From().Refusals(t, "TRYAGAIN") > 0 }, soon, time.Millisecond)
		m.Finish(t)
		tr.goesOn("finished")
	}
	tr.end()
	willAgree(t, buckets[1], day, tr.granted.Load())
}

// willAgree awaits that a bucket which next to nothing refills has given what
// was granted: those who left meanwhile have given back then.
func willAgree(t *testing.T, b *ratelimiter.Bucket, r ratelimiter.Rate, granted int64) {
	t.Helper()
	const refilled = 20 // of 1 in 2.6 s
	redistest.Eventually(t, func() bool {
		d, err := b.Peek(t.Context())
		require.NoError(t, err)
		taken := r.Burst - d.Remaining
		return taken <= granted && taken >= granted-refilled
	}, soon, 10*time.Millisecond)
}

// halfMoved: who asks for longer than requests are repeated is told so. That
// nothing was taken is certain then. Each limit alone is decided about all the
// time.
func halfMoved(t *testing.T, cluster *redistest.Cluster) {
	r, tail := ratelimiter.PerHour(10), redistest.Name(t)
	all, buckets := several(t, cluster, tail, r, r)
	state := stateKeys(buckets, tail)
	ok, err := all.Allow(t.Context())
	require.NoError(t, err)
	require.True(t, ok)
	m := cluster.StartMigration(t, state[0])
	m.Move(t, state[0])

	m.From().ResetStats()
	_, err = all.Take(t.Context(), 2)
	require.ErrorContains(t, err, "TRYAGAIN")
	require.Greater(t, m.From().Refusals(t, "TRYAGAIN"), int64(1), "it was sent again")
	require.NotErrorIs(t, err, ratelimiter.ErrOutcomeUnknown)
	require.ErrorContains(t, all.Wait(t.Context()), "TRYAGAIN")
	for _, b := range buckets {
		remains(t, b, 9)
		require.True(t, decided(t, b, 1).Allowed)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	_, err = all.Take(ctx, 2)
	require.ErrorIs(t, err, context.DeadlineExceeded)

	m.From().ResetStats()
	end := begun(func() error {
		return persist(func() error {
			d, err := all.Take(t.Context(), 3)
			if err == nil && !d.Allowed {
				err = fmt.Errorf("refused: %+v", d)
			}
			return err
		})
	})
	redistest.Eventually(t, func() bool { return m.From().Refusals(t, "TRYAGAIN") > 0 }, soon, time.Millisecond)
	m.Finish(t)
	require.NoError(t, outcome(t, end))
	for _, b := range buckets {
		willHold(t, b, 5) // the one whose deadline had passed takes nothing
	}
}

// fullMove: a full bucket has no key, so that the old master sends on to the
// new one, which has not all keys either, until the move is over.
func fullMove(t *testing.T, cluster *redistest.Cluster) {
	r, tail := ratelimiter.PerHour(10), redistest.Name(t)
	all, buckets := several(t, cluster, tail, r, r)
	state := stateKeys(buckets, tail)
	m := cluster.StartMigration(t, state[0])
	m.To().ResetStats()
	end := begun(func() error { return persist(func() error { return all.WaitN(t.Context(), 4) }) })
	redistest.Eventually(t, func() bool { return m.To().Refusals(t, "TRYAGAIN") > 0 }, soon, time.Millisecond)
	require.True(t, decided(t, buckets[0], 1).Allowed, "one limit alone needs one key")
	m.Finish(t)
	require.NoError(t, outcome(t, end))
	remains(t, buckets[0], 5)
	remains(t, buckets[1], 6)
}

// slidingLogMoves: the scripts on Redisson's keys name those of each client
// along with those of all, and some are never there. Requests are repeated
// until the move is over.
func slidingLogMoves(t *testing.T, cluster *redistest.Cluster) {
	name, permits := redistest.Name(t), int64(10)
	l := openCluster(t, cluster).RedissonRateLimiter(name)
	created, err := l.TrySetRate(t.Context(), redissonlimiter.Rate{Permits: permits, Interval: time.Hour})
	require.NoError(t, err)
	require.True(t, created)
	ok, err := l.AllowN(t.Context(), 3)
	require.NoError(t, err)
	require.True(t, ok)
	m := cluster.StartMigration(t, name)
	m.From().ResetStats()
	end := begun(func() error { return persist(func() error { return l.WaitN(t.Context(), 4) }) })
	redistest.Eventually(t, func() bool { return m.From().Refusals(t, "TRYAGAIN") > 0 }, soon, time.Millisecond)
	m.Move(t, name, keys.RateLog(name))
	m.Finish(t)
	require.NoError(t, outcome(t, end))
	left, err := l.Available(t.Context())
	require.NoError(t, err)
	require.Equal(t, permits-7, left)
	ok, err = l.AllowN(t.Context(), left+1)
	require.NoError(t, err)
	require.False(t, ok)
}
