package ratelimiter_test

import (
	"context"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/redis/rueidis"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rueidisson/rueidisson"
	"github.com/rueidisson/rueidisson/internal/bucket"
	"github.com/rueidisson/rueidisson/internal/keys"
	"github.com/rueidisson/rueidisson/internal/redistest"
	"github.com/rueidisson/rueidisson/internal/scripts"
	"github.com/rueidisson/rueidisson/ratelimiter"
)

// soon bounds what has to happen, on a machine however slow.
var soon = redistest.Soon

// scriptText is the text of a script of the token bucket.
func scriptText(t testing.TB, name string) string {
	t.Helper()
	text, err := scripts.Read(os.DirFS("internal/exchange/lua"), name+".lua")
	require.NoError(t, err)
	return text
}

// faulty is a bucket of ten tokens an hour as two clients see it: one behind a
// proxy that can break what it says, whose sends time out after 1.5 s, and one
// that goes straight to the server.
type faulty struct {
	t             *testing.T
	server        *redistest.Server
	proxy         *redistest.Proxy
	raw           rueidis.Client
	name          string
	limiter, sure *ratelimiter.Limiter
	b, direct     *ratelimiter.Bucket
}

const faultyBurst = 10

func newFaulty(t *testing.T) *faulty { return faultyOn(t, redistest.Shared(t)) }

func faultyOn(t *testing.T, server *redistest.Server) *faulty {
	t.Helper()
	proxy := redistest.NewProxy(t, server.Addr())
	f := &faulty{t: t, server: server, proxy: proxy, raw: server.Client(t), name: redistest.Name(t)}
	f.limiter = open(t, proxy.Addr(), rueidisson.WithWatchdogTimeout(9*time.Second)).RateLimiter(f.name)
	f.sure = open(t, server.Addr()).RateLimiter(f.name)
	f.b, f.direct = f.limiter.For("u"), f.sure.For("u")
	_, created, err := f.limiter.TrySetRate(t.Context(), ratelimiter.PerHour(faultyBurst))
	require.NoError(t, err)
	require.True(t, created)
	return f
}

// script matches the calls of a script that are about the rule or the bucket.
func (f *faulty) script(name string) redistest.Match {
	about := redistest.Arg(f.stateKey())
	isRule := redistest.Arg(f.name)
	return redistest.All(redistest.MatchScript(scriptText(f.t, name)),
		func(cmd []string) bool { return about(cmd) || isRule(cmd) })
}

// known makes the server know all scripts, so that each call is one command.
func (f *faulty) known() {
	f.t.Helper()
	files, err := os.ReadDir("internal/exchange/lua")
	require.NoError(f.t, err)
	for _, file := range files {
		text := scriptText(f.t, strings.TrimSuffix(file.Name(), ".lua"))
		require.NoError(f.t, f.raw.Do(f.t.Context(), f.raw.B().ScriptLoad().Script(text).Build()).Error())
	}
	_, err = f.b.Peek(f.t.Context()) // knows the rule now
	require.NoError(f.t, err)
	f.proxy.ResetLog()
}

// left is what the bucket holds.
func (f *faulty) left() int64 {
	f.t.Helper()
	d, err := f.direct.Peek(context.Background())
	require.NoError(f.t, err)
	return d.Remaining
}

func (f *faulty) took(n int64) {
	f.t.Helper()
	ok, err := f.direct.AllowN(f.t.Context(), n)
	require.NoError(f.t, err)
	require.True(f.t, ok)
}

// bothWays runs a test with a connection that is cut where the reply was, and
// with one that stays open and silent.
func bothWays(t *testing.T, test func(t *testing.T, how ...redistest.DropOption)) {
	t.Run("cut", func(t *testing.T) { t.Parallel(); test(t) })
	t.Run("silent", func(t *testing.T) { t.Parallel(); test(t, redistest.Silent()) })
}

// What takes or gives tokens, or changes what others see, is sent once: after
// a lost reply the caller is told that nobody knows, and it was done once.
func TestALostReplyIsUnknownAndNotRepeated(t *testing.T) {
	t.Parallel()
	for name, of := range map[string]struct {
		script string
		before func(f *faulty)
		do     func(ctx context.Context, f *faulty) error
		left   int64
	}{
		"take": {"take", nil, func(ctx context.Context, f *faulty) error { _, err := f.b.Take(ctx, 3); return err }, 7},
		"take for a caller that stays": {"take", nil, func(_ context.Context, f *faulty) error {
			_, err := f.b.Take(context.Background(), 3)
			return err
		}, 7},
		"take up to": {"take", nil, func(ctx context.Context, f *faulty) error { _, _, err := f.b.TakeUpTo(ctx, 3); return err }, 7},
		"take up to, of all": {"decide", nil, func(ctx context.Context, f *faulty) error {
			_, _, err := ratelimiter.All(f.b, f.limiter).TakeUpTo(ctx, 3)
			return err
		}, 7},
		"allow": {"take", nil, func(ctx context.Context, f *faulty) error { _, err := f.b.AllowN(ctx, 3); return err }, 7},
		"wait":  {"decide", nil, func(ctx context.Context, f *faulty) error { return f.b.WaitN(ctx, 3) }, 7},
		"reserve": {"decide", nil, func(ctx context.Context, f *faulty) error {
			_, err := f.b.ReserveN(ctx, 3)
			return err
		}, 7},
		"charge": {"decide", nil, func(ctx context.Context, f *faulty) error { _, err := f.b.Charge(ctx, 3); return err }, 7},
		"settle": {"decide", nil, func(ctx context.Context, f *faulty) error { return f.b.Settle(ctx, 1, 4) }, 7},
		"refund": {"decide", func(f *faulty) { f.took(5) }, func(ctx context.Context, f *faulty) error { return f.b.Refund(ctx, 3) }, 8},
		"reset":  {"reset", func(f *faulty) { f.took(5) }, func(ctx context.Context, f *faulty) error { return f.b.Reset(ctx) }, 10},
		"block":  {"block", func(f *faulty) { f.took(5) }, func(ctx context.Context, f *faulty) error { return f.b.Block(ctx, time.Microsecond) }, 5},
		"all": {"decide", nil, func(ctx context.Context, f *faulty) error {
			_, err := ratelimiter.All(f.b, f.limiter).Take(ctx, 3)
			return err
		}, 7},
		"refund to all": {"decide", func(f *faulty) { f.took(5) }, func(ctx context.Context, f *faulty) error {
			return ratelimiter.All(f.b, f.limiter).Refund(ctx, 3)
		}, 8},
		"wait for all": {"decide", nil, func(ctx context.Context, f *faulty) error { return ratelimiter.All(f.b, f.limiter).WaitN(ctx, 3) }, 7},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			bothWays(t, func(t *testing.T, how ...redistest.DropOption) {
				f := newFaulty(t)
				f.known()
				if of.before != nil {
					of.before(f)
				}
				drop := f.proxy.DropReply(f.script(of.script), 1, how...)
				err := of.do(t.Context(), f)
				require.ErrorIs(t, err, ratelimiter.ErrOutcomeUnknown)
				require.ErrorContains(t, err, f.name)
				drop.Await(t)
				require.Equal(t, 1, f.proxy.Count(f.script(of.script)))
				require.Equal(t, of.left, f.left())
				require.Eventually(t, func() bool { return of.do(t.Context(), f) == nil }, soon, 10*time.Millisecond, "it goes on")
			})
		})
	}
}

func TestALostReplyToCancelIsUnknownAndNotRepeated(t *testing.T) {
	t.Parallel()
	bothWays(t, func(t *testing.T, how ...redistest.DropOption) {
		f := newFaulty(t)
		f.known()
		f.took(faultyBurst)
		r, err := f.b.ReserveN(t.Context(), 2)
		require.NoError(t, err)
		f.proxy.DropReply(f.script("cancel"), 1, how...)
		require.ErrorIs(t, r.Cancel(t.Context()), ratelimiter.ErrOutcomeUnknown)
		require.NoError(t, r.Cancel(t.Context()), "a second one has nothing to do")
		require.Equal(t, 1, f.proxy.Count(f.script("cancel")))
		d, err := f.direct.Peek(t.Context())
		require.NoError(t, err)
		require.LessOrEqual(t, d.ResetAfter, time.Hour, "the two tokens came back once")
		require.Greater(t, d.ResetAfter, 50*time.Minute)
	})
}

// A change of the rule is sent once too; creating one is sent again, and knows
// its own.
func TestALostReplyAboutTheRule(t *testing.T) {
	t.Parallel()
	other := ratelimiter.PerMinute(7)
	for name, of := range map[string]struct {
		script string
		do     func(ctx context.Context, l *ratelimiter.Limiter) error
		check  func(t *testing.T, l *ratelimiter.Limiter)
	}{
		"set": {
			"rule_set",
			func(ctx context.Context, l *ratelimiter.Limiter) error { return l.SetRate(ctx, other) },
			func(t *testing.T, l *ratelimiter.Limiter) {
				got, err := l.Rate(t.Context())
				require.NoError(t, err)
				require.Equal(t, other, got)
			},
		},
		"pause": {
			"rule_pause",
			func(ctx context.Context, l *ratelimiter.Limiter) error { return l.Pause(ctx) },
			func(t *testing.T, l *ratelimiter.Limiter) {
				_, err := l.Rate(t.Context()) // reads the rule
				require.NoError(t, err)
				d, err := l.Take(t.Context(), 1)
				require.NoError(t, err)
				require.False(t, d.Allowed)
			},
		},
		"delete": {
			"rule_delete",
			func(ctx context.Context, l *ratelimiter.Limiter) error { _, err := l.Delete(ctx); return err },
			func(t *testing.T, l *ratelimiter.Limiter) {
				_, err := l.Rate(t.Context())
				require.ErrorIs(t, err, ratelimiter.ErrNoRate)
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			bothWays(t, func(t *testing.T, how ...redistest.DropOption) {
				f := newFaulty(t)
				f.known()
				f.proxy.DropReply(f.script(of.script), 1, how...)
				require.ErrorIs(t, of.do(t.Context(), f.limiter), ratelimiter.ErrOutcomeUnknown)
				require.Equal(t, 1, f.proxy.Count(f.script(of.script)))
				of.check(t, f.sure)
			})
		})
	}
	t.Run("create", func(t *testing.T) {
		t.Parallel()
		bothWays(t, func(t *testing.T, how ...redistest.DropOption) {
			f := newFaulty(t)
			_, err := f.sure.Delete(t.Context())
			require.NoError(t, err)
			f.proxy.DropReply(f.script("rule_create"), 1, how...)
			stored, created, err := f.limiter.TrySetRate(t.Context(), other)
			require.NoError(t, err)
			require.True(t, created, "the first send did it")
			require.Equal(t, other, stored)
			_, created, err = f.limiter.TrySetRate(t.Context(), other)
			require.NoError(t, err)
			require.False(t, created)
		})
	})
	t.Run("read", func(t *testing.T) {
		t.Parallel()
		bothWays(t, func(t *testing.T, how ...redistest.DropOption) {
			f := newFaulty(t)
			drop := f.proxy.DropReply(f.script("rule_read"), 1, how...)
			got, err := f.limiter.Rate(t.Context())
			require.NoError(t, err)
			require.Equal(t, ratelimiter.PerHour(faultyBurst), got)
			drop.Await(t)
		})
	})
}

// The reply that is lost is the one to the EVAL that follows a NOSCRIPT.
func TestALostReplyAfterAScriptFlush(t *testing.T) {
	t.Parallel()
	f := faultyOn(t, redistest.Start(t))
	f.known()
	f.server.FlushScripts()
	f.proxy.DropReply(f.script("take"), 1)
	_, err := f.b.Take(t.Context(), 3)
	require.ErrorIs(t, err, ratelimiter.ErrOutcomeUnknown)
	require.Equal(t, 2, f.proxy.Count(f.script("take")), "EVALSHA, which the server did not know, and EVAL")
	require.EqualValues(t, 7, f.left())
}

func TestEveryOperationSurvivesAScriptFlush(t *testing.T) {
	t.Parallel()
	f := faultyOn(t, redistest.Start(t))
	ctx := t.Context()
	var r *ratelimiter.Reservation
	for name, do := range map[string]func() error{
		"take":    func() error { _, err := f.b.Take(ctx, 1); return err },
		"up to":   func() error { _, _, err := f.b.TakeUpTo(ctx, 2); return err },
		"charge":  func() error { _, err := f.b.Charge(ctx, 1); return err },
		"refund":  func() error { return f.b.Refund(ctx, 1) },
		"block":   func() error { return f.b.Block(ctx, time.Millisecond) },
		"reset":   func() error { return f.b.Reset(ctx) },
		"rate":    func() error { _, err := f.limiter.Rate(ctx); return err },
		"try set": func() error { _, _, err := f.limiter.TrySetRate(ctx, ratelimiter.PerHour(faultyBurst)); return err },
		"set":     func() error { return f.limiter.SetRate(ctx, ratelimiter.PerHour(faultyBurst)) },
		"pause":   func() error { return f.limiter.Pause(ctx) },
		"resume":  func() error { return f.limiter.Resume(ctx) },
		"all":     func() error { _, err := ratelimiter.All(f.b, f.limiter).Take(ctx, 1); return err },
		"reserve": func() (err error) { r, err = f.b.ReserveN(ctx, faultyBurst); return err },
		"cancel": func() error {
			if r == nil {
				return nil
			}
			return r.Cancel(ctx)
		},
	} {
		require.NoError(t, f.limiter.SetRate(ctx, ratelimiter.PerHour(faultyBurst), ratelimiter.WithReset()), name)
		require.NoError(t, f.limiter.Resume(ctx), name)
		f.server.FlushScripts()
		require.NoError(t, do(), name)
	}
	f.server.FlushScripts()
	there, err := f.limiter.Delete(ctx)
	require.NoError(t, err)
	require.True(t, there)
}

// A take that comes to the server after its caller has gone, but while its
// exchange is still awaited, gives its tokens back.
func TestATakeThatArrivesWhileItsExchangeIsAwaitedGivesBack(t *testing.T) {
	t.Parallel()
	f := newFaulty(t)
	f.known()
	late := f.proxy.HoldRequest(f.script("take"))
	ctx, cancel := context.WithCancel(t.Context())
	failed := make(chan error, 1)
	go func() { // ends with ctx
		_, err := f.b.Take(ctx, 3)
		failed <- err
	}()
	late.Await(t)
	cancel()
	require.ErrorIs(t, <-failed, context.Canceled)
	late.Release()
	require.Eventually(t, func() bool { return f.left() == faultyBurst }, soon, 5*time.Millisecond)
}

// One that comes after its exchange was given up takes its tokens for nobody:
// they are never granted twice.
func TestATakeThatArrivesAfterItsExchangeIsForfeited(t *testing.T) {
	t.Parallel()
	f := newFaulty(t)
	f.known()
	late := f.proxy.HoldRequest(f.script("take"))
	_, err := f.b.Take(context.Background(), 3)
	late.Await(t)
	require.ErrorIs(t, err, ratelimiter.ErrOutcomeUnknown)
	require.EqualValues(t, faultyBurst, f.left())
	late.Release()
	require.EqualValues(t, faultyBurst-3, f.left())
}

// A second send of a create that was answered changes nothing when it arrives
// late, whatever was stored meanwhile.
func TestACreateThatArrivesLateChangesNothing(t *testing.T) {
	t.Parallel()
	f := newFaulty(t)
	_, err := f.sure.Delete(t.Context())
	require.NoError(t, err)
	late := f.proxy.HoldRequest(f.script("rule_create"))
	_, created, err := f.limiter.TrySetRate(t.Context(), ratelimiter.PerMinute(7))
	late.Await(t)
	require.NoError(t, err)
	require.True(t, created, "by the second send")
	require.NoError(t, f.sure.SetRate(t.Context(), ratelimiter.PerMinute(8)))
	late.Release()
	got, err := f.sure.Rate(t.Context())
	require.NoError(t, err)
	require.Equal(t, ratelimiter.PerMinute(8), got)
}

// A block that was lifted must not come back with a send that arrives late.
func TestABlockThatArrivesAfterAResetDoesNotBlockAgain(t *testing.T) {
	t.Parallel()
	f := newFaulty(t)
	f.known()
	late := f.proxy.HoldRequest(f.script("block"))
	err := f.b.Block(t.Context(), time.Hour)
	late.Await(t)
	if err != nil {
		require.ErrorIs(t, err, ratelimiter.ErrOutcomeUnknown)
		late.Release()
		return // sent once: who was told so knows that it may come late
	}
	require.NoError(t, f.direct.Reset(t.Context()))
	late.Release()
	ok, err := f.direct.Allow(t.Context())
	require.NoError(t, err)
	require.True(t, ok, "the block came back")
}

// callers asks with deadlines, all at once, and returns the errors.
func callers(t *testing.T, n int, within time.Duration, do func(ctx context.Context) error) []error {
	t.Helper()
	errs := make(chan error, n)
	for range n {
		go func() { // ends with ctx
			ctx, cancel := context.WithTimeout(t.Context(), within)
			defer cancel()
			errs <- do(ctx)
		}()
	}
	var all []error
	for range n {
		select {
		case err := <-errs:
			all = append(all, err)
		case <-time.After(soon):
			t.Fatal("a caller was not answered")
		}
	}
	return all
}

// The server is silent for longer than the callers wait. Each gets its answer
// by its own deadline, those who wait behind an exchange included, long
// before that is given up.
func TestCallersOfASilentServerAreAnsweredByTheirDeadline(t *testing.T) {
	t.Parallel()
	for name, of := range map[string]struct{ silence, speak func(f *faulty) }{
		"black hole": {func(f *faulty) { f.proxy.BlackHole() }, func(f *faulty) { f.proxy.Restore() }},
		"SIGSTOP":    {func(f *faulty) { f.server.Pause() }, func(f *faulty) { f.server.Resume() }},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			redistest.Within(t, 2900*time.Millisecond, func() time.Duration { // they waited for the server
				longest := time.Duration(0)
				f := faultyOn(t, redistest.Start(t))
				f.known()
				patient := open(t, f.proxy.Addr(), rueidisson.WithWatchdogTimeout(time.Minute)).RateLimiter(f.name) // sends last 3 s
				b := patient.For("u")
				_, err := b.Take(t.Context(), 1)
				require.NoError(t, err)

				of.silence(f)
				for _, do := range []func(ctx context.Context) error{
					func(ctx context.Context) error { _, err := b.Take(ctx, 1); return err },
					func(ctx context.Context) error { return b.Wait(ctx) },
					func(ctx context.Context) error { return b.Refund(ctx, 1) },
					func(ctx context.Context) error { return b.Reset(ctx) },
					func(ctx context.Context) error { _, err := patient.Rate(ctx); return err },
					func(ctx context.Context) error { _, err := ratelimiter.All(b).Take(ctx, 1); return err },
					func(ctx context.Context) error { return patient.SetRate(ctx, ratelimiter.PerHour(faultyBurst)) },
				} {
					began := time.Now()
					for _, err := range callers(t, 16, 100*time.Millisecond, do) {
						require.ErrorIs(t, err, context.DeadlineExceeded)
					}
					longest = max(longest, time.Since(began))
				}
				of.speak(f)
				require.Eventually(t, func() bool { _, err := f.b.Take(t.Context(), 1); return err == nil }, soon, 20*time.Millisecond)
				require.Eventually(t, func() bool { _, err := b.Take(t.Context(), 1); return err == nil }, soon, 20*time.Millisecond)
				return longest
			})
		})
	}
}

// Who waits without a deadline learns that the outcome is unknown, and what
// was granted and what is left never exceed what there was.
func TestAStoppedServerGrantsNothingTwice(t *testing.T) {
	t.Parallel()
	f := faultyOn(t, redistest.Start(t))
	f.known()
	f.server.Pause()
	granted := int64(0)
	for _, err := range callers(t, 8, soon, func(context.Context) error { return allowed(f.b) }) {
		require.ErrorIs(t, err, ratelimiter.ErrOutcomeUnknown)
	}
	f.server.Resume()
	require.Eventually(t, func() bool {
		err := allowed(f.b)
		if err == nil {
			granted++
		}
		return err == errDenied
	}, soon, time.Millisecond)
	require.LessOrEqual(t, granted, int64(faultyBurst))
	require.Zero(t, f.left())
}

var errDenied = assert.AnError

// allowed is nil if a token was granted.
func allowed(b *ratelimiter.Bucket) error {
	ok, err := b.Allow(context.Background())
	if err == nil && !ok {
		return errDenied
	}
	return err
}

// A master that was demoted refuses writes until it is the master again. That
// is no unknown outcome: the call is sent again, and takes once.
func TestATakeOutlivesAReadOnlyServer(t *testing.T) {
	t.Parallel()
	f := faultyOn(t, redistest.Start(t))
	f.known()
	silent := redistest.NewProxy(t, f.server.Addr())
	silent.Refuse()
	readOnly := func(on bool) {
		host, port := "no", "one"
		if on {
			host, port = "127.0.0.1", silent.Addr()[len("127.0.0.1:"):]
		}
		require.NoError(t, f.raw.Do(t.Context(), f.raw.B().Arbitrary("REPLICAOF").Args(host, port).Build()).Error())
	}
	readOnly(true)
	_, err := f.b.Take(t.Context(), 1)
	require.ErrorContains(t, err, "READONLY")
	require.NotErrorIs(t, err, ratelimiter.ErrOutcomeUnknown, "it is known that nothing was done")
	require.Greater(t, f.proxy.Count(f.script("take")), 1, "it was tried again")
	type outcome struct {
		d   ratelimiter.Decision
		err error
	}
	f.server.ResetStats()
	done := make(chan outcome, 1)
	go func() { // ends when the server takes writes again
		d, err := f.sure.For("u").Take(context.Background(), 3)
		done <- outcome{d, err}
	}()
	redistest.Eventually(t, func() bool { return f.server.ScriptCalls(t) > 0 }, soon, time.Millisecond)
	readOnly(false)
	got := <-done
	require.NoError(t, got.err)
	require.True(t, got.d.Allowed)
	require.EqualValues(t, faultyBurst-3, f.left())
}

// slowToLoad are the settings of a server that takes half a second for the keys
// of [reloads], and says meanwhile that it is loading.
var slowToLoad = []redistest.Option{
	redistest.Config("key-load-delay", "50000"), redistest.Config("rdbcompression", "no"),
	redistest.Config("loading-process-events-interval-bytes", "1024"),
}

// reloads makes the server load its data, again if nobody saw it do so, and
// returns when it does. What it returns waits for the end of that.
func reloads(t *testing.T, s *redistest.Server) (loaded func()) {
	t.Helper()
	asking, slow := s.Client(t, func(o *rueidis.ClientOption) { o.DisableRetry = true }), s.Client(t)
	for i := range 10 {
		filler := slow.B().Set().Key(fmt.Sprintf("filler%d", i)).Value(strings.Repeat("x", 4096)).Build()
		require.NoError(t, slow.Do(t.Context(), filler).Error())
	}
	loading := func() bool {
		err := asking.Do(t.Context(), asking.B().Get().Key("filler0").Build()).Error()
		return err != nil && strings.HasPrefix(err.Error(), "LOADING")
	}
	for end := time.Now().Add(soon); time.Now().Before(end); {
		done := begun(func() error { // ends with the loading
			return slow.Do(context.Background(), slow.B().Arbitrary("DEBUG").Args("RELOAD").Build()).Error()
		})
		for len(done) == 0 {
			if loading() {
				return func() { require.NoError(t, outcome(t, done)) }
			}
		}
		require.NoError(t, <-done)
	}
	t.Fatal("it never said that it is loading")
	return nil
}

// While a server loads its data it refuses everything. A call waits for it.
func TestATakeOutlivesALoadingServer(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t, slowToLoad...)
	f := faultyOn(t, server)
	f.known()
	loaded := reloads(t, server)
	d, err := f.direct.Take(context.Background(), 3)
	require.NoError(t, err)
	require.True(t, d.Allowed)
	loaded()
	require.EqualValues(t, faultyBurst-3, f.left())
}

func (f *faulty) stateKey() string { return keys.BucketOf(f.name, "u") }

// moved is a state as of another time.
func moved(t testing.TB, state string, by time.Duration) string {
	t.Helper()
	of := func(place int) int64 { return bucket.Unpack(state, place) }
	require.Len(t, state, len(bucket.Pack(0, 0, 0, 0)))
	return bucket.Pack(of(0), of(1)+by.Microseconds(), of(2), of(3))
}
