//go:build interop

package interop

import (
	"context"
	"encoding/binary"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rueidisson/rueidisson/internal/redistest"
)

// javaWaitsForGo: what Java waits for was granted to Go, and comes back an interval after that.
func javaWaitsForGo(t *testing.T, w *world) {
	l := w.limit(t)
	l.goSets(overall(3, shortInterval))
	l.goTakesSome(3)
	first := l.logged("permits")
	got := begin(func() (struct{}, error) { return struct{}{}, l.theirs.Acquire(l.ctx, 2) })
	l.granted(got, first)
}

func goWaitsForJava(t *testing.T, w *world) {
	l := w.limit(t)
	l.javaSets(overall(3, shortInterval))
	l.javaTakesSome(3)
	first := l.logged("permits")
	got := begin(func() (struct{}, error) { return struct{}{}, l.mine.WaitN(l.ctx, 2) })
	l.granted(got, first)
}

// granted waits for the end of a wait, and looks that it was not granted early.
func (l *limit) granted(got <-chan outcome[struct{}], first []int64) {
	l.t.Helper()
	require.Len(l.t, first, 1)
	o := <-got
	require.NoError(l.t, o.err)
	second := l.logged("permits")
	require.Len(l.t, second, 1, "the first has expired")
	after := time.Duration(second[0]-first[0]) * time.Millisecond
	require.GreaterOrEqual(l.t, after, shortInterval)
	l.t.Logf("granted %v after the end of an interval of %v", after-shortInterval, shortInterval)
}

// javaCountsReleaseOnce: what Java releases is back at once, and once more when its entry expires. What Go
// releases is not.
func javaCountsReleaseOnce(t *testing.T, w *world) {
	l := w.limit(t)
	l.goSets(overall(3, shortInterval))
	l.goTakesSome(2)
	l.goTakes(1)
	require.NoError(t, l.mine.Release(l.ctx, 3))
	l.bothSee(3)
	require.Empty(t, l.logged("permits"))
	l.javaTakesSome(1)
	eventually(l.ctx, t, "Java's permit is back", func() bool {
		n, err := l.theirs.AvailablePermits(l.ctx)
		require.NoError(t, err)
		require.LessOrEqual(t, n, int64(3))
		return n == 3
	})
	l.javaTakesSome(3)
}

// goFindsPermits: after a request that Java has sent twice, permits are missing that are in no entry, and
// Redisson fails or refuses for ever.
func goFindsPermits(t *testing.T, w *world) {
	l := w.limit(t)
	l.javaSets(overall(5, shortInterval))
	l.javaTakesSome(2)
	require.NoError(t, l.redis.Do(l.ctx, l.redis.B().Decrby().Key(l.key("value")).Decrement(2).Build()).Error())
	require.NoError(t, l.mine.WaitN(l.ctx, 5))
	l.javaTakes(0)
	require.NoError(t, l.theirs.Acquire(l.ctx, 5))
}

// How many take part in neverMoreThanTheRate, and for how long.
const (
	goTakers, javaTakers = 3, 3
	budget               = 30
	spending             = 3 * time.Second
	// share is when a Go taker has enough: it wakes 3 ms before a Java one, and would leave nothing to it.
	share = budget / 2
	// lateness is what Java's time may be old when its request is decided.
	lateness = 300 * time.Millisecond
)

// neverMoreThanTheRate lets both sides take as fast as they are allowed to, and looks at every window of the
// log afterwards.
func neverMoreThanTheRate(t *testing.T, w *world) {
	l := w.limit(t)
	l.goSets(overall(budget, shortInterval))
	l.warmUp()
	ctx, cancel := context.WithTimeout(l.ctx, spending)
	defer cancel()
	taken := make([]int64, goTakers+javaTakers)
	done := begin(func() (struct{}, error) {
		return struct{}{}, together(len(taken), func(i int) error { return l.spend(ctx, i, &taken[i]) })
	})
	grants := l.watch(done)
	logged := sumOf(grants)
	mine, theirs := sum(taken[:goTakers]), sum(taken[goTakers:])
	t.Logf("Go took %d permits, Java %d; the log had %d", mine, theirs, logged)
	require.Positive(t, mine)
	require.Positive(t, theirs)
	require.Equal(t, mine+theirs, logged)
	for _, from := range grants {
		var within int64
		for _, g := range grants {
			if g.at >= from.at && g.at < from.at+(shortInterval-lateness).Milliseconds() {
				within += g.permits
			}
		}
		require.LessOrEqual(t, within, int64(budget))
	}
}

// warmUp lets Java load its classes, and then starts afresh.
func (l *limit) warmUp() {
	l.t.Helper()
	l.javaTakesSome(1)
	require.NoError(l.t, l.mine.SetRate(l.ctx, overall(budget, shortInterval)))
}

// spend takes 1, 2, 3, 1, … permits until ctx ends, or it has its share. No call is cut short by that: what
// it had been granted would be in the log, and not in the sum.
func (l *limit) spend(ctx context.Context, i int, taken *int64) error {
	theirs := l.java.RateLimiter(redistest.Name(l.t), l.name)
	for n := int64(1); ctx.Err() == nil && (i >= goTakers || *taken < share); n = n%3 + 1 {
		got, err := true, error(nil)
		if i < goTakers {
			err = l.mine.WaitN(l.ctx, n)
		} else {
			got, err = theirs.TryAcquire(l.ctx, n, 100*time.Millisecond)
		}
		if err != nil {
			return fmt.Errorf("taker %d: %w", i, err)
		}
		if got {
			*taken += n
		}
	}
	return nil
}

type grant struct{ at, permits int64 }

// watch collects the log while it is written, since entries leave it.
func (l *limit) watch(done <-chan outcome[struct{}]) map[string]grant {
	l.t.Helper()
	seen := map[string]grant{}
	for last := false; ; {
		cmd := l.redis.B().Zrange().Key(l.key("permits")).Min("0").Max("-1").Withscores().Build()
		entries, err := l.redis.Do(l.ctx, cmd).AsZScores()
		require.NoError(l.t, err)
		for _, e := range entries {
			tail := []byte(e.Member[len(e.Member)-4:])
			seen[e.Member] = grant{int64(e.Score), int64(binary.LittleEndian.Uint32(tail))}
		}
		if last {
			return seen
		}
		select {
		case o := <-done:
			require.NoError(l.t, o.err)
			last = true
		case <-time.After(10 * time.Millisecond):
		}
	}
}

func sumOf(grants map[string]grant) (total int64) {
	for _, g := range grants {
		total += g.permits
	}
	return total
}
