package lock_test

import (
	"context"
	"errors"
	"math"
	"net/http"
	"net/http/httptest"
	"strconv"
	"testing"
	"time"

	"github.com/redis/rueidis"
	"github.com/stretchr/testify/require"

	"github.com/rueidisson/rueidisson"
	"github.com/rueidisson/rueidisson/fence"
	"github.com/rueidisson/rueidisson/fence/fencehttp"
	"github.com/rueidisson/rueidisson/internal/locktest"
	"github.com/rueidisson/rueidisson/internal/redistest"
	"github.com/rueidisson/rueidisson/lock"
)

func tokenOf(t testing.TB, name string, number int64) fence.Token {
	t.Helper()
	token, err := fence.New(name, number)
	require.NoError(t, err)
	return token
}

// writes are the ways to write by a guard.
var writes = map[string]struct {
	write func(ctx context.Context, g *lock.Guard, token fence.Token, value string) error
	read  func(t testing.TB, raw rueidis.Client, key string) string
}{
	"Set": {func(ctx context.Context, g *lock.Guard, token fence.Token, value string) error {
		return g.Set(ctx, token, value)
	}, func(t testing.TB, raw rueidis.Client, key string) string {
		text, err := do(t, raw, "GET", key).ToString()
		require.NoError(t, err)
		return text
	}},
	"HSet": {func(ctx context.Context, g *lock.Guard, token fence.Token, value string) error {
		return g.HSet(ctx, token, map[string]string{"total": value, "by": "me"})
	}, func(t testing.TB, raw rueidis.Client, key string) string {
		text, err := do(t, raw, "HGET", key, "total").ToString()
		require.NoError(t, err)
		return text
	}},
}

func TestAGuardRefusesOlderTokens(t *testing.T) {
	t.Parallel()
	for kind, of := range writes {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			for _, version := range redistest.Versions {
				server := redistest.Shared(t, redistest.Version(version))
				c, raw := locktest.Open(t, server.Addr()), server.Client(t)
				guardRefuses(t, c, raw, of.write, of.read)
			}
			server := redistest.Miniredis(t)
			raw, err := rueidis.NewClient(server.ClientOption())
			require.NoError(t, err)
			t.Cleanup(raw.Close)
			c, err := rueidisson.New(server.ClientOption())
			require.NoError(t, err)
			t.Cleanup(func() { locktest.Close(c) })
			guardRefuses(t, c, raw, of.write, of.read)
		})
	}
}

func guardRefuses(t *testing.T, c *rueidisson.Client, raw rueidis.Client,
	write func(context.Context, *lock.Guard, fence.Token, string) error, read func(testing.TB, rueidis.Client, string) string) {
	t.Helper()
	key := redistest.Name(t)
	g, other := c.FenceGuard(key, "order:42"), c.FenceGuard(key, "order:43")
	for i, step := range []struct {
		g       *lock.Guard
		token   fence.Token
		highest int64 // that refuses it
	}{
		{g, tokenOf(t, "order:42", 9).By("a"), 0},
		{g, tokenOf(t, "order:42", 9).By("a"), 0},
		{g, tokenOf(t, "order:42", 9).By("b"), 9},
		{g, tokenOf(t, "order:42", 9), 9},
		{g, tokenOf(t, "order:42", 8).By("a"), 9},
		{other, tokenOf(t, "order:43", 1), 0},
		{other, tokenOf(t, "order:43", 1), 0},
		{g, tokenOf(t, "order:42", 10).By("b"), 0},
		{g, tokenOf(t, "order:42", 9).By("a"), 10},
		{g, tokenOf(t, "order:42", math.MaxInt64-1).By("a"), 0},
		{g, tokenOf(t, "order:42", math.MaxInt64).By("a"), 0},
		{g, tokenOf(t, "order:42", math.MaxInt64-1).By("a"), math.MaxInt64},
	} {
		before := ""
		if i > 0 {
			before = read(t, raw, key)
		}
		err := write(t.Context(), step.g, step.token, strconv.Itoa(i))
		if step.highest == 0 {
			require.NoError(t, err, i)
			require.Equal(t, strconv.Itoa(i), read(t, raw, key))
			continue
		}
		require.ErrorIs(t, err, lock.ErrStale, i)
		require.ErrorContains(t, err, key)
		var stale *lock.StaleError
		require.ErrorAs(t, err, &stale)
		require.Equal(t, lock.StaleError{Lock: "order:42", Token: step.token.Number(), Highest: step.highest}, *stale)
		require.Equal(t, before, read(t, raw, key), "nothing is written")
	}
	do(t, raw, "DEL", key)
	require.ErrorIs(t, write(t.Context(), g, tokenOf(t, "order:42", 5), "late"), lock.ErrStale, "also when the value has gone")
	fields, err := do(t, raw, "HGETALL", "{"+key+"}:rueidisson_fence").AsStrMap()
	require.NoError(t, err)
	require.Equal(t, map[string]string{"order:42": "9223372036854775807 a", "order:43": "1 "}, fields)
}

func TestAGuardRefusesWhatIsNoTokenOfItsLock(t *testing.T) {
	t.Parallel()
	c, proxy := watched(t)
	key := redistest.Name(t)
	g := c.FenceGuard(key, "order:42")
	refused(t, proxy, g.Set(t.Context(), fence.Token{}, "v"), "zero", key)
	err := g.Set(t.Context(), tokenOf(t, "order:43", 7), "v")
	refused(t, proxy, err, "order:43", "order:42", key)
	require.ErrorIs(t, err, fence.ErrOtherLock)
	refused(t, proxy, g.HSet(t.Context(), tokenOf(t, "order:42", 7), nil), "no fields")
	//lint:ignore SA1012 nil is what is tested
	refused(t, proxy, g.Set(nil, tokenOf(t, "order:42", 7), "v"), "nil context")
	refused(t, proxy, c.FenceGuard("", "order:42").Set(t.Context(), tokenOf(t, "order:42", 7), "v"), "empty")
	refused(t, proxy, c.FenceGuard(key, "").Set(t.Context(), tokenOf(t, "order:42", 7), "v"), "empty")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	require.ErrorIs(t, g.Set(ctx, tokenOf(t, "order:42", 7), "v"), context.Canceled)
	require.Empty(t, sent(proxy))
	locktest.Close(c)
	require.ErrorIs(t, g.Set(t.Context(), tokenOf(t, "order:42", 7), "v"), lock.ErrClosed)
}

func TestAGuardOfAKeyOfAnotherTypeRaisesNothing(t *testing.T) {
	t.Parallel()
	server := redistest.Shared(t)
	raw, key := server.Client(t), redistest.Name(t)
	g := locktest.Open(t, server.Addr()).FenceGuard(key, "x")
	do(t, raw, "SET", key, "v")
	err := g.HSet(t.Context(), tokenOf(t, "x", 9), map[string]string{"f": "v"})
	require.ErrorContains(t, err, "WRONGTYPE")
	require.ErrorContains(t, err, key)
	require.NoError(t, g.Set(t.Context(), tokenOf(t, "x", 8), "v"))
	beside := "{" + key + "}:rueidisson_fence"
	do(t, raw, "HSET", beside, "x", "seven")
	require.ErrorContains(t, g.Set(t.Context(), tokenOf(t, "x", 9), "v"), beside)
	do(t, raw, "SET", beside, "7")
	require.ErrorContains(t, g.Set(t.Context(), tokenOf(t, "x", 9), "v"), "WRONGTYPE")
}

// A write whose reply was lost is done once, is no stale one, and a copy of it
// that comes late changes nothing.
func TestALostReplyToAGuardedWriteIsSuccess(t *testing.T) {
	t.Parallel()
	for kind, of := range writes {
		script := map[string]string{"Set": "guard_set", "HSet": "guard_hset"}[kind]
		t.Run(kind, func(t *testing.T) {
			bothWays(t, func(t *testing.T, f *faulty, how ...redistest.DropOption) {
				g := f.client.FenceGuard(f.lock.Name(), "x")
				seen := f.proxy.DropReply(f.script(script), 1, how...)
				require.NoError(t, of.write(t.Context(), g, tokenOf(t, "x", 7), "first"))
				seen.Await(t)
				require.NoError(t, of.write(t.Context(), g, tokenOf(t, "x", 7), "second"))

				var copied []string // the first one, as it was sent
				for _, cmd := range f.proxy.Log() {
					if copied == nil && len(cmd) > 3 && cmd[3] == f.lock.Name() {
						copied = cmd
					}
				}
				require.NotNil(t, copied)
				copied[0], copied[1] = "EVAL", body(t, script)
				_ = f.raw.Do(t.Context(), f.raw.B().Arbitrary(copied...).Build()).Error()
				require.Equal(t, "second", of.read(t, f.raw, f.lock.Name()))
			})
		})
	}
}

func TestAGuardedValueStaysAsLongAsOneThatIsSet(t *testing.T) {
	t.Parallel()
	server := redistest.Shared(t)
	raw, c := server.Client(t), locktest.Open(t, server.Addr())
	for kind, ends := range map[string]bool{"Set": false, "HSet": true} {
		key := redistest.Name(t)
		g := c.FenceGuard(key, "x")
		require.NoError(t, writes[kind].write(t.Context(), g, tokenOf(t, "x", 7), "v"))
		do(t, raw, "PEXPIRE", key, "60000")
		require.NoError(t, writes[kind].write(t.Context(), g, tokenOf(t, "x", 7), "w"))
		left, err := do(t, raw, "PTTL", key).AsInt64()
		require.NoError(t, err)
		require.Equal(t, ends, left > 0, kind)
		left, err = do(t, raw, "PTTL", "{"+key+"}:rueidisson_fence").AsInt64()
		require.NoError(t, err)
		require.EqualValues(t, -1, left, "the number has no end")
	}
}

// A write whose reply was lost, and behind which a newer one came before it was
// sent again, is refused then, and changes nothing.
func TestAGuardedWriteThatIsSentAgainBehindANewerOne(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	write := func(number, request, value string) string {
		return b.run("guard_set", []string{b.name, "{" + b.name + "}:rueidisson_fence", b.gone()}, "x", number, "", request, value)
	}
	require.Equal(t, "nil", write("7", "first", "old"))
	require.Equal(t, "nil", write("8", "second", "new"))
	require.Equal(t, "8,", write("7", "first", "old"), "the newer one, and no owner")
	text, err := do(t, b.raw, "GET", b.name).ToString()
	require.NoError(t, err)
	require.Equal(t, "new", text)
}

// A server without memory refuses a write as a whole, and takes it when it has some.
func TestAGuardOnAFullServerWritesNothing(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	raw, c := server.Client(t), locktest.Open(t, server.Addr())
	for kind, of := range writes {
		key := redistest.Name(t)
		g := c.FenceGuard(key, "x")
		require.NoError(t, of.write(t.Context(), g, tokenOf(t, "x", 7), "old"), kind)
		do(t, raw, "CONFIG", "SET", "maxmemory", "1")
		err := of.write(t.Context(), g, tokenOf(t, "x", 9), "new")
		require.ErrorContains(t, err, "OOM", kind)
		require.NotErrorIs(t, err, lock.ErrOutcomeUnknown, kind)
		require.NotErrorIs(t, err, lock.ErrStale, kind)
		full := make(chan error, 1)
		go func() { full <- of.write(context.Background(), g, tokenOf(t, "x", 8), "of a full moment") }()
		time.Sleep(200 * time.Millisecond)
		do(t, raw, "CONFIG", "SET", "maxmemory", "0")
		require.NoError(t, <-full, "the refused one has raised nothing, and a moment is borne")
		require.Equal(t, "of a full moment", of.read(t, raw, key))
	}
}

// While the slot moves, a write waits for three seconds, and says so; it is done
// whole or not at all. The highest token moves with the value.
func TestASlotMovesUnderAGuard(t *testing.T) {
	t.Parallel()
	cluster := redistest.StartCluster(t)
	c, tag := openCluster(t, cluster), "{"+redistest.Name(t)+"}"
	raw, err := rueidis.NewClient(rueidis.ClientOption{InitAddress: []string{cluster.Nodes()[0].Addr()}, DisableCache: true})
	require.NoError(t, err)
	t.Cleanup(raw.Close)
	for kind, of := range writes {
		key := tag + kind
		g := c.FenceGuard(key, "x")
		require.NoError(t, of.write(t.Context(), g, tokenOf(t, "x", 7), "old"), kind)
		moves := cluster.StartMigration(t, tag)
		moves.Move(t, key) // and not the number beside it
		err := of.write(t.Context(), g, tokenOf(t, "x", 9), "new")
		require.ErrorContains(t, err, "the slot is on the move", kind)
		require.NotErrorIs(t, err, lock.ErrOutcomeUnknown, kind)
		done := make(chan error, 1)
		go func() { done <- of.write(context.Background(), g, tokenOf(t, "x", 8), "newer") }()
		moves.Finish(t)
		require.NoError(t, <-done, "%s: what was refused has raised nothing", kind)
		require.Equal(t, "newer", of.read(t, raw, key))
		require.ErrorIs(t, of.write(t.Context(), g, tokenOf(t, "x", 7), "late"), lock.ErrStale, kind)
	}
}

func TestHoldersWriteByTheirContexts(t *testing.T) {
	t.Parallel()
	server := redistest.Shared(t)
	c, key, name := locktest.Open(t, server.Addr()), redistest.Name(t), redistest.Name(t)
	g := c.FenceGuard(key, name)
	hold := acquire(t, c.FencedLock(name))
	late, ok := fence.FromContext(hold.Context(t.Context()))
	require.True(t, ok)
	require.NoError(t, g.Set(t.Context(), late, "1"))
	mustUnlock(t, hold)
	require.NoError(t, lock.Do(t.Context(), c.FencedLock(name), func(ctx context.Context) error {
		token, ok := fence.FromContext(ctx)
		if !ok {
			return errors.New("no token")
		}
		return g.Set(ctx, token, "2")
	}))
	require.ErrorIs(t, g.Set(t.Context(), late, "3"), lock.ErrStale)
}

// guards has the holder of a lock write everywhere that tokens are looked at, and
// then the one who lost it, whose work was under late.
func guards(t *testing.T, c *rueidisson.Client, name string, late context.Context, hold *lock.Hold) {
	t.Helper()
	old, ok := fence.FromContext(late)
	require.True(t, ok)
	own, ok := hold.Fence()
	require.True(t, ok)
	require.Greater(t, own.Number(), old.Number())

	g := c.FenceGuard("value of "+name, name)
	require.NoError(t, g.Set(t.Context(), own, "new"))
	require.ErrorIs(t, g.Set(t.Context(), old, "old"), lock.ErrStale)

	gate := fencehttp.NewGate(func(*http.Request) string { return name }, nil).Wrap(http.NotFoundHandler())
	for _, of := range []struct {
		token  fence.Token
		status int
	}{{own, http.StatusNotFound}, {old, http.StatusPreconditionFailed}} {
		req, res := httptest.NewRequest(http.MethodPut, "/", nil), httptest.NewRecorder()
		req.Header.Set(fencehttp.Header, of.token.String())
		gate.ServeHTTP(res, req)
		require.Equal(t, of.status, res.Code)
	}
	require.Less(t, fence.SQL(old, fence.Question).Arg, fence.SQL(own, fence.Question).Arg, "fence <= ? is false for the old one")
}
