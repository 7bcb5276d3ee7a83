package lock_test

import (
	"context"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/redis/rueidis"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rueidisson/rueidisson"
	"github.com/rueidisson/rueidisson/fence"
	"github.com/rueidisson/rueidisson/internal/locktest"
	"github.com/rueidisson/rueidisson/internal/redistest"
	"github.com/rueidisson/rueidisson/lock"
)

// number is the fencing token of a hold.
func number(t testing.TB, hold *lock.Hold) int64 {
	t.Helper()
	token, ok := hold.Fence()
	require.True(t, ok)
	return token.Number()
}

// pass takes the lock and gives it back, and returns the token between.
func pass(t testing.TB, l lock.Locker) int64 {
	t.Helper()
	hold := acquire(t, l)
	defer mustUnlock(t, hold)
	return number(t, hold)
}

func counter(name string) string { return "redisson_lock_token:{" + name + "}" }

func do(t testing.TB, raw rueidis.Client, words ...string) rueidis.RedisResult {
	t.Helper()
	res := raw.Do(context.Background(), raw.B().Arbitrary(words...).Build())
	require.NoError(t, res.Error())
	return res
}

// micros is the server's time.
func micros(t testing.TB, raw rueidis.Client) int64 {
	t.Helper()
	clock, err := do(t, raw, "TIME").AsIntSlice()
	require.NoError(t, err)
	return clock[0]*1_000_000 + clock[1]
}

func TestEveryHoldHasAHigherTokenThanThoseBefore(t *testing.T) {
	t.Parallel()
	for _, version := range redistest.Versions {
		t.Run(version, func(t *testing.T) {
			t.Parallel()
			server := redistest.Shared(t, redistest.Version(version))
			raw := server.Client(t)
			l := locktest.Open(t, server.Addr()).FencedLock(redistest.Name(t))
			last := micros(t, raw) - 1
			for range 5 {
				next := pass(t, l)
				require.Greater(t, next, last)
				require.LessOrEqual(t, next, micros(t, raw), "it is the server's time, as long as nothing is ahead of that")
				last = next
			}

			ahead := micros(t, raw) + 3_600_000_000
			do(t, raw, "SET", counter(l.Name()), strconv.FormatInt(ahead, 10))
			require.Equal(t, ahead+1, pass(t, l), "the counter goes on where it is ahead")
			do(t, raw, "INCR", counter(l.Name())) // as Redisson
			require.Equal(t, ahead+3, pass(t, l))
			held, err := l.Delete(t.Context())
			require.NoError(t, err)
			require.False(t, held)
			require.Equal(t, ahead+4, pass(t, l), "Delete keeps the counter")

			do(t, raw, "SET", counter(l.Name()), "7", "PX", "100000")
			require.Greater(t, pass(t, l), last, "a counter of Redisson's begins with 1")
			left, err := do(t, raw, "PTTL", counter(l.Name())).AsInt64()
			require.NoError(t, err)
			require.EqualValues(t, -1, left, "and has no end any more")
		})
	}
}

func TestTokensRiseOverAFlush(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	raw := server.Client(t)
	l := locktest.Open(t, server.Addr()).FencedLock(redistest.Name(t))
	before := pass(t, l)
	do(t, raw, "FLUSHALL")
	require.Greater(t, pass(t, l), before)
}

// TestFencedTokenIsAboveAllThatItsClientHasSeen loses the counter, as a failover may,
// while the server's clock is behind the last token.
func TestFencedTokenIsAboveAllThatItsClientHasSeen(t *testing.T) {
	t.Parallel()
	server, clock := redistest.StartWithClock(t)
	raw := server.Client(t)
	forget := func(name string) {
		do(t, raw, "DEL", counter(name))
		clock.Set(-time.Hour)
	}
	t.Run("acquire", func(t *testing.T) {
		defer clock.Set(0)
		name := redistest.Name(t)
		l := locktest.Open(t, server.Addr()).FencedLock(name)
		before := pass(t, l)
		forget(name)
		next := pass(t, l)
		require.Greater(t, next, before)
		require.Greater(t, pass(t, locktest.Open(t, server.Addr()).FencedLock(name)), next, "one that is new to the lock goes on from there")
	})
	t.Run("join", func(t *testing.T) {
		defer clock.Set(0)
		name := redistest.Name(t)
		here, there := locktest.Open(t, server.Addr()), locktest.Open(t, server.Addr())
		hold := acquire(t, here.FencedLock(name))
		own := number(t, hold)
		exported, err := hold.Token(t.Context())
		require.NoError(t, err)
		level, err := there.FencedLock(name).Join(t.Context(), exported)
		require.NoError(t, err)
		mustUnlock(t, level)
		mustUnlock(t, hold)
		forget(name)
		require.Greater(t, pass(t, there.FencedLock(name)), own)
	})
}

func TestAForcedHoldHasTheLowerToken(t *testing.T) {
	t.Parallel()
	server := redistest.Shared(t)
	here, there := locktest.Open(t, server.Addr()), locktest.Open(t, server.Addr())
	name := redistest.Name(t)
	hold := acquire(t, here.FencedLock(name))
	forced, err := there.FencedLock(name).ForceUnlock(t.Context())
	require.NoError(t, err)
	require.True(t, forced)
	second := acquire(t, there.FencedLock(name))
	token, ok := hold.Fence()
	require.True(t, ok, "it does not know yet")
	require.Greater(t, number(t, second), token.Number())
	inner, err := here.FencedLock(name).Lock(hold.Context(context.Background()))
	require.NoError(t, err)
	require.Equal(t, token.Number(), number(t, inner))
	work := inner.Context(t.Context())
	require.ErrorIs(t, hold.Extend(t.Context(), time.Minute), lock.ErrLost)
	for _, level := range []*lock.Hold{hold, inner} {
		_, ok = level.Fence()
		require.False(t, ok, "now it does")
	}
	late, ok := fence.FromContext(work)
	require.True(t, ok)
	require.Equal(t, token, late, "what is written late is refused for its number")
	require.ErrorIs(t, inner.Unlock(t.Context()), lock.ErrLost)
	require.ErrorIs(t, hold.Unlock(t.Context()), lock.ErrLost)
	mustUnlock(t, second)
}

func TestTheTokenBelongsToTheHold(t *testing.T) {
	t.Parallel()
	c := locktest.Open(t, redistest.Shared(t).Addr())
	l := c.FencedLock(redistest.Name(t))
	hold := acquire(t, l)
	token, ok := hold.Fence()
	require.True(t, ok)
	require.Equal(t, l.Name(), token.Lock())
	require.Equal(t, c.ID(), token.Owner())

	ctx := hold.Context(t.Context())
	inner, err := l.Lock(ctx)
	require.NoError(t, err)
	require.Equal(t, token.Number(), number(t, inner), "one for all levels")
	plain, err := c.Lock(l.Name()).Lock(ctx)
	require.NoError(t, err, "the lock of that name is the same one")
	require.Equal(t, token.Number(), number(t, plain))
	for _, under := range []context.Context{ctx, hold.Context(context.Background()), plain.Context(t.Context()), lock.Detach(ctx)} {
		got, ok := fence.FromContext(under)
		require.True(t, ok)
		require.Equal(t, token, got)
	}
	again, err := l.TryLock(plain.Context(t.Context()))
	require.NoError(t, err)
	for _, level := range []*lock.Hold{again, plain, inner, hold} {
		require.NoError(t, level.Unlock(ctx))
		_, ok = level.Fence()
		require.False(t, ok, "a level that was unlocked shows none")
	}
	got, ok := fence.FromContext(ctx)
	require.True(t, ok, "late work is refused for its number")
	require.Equal(t, token, got)
}

func TestAPlainHoldHasNoToken(t *testing.T) {
	t.Parallel()
	c := locktest.Open(t, redistest.Shared(t).Addr())
	name := redistest.Name(t)
	hold := acquire(t, c.Lock(name))
	_, ok := hold.Fence()
	require.False(t, ok)
	ctx := hold.Context(t.Context())
	_, ok = fence.FromContext(ctx)
	require.False(t, ok)

	_, err := c.FencedLock(name).Lock(ctx)
	require.ErrorIs(t, err, lock.ErrWrongKind, "it would wait for itself, or go without a token")
	require.ErrorContains(t, err, `"lock"`)
	_, err = c.FencedLock(name).TryLock(t.Context())
	require.ErrorIs(t, err, lock.ErrNotAcquired, "they exclude each other")
	waiting := lockLater(t, c.FencedLock(name))
	require.NoError(t, hold.Unlock(t.Context()))
	next, err := waiting.result(t)
	require.NoError(t, err)
	require.Positive(t, number(t, next))
	_, err = locktest.Open(t, redistest.Shared(t).Addr()).Lock(name).TryLock(t.Context())
	require.ErrorIs(t, err, lock.ErrNotAcquired)
	mustUnlock(t, next)
}

func TestACounterThatIsNoneIsNamed(t *testing.T) {
	t.Parallel()
	server := redistest.Shared(t)
	raw := server.Client(t)
	for title, set := range map[string][]string{
		"another type": {"RPUSH", "", "x"}, "no number": {"SET", "", "seven"}, "a fraction": {"SET", "", "7.5"},
		"beyond counting": {"SET", "", "9223372036854775807"}, "empty": {"SET", "", ""},
	} {
		t.Run(title, func(t *testing.T) {
			t.Parallel()
			l := locktest.Open(t, server.Addr()).FencedLock(redistest.Name(t))
			set[1] = counter(l.Name())
			do(t, raw, set...)
			_, err := l.Lock(t.Context())
			require.ErrorContains(t, err, set[1])
			require.ErrorContains(t, err, l.Name())
			require.False(t, exists(t, raw, l.Name()), "nothing was taken")
		})
	}
}

func TestWhoJoinsHasTheTokenOfTheHold(t *testing.T) {
	t.Parallel()
	server := redistest.Shared(t)
	here, there := locktest.Open(t, server.Addr()), locktest.Open(t, server.Addr())
	name := redistest.Name(t)
	for range 3 {
		pass(t, here.FencedLock(name))
	}
	hold := acquire(t, here.FencedLock(name))
	own, _ := hold.Fence()
	exported, err := hold.Token(t.Context())
	require.NoError(t, err)
	for _, join := range []func(context.Context, lock.Token, ...lock.LockOption) (*lock.Hold, error){
		there.FencedLock(name).Join, there.Lock(name).Join, here.FencedLock(name).Join,
	} {
		level, err := join(t.Context(), exported)
		require.NoError(t, err)
		token, ok := level.Fence()
		require.True(t, ok)
		require.Equal(t, own, token, "number, lock and owner")
		mustUnlock(t, level)
	}
	mustUnlock(t, hold)
	_, err = there.FencedLock(name).Join(t.Context(), exported)
	require.ErrorIs(t, err, lock.ErrLost)
	require.Greater(t, pass(t, there.FencedLock(name)), own.Number())

	plain := acquire(t, here.Lock(name))
	exported, err = plain.Token(t.Context())
	require.NoError(t, err)
	_, err = there.FencedLock(name).Join(t.Context(), exported)
	require.ErrorIs(t, err, lock.ErrToken)
	mustUnlock(t, plain)

	java := javaToken(t)
	do(t, server.Client(t), "HSET", name, java.String(), "1")
	level, err := there.FencedLock(name).Join(t.Context(), java)
	require.NoError(t, err)
	_, ok := level.Fence()
	require.False(t, ok, "nobody here knows it")
	mustUnlock(t, level)
}

// ledger is what is guarded by one lock, and refuses what comes in a wrong order.
type ledger struct {
	mu      sync.Mutex
	highest int64
	entries int
}

func (l *ledger) enter(t testing.TB, number int64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	assert.Greater(t, number, l.highest, "a token that is not above all before")
	l.highest, l.entries = number, l.entries+1
}

// Tokens rise over all hand-overs of several processes, whatever replies are
// lost meanwhile.
func TestTokensRiseWhoeverHasTheLock(t *testing.T) {
	t.Parallel()
	for title, of := range map[string]struct {
		cut  bool
		opts []rueidisson.Option
	}{
		"by default":               {},
		"long chains":              {opts: []rueidisson.Option{generous}},
		"while replies are lost":   {cut: true},
		"long chains, and cut too": {true, []rueidisson.Option{generous}},
	} {
		t.Run(title, func(t *testing.T) {
			t.Parallel()
			server, name := redistest.Shared(t), redistest.Name(t)
			of.opts = append(of.opts, rueidisson.WithWatchdogTimeout(12*time.Second))
			var book ledger
			var all sync.WaitGroup
			for range 3 {
				proxy := redistest.NewProxy(t, server.Addr())
				c := locktest.Open(t, proxy.Addr(), of.opts...)
				for _, script := range []string{"acquire_fenced", "reserve", "release"} {
					if of.cut {
						proxy.DropReply(redistest.MatchScript(body(t, script)), 3)
					}
				}
				for range 16 {
					all.Go(func() {
						for range redistest.Count(t, 30, 1000) {
							hold, err := c.FencedLock(name).Lock(t.Context())
							if !assert.NoError(t, err) {
								return
							}
							book.enter(t, number(t, hold))
							_ = hold.Unlock(t.Context()) // a reply that was lost may leave it unknown
						}
					})
				}
			}
			all.Wait()
			require.Equal(t, 3*16*redistest.Count(t, 30, 1000), book.entries)
		})
	}
}
