//go:build interop

package interop

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rueidisson/rueidisson/ratelimiter/redissonlimiter"
)

// changer is one side's ways to replace a rate.
type changer struct {
	set    func(r redissonlimiter.Rate, keep bool) error
	update func(r redissonlimiter.Rate, keep bool) (bool, error)
}

func (l *limit) inGo() changer {
	opts := func(keep bool) (opts []redissonlimiter.SetOption) {
		if keep {
			opts = append(opts, redissonlimiter.WithKeepState())
		}
		return opts
	}
	return changer{
		set: func(r redissonlimiter.Rate, keep bool) error { return l.mine.SetRate(l.ctx, r, opts(keep)...) },
		update: func(r redissonlimiter.Rate, keep bool) (bool, error) {
			return l.mine.UpdateRate(l.ctx, r, opts(keep)...)
		},
	}
}

func (l *limit) inJava() changer {
	return changer{
		set: func(r redissonlimiter.Rate, keep bool) error {
			return l.theirs.ReplaceRate(l.ctx, inJava(r), keep)
		},
		update: func(r redissonlimiter.Rate, keep bool) (bool, error) {
			return l.theirs.UpdateRate(l.ctx, inJava(r), keep)
		},
	}
}

func goKeepsState(t *testing.T, w *world) {
	l := w.limit(t)
	l.javaSets(overall(5, longInterval))
	l.keepsState(l.inGo())
}

func javaKeepsState(t *testing.T, w *world) {
	l := w.limit(t)
	l.goSets(overall(5, longInterval))
	l.keepsState(l.inJava())
}

// keepsState changes a rate in both ways while both sides have taken of it: what was taken stays taken for both.
func (l *limit) keepsState(by changer) {
	l.t.Helper()
	l.goTakesSome(2)
	l.javaTakesSome(1)
	require.NoError(l.t, by.set(overall(8, longInterval), true))
	l.bothSee(5)
	l.bothRead(overall(8, longInterval))
	l.javaTakesSome(1)
	l.goTakesSome(1)
	l.updates(by, overall(6, longInterval), true)
	l.bothSee(1)
	l.bothRead(overall(6, longInterval))
	require.Len(l.t, l.logged("permits"), 4)
	l.javaTakes(1)
	l.updates(by, overall(4, longInterval), true) // 6 were taken
	l.javaTakes(0)
	l.goTakes(0)
	l.updates(by, overall(9, longInterval), true)
	l.bothSee(3)
}

func (l *limit) updates(by changer, r redissonlimiter.Rate, keep bool) {
	l.t.Helper()
	updated, err := by.update(r, keep)
	require.NoError(l.t, err)
	require.True(l.t, updated)
}

func (l *limit) bothRead(want redissonlimiter.Rate) {
	l.t.Helper()
	mine, err := l.mine.Rate(l.ctx)
	require.NoError(l.t, err)
	require.Equal(l.t, want, mine)
	theirs, err := l.theirs.Config(l.ctx)
	require.NoError(l.t, err)
	want.KeepAlive = 0 // Java does not tell
	require.Equal(l.t, inJava(want), theirs)
}

func goUpdatesRate(t *testing.T, w *world) {
	l := w.limit(t)
	l.updatesRate(l.inGo(), (*limit).javaSets)
}

func javaUpdatesRate(t *testing.T, w *world) {
	l := w.limit(t)
	l.updatesRate(l.inJava(), (*limit).goSets)
}

// updatesRate changes nothing where there is no rate. Else it forgets what was taken unless it is told to keep it, and
// does so also when the type changes; with a rate for each client that concerns who changes it.
func (l *limit) updatesRate(by changer, set func(*limit, redissonlimiter.Rate)) {
	l.t.Helper()
	for _, keep := range []bool{false, true} {
		updated, err := by.update(overall(5, longInterval), keep)
		require.NoError(l.t, err)
		require.False(l.t, updated)
		require.Empty(l.t, l.keys(l.ctx, l.t, l.name))
	}
	set(l, overall(5, longInterval))
	l.goTakesSome(2)
	l.javaTakesSome(3)
	kept := overall(3, longInterval)
	kept.KeepAlive = 2 * longInterval
	l.updates(by, kept, false)
	l.bothRead(kept)
	l.nearly(kept.KeepAlive)
	l.bothSee(3)
	l.goTakesSome(1)
	l.javaTakesSome(1)
	l.nearly(kept.KeepAlive, "value", "permits")

	l.updates(by, ofEach(2, longInterval), true)
	l.bothRead(ofEach(2, longInterval))
	require.False(l.t, l.exists(l.ctx, l.t, l.key("value")))
	require.False(l.t, l.exists(l.ctx, l.t, l.key("permits")))
	l.goTakes(2)
	l.javaTakes(2)
	l.updates(by, overall(2, longInterval), true)
	l.javaTakesSome(1)
	l.goTakes(1)
}

// keepsStateOfEach: with a rate for each client, the permits of the one who changes it are counted anew. Go counts
// its own anew as well when Java has changed it, while Java goes on with its count.
func keepsStateOfEach(t *testing.T, w *world) {
	for name, of := range map[string]struct {
		by           func(*limit) changer
		mine, theirs int64
	}{
		"Go":   {(*limit).inGo, 5, 2},
		"Java": {(*limit).inJava, 5, 5},
	} {
		l := w.limit(t)
		l.goSets(ofEach(3, longInterval))
		l.goTakesSome(1)
		l.javaTakesSome(1)
		require.NoError(t, of.by(l).set(ofEach(6, longInterval), true), name)
		l.goTakes(of.mine)
		l.javaTakes(of.theirs)
	}
}

// A rate that is lowered below what was taken: the next permits come when that has expired, and not more of them than
// the new rate has.
func javaWaitsOutLowerRate(t *testing.T, w *world) {
	l := w.limit(t)
	l.javaSets(overall(5, shortInterval))
	l.javaTakesSome(5)
	first := l.lowered(l.inGo())
	got := begin(func() (struct{}, error) { return struct{}{}, l.theirs.Acquire(l.ctx, 2) })
	l.granted(got, first)
	l.notMoreThan(2)
}

func goWaitsOutLowerRate(t *testing.T, w *world) {
	l := w.limit(t)
	l.goSets(overall(5, shortInterval))
	l.goTakesSome(5)
	first := l.lowered(l.inJava())
	got := begin(func() (struct{}, error) { return struct{}{}, l.mine.WaitN(l.ctx, 2) })
	l.granted(got, first)
	l.notMoreThan(2)
}

func (l *limit) lowered(by changer) []int64 {
	l.t.Helper()
	first := l.logged("permits")
	l.updates(by, overall(2, shortInterval), true)
	return first
}

// notMoreThan lets both ask for one more, right after so many were taken within an interval. On a machine that is so
// slow that the interval is over by then they may get it.
func (l *limit) notMoreThan(n int64) {
	l.t.Helper()
	taken := l.logged("permits")[0]
	d, err := l.mine.Take(l.ctx, 1)
	require.NoError(l.t, err)
	got, err := l.theirs.TryAcquire(l.ctx, 1, 0)
	require.NoError(l.t, err)
	if now := time.Now().UnixMilli(); now-taken < shortInterval.Milliseconds() {
		require.False(l.t, d.Allowed || got, "one more than %d", n)
	}
}
