package latch

import (
	"context"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rueidisson/rueidisson/internal/core"
	"github.com/rueidisson/rueidisson/internal/enginetest"
	"github.com/rueidisson/rueidisson/internal/redistest"
	"github.com/rueidisson/rueidisson/internal/scripts"
)

func faulty(t *testing.T, change ...func(*core.Config)) (*rig, *redistest.Proxy) {
	t.Helper()
	r, proxy := enginetest.FaultyRig(t, change...)
	return &rig{New(r.E, redistest.Name(t)), r}, proxy
}

// TestALostReplyCountsOnce drops the reply to each script once: it is sent again
// and finds its answer.
func TestALostReplyCountsOnce(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		script *scripts.Script
		do     func(t *testing.T, r *rig)
		left   string
	}{
		"down":  {downScript, func(_ *testing.T, r *rig) { r.down(2) }, "2"},
		"once":  {downScript, func(_ *testing.T, r *rig) { r.once("p", 2); r.once("p", 2) }, "2"},
		"opens": {downScript, func(_ *testing.T, r *rig) { r.Ask("SET", r.of.key, "1"); r.down(0); r.arm(5) }, "5"},
		"await": {lookScript, func(t *testing.T, r *rig) { r.Ask("DEL", r.of.key); require.NoError(t, r.Await(t.Context())) }, ""},
		"arm":   {trySetScript, func(_ *testing.T, r *rig) { r.Ask("DEL", r.of.key); r.arm(4) }, "4"},
		"delete": {deleteScript, func(t *testing.T, r *rig) {
			did, err := r.Delete(t.Context())
			require.NoError(t, err)
			require.True(t, did)
		}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r, proxy := faulty(t)
			r.arm(3)
			lost := proxy.DropReply(r.sent(c.script), 1)
			c.do(t, r)
			lost.Await(t)
			require.Equal(t, c.left, r.stored())
		})
	}
}

// TestASendThatComesLateCountsNothing: the one of which nobody heard arrives
// behind the one that was answered, and behind later requests.
func TestASendThatComesLateCountsNothing(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		script *scripts.Script
		do     func(r *rig)
	}{
		"down":   {downScript, func(r *rig) { r.arm(9); r.down(8) }},
		"once":   {downScript, func(r *rig) { r.arm(9); r.once("p", 8) }},
		"arm":    {trySetScript, func(r *rig) { r.arm(9) }},
		"delete": {deleteScript, func(r *rig) { _, _ = r.arm(9).Delete(context.Background()) }},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r, proxy := faulty(t, enginetest.ShortSends)
			held := proxy.HoldRequest(r.sent(c.script))
			c.do(r)
			_, err := r.Delete(t.Context())
			require.NoError(t, err)
			r.arm(5)
			held.Release()
			proxy.AwaitCount(t, r.sent(c.script), 2)
			r.once("q", 4)
			require.Equal(t, "4", r.stored())
		})
	}
}

// TestAClientIDThatWasUsedBefore is what a clock that was ahead brings: the server
// remembers later requests of it. What is asked for is done all the same, once.
func TestAClientIDThatWasUsedBefore(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	for flight := range flights {
		r.Ask("SET", r.of.lane+":"+strconv.Itoa(flight), "9007199254740991 0 1")
	}
	r.arm(5).down(4)
	r.once("p", 3)
	r.once("p", 3)
	did, err := r.Delete(t.Context())
	require.NoError(t, err)
	require.True(t, did)
	require.Empty(t, r.stored())
}

// settled reports whether a lane of this client holds what a settled request
// leaves.
func (r *rig) settled(ending string) bool {
	r.T.Helper()
	keys, err := r.Raw.Do(context.Background(), r.Raw.B().Keys().Pattern(r.of.lane+"*").Build()).AsStrSlice()
	require.NoError(r.T, err)
	for _, key := range keys {
		msg := r.Ask("GET", key)
		if text, _ := msg.ToString(); strings.HasSuffix(text, ending) {
			return true
		}
	}
	return false
}

// TestASilentServer: nobody knows what became of a request until it answers
// again; a count down is done once, others are not done any more.
func TestASilentServer(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		script   *scripts.Script
		do       func(ctx context.Context, r *rig) error
		ran, not string
	}{
		"down":   {downScript, func(ctx context.Context, r *rig) error { _, err := r.CountDown(ctx); return err }, "9", "9"},
		"once":   {downScript, func(ctx context.Context, r *rig) error { _, err := r.CountDownOnce(ctx, "p"); return err }, "9", "9"},
		"delete": {deleteScript, func(ctx context.Context, r *rig) error { _, err := r.Delete(ctx); return err }, "", "10"},
	} {
		for _, ran := range []bool{true, false} {
			t.Run(name+map[bool]string{true: ", that ran", false: ", that did not run"}[ran], func(t *testing.T) {
				t.Parallel()
				r, proxy := faulty(t, enginetest.ShortSends)
				r.arm(10)
				restore := proxy.Silence(r.sent(c.script), ran)
				require.ErrorIs(t, c.do(t.Context(), r), ErrOutcomeUnknown)
				restore()
				want := c.not
				if ran {
					want = c.ran
				}
				r.awaitStored(want)
				if c.script == deleteScript && !ran {
					require.Eventually(t, func() bool { return r.settled(" void") }, soon, 5*time.Millisecond)
				}
				require.Equal(t, want, r.stored())
				require.Eventually(t, func() bool { return r.E.Request(r.of.lane, 0).Lane == r.of.lane+":0" }, soon, time.Millisecond, "its flight is back")
				require.Equal(t, want, r.stored())
			})
		}
	}
}

// TestACountDownThatComesTooLateCountsInNoLaterArming: nobody knows what became
// of it, and the latch was deleted, or opened by others, and armed again before the
// server answers.
func TestACountDownThatComesTooLateCountsInNoLaterArming(t *testing.T) {
	t.Parallel()
	for name, again := range map[string]struct {
		do   func(r *rig)
		left string
	}{
		"deleted":    {func(r *rig) { _, _ = r.Delete(context.Background()); r.arm(7) }, "7"},
		"opened":     {func(r *rig) { r.down(1); r.down(0); r.arm(7) }, "7"},
		"armed only": {func(*rig) {}, "1"},
	} {
		for _, party := range []string{"", "p"} {
			t.Run(name+" "+party, func(t *testing.T) {
				t.Parallel()
				r, proxy := faulty(t, enginetest.ShortSends)
				other := rigOn(t, r.Raw, r.of.key)
				other.arm(5)
				_, err := other.Delete(t.Context()) // an opening before it does not matter
				require.NoError(t, err)
				r.arm(2)
				proxy.BlackHole()
				_, err = r.countDown(t.Context(), party)
				require.ErrorIs(t, err, ErrOutcomeUnknown)
				again.do(other)
				proxy.Restore()
				require.Eventually(t, func() bool { return r.E.Request(r.of.lane, 0).Lane == r.of.lane+":0" }, soon, time.Millisecond, "its flight is back")
				require.Equal(t, again.left, r.stored())
			})
		}
	}
}

// TestLatchCountDownThatIsSentAgainCountsInNoLaterArming: its first send does not
// arrive, and the latch is armed anew before the second.
func TestLatchCountDownThatIsSentAgainCountsInNoLaterArming(t *testing.T) {
	t.Parallel()
	r, proxy := faulty(t, enginetest.ShortSends)
	r.arm(3)
	held := proxy.HoldRequest(r.sent(downScript))
	done := make(chan error, 1)
	go func() { // ends with the answer
		_, err := r.CountDown(context.Background())
		done <- err
	}()
	held.Await(t)
	other := rigOn(t, r.Raw, r.of.key)
	for range 5 { // a hundredth of the age is for clocks that do not run alike
		redistest.Waits(t, done)
	}
	_, err := other.Delete(t.Context())
	require.NoError(t, err)
	other.arm(5)
	r.Ask("DEL", r.of.opened) // the time of the arming tells, too
	got(t, done)
	require.Equal(t, "5", r.stored())
	held.Release()
	proxy.AwaitCount(t, r.sent(downScript), 2)
	r.once("q", 4)
	require.Equal(t, "4", r.stored())
}

// TestLatchCountDownOfAnEarlierLifeDoesNothing: the request carries its age, and the
// latch knows when it was armed.
func TestLatchCountDownOfAnEarlierLifeDoesNothing(t *testing.T) {
	t.Parallel()
	const hour, minute = 3_600_000_000, 60_000_000
	for name, c := range map[string]struct {
		armed int64 // µs ago; 0: nobody knows
		age   int64
		left  string
	}{
		"older than the arming":     {minute, hour, "3"},
		"younger than the arming":   {hour, minute, "2"},
		"a first send":              {minute, 0, "2"},
		"armed by Java, remembered": {0, 30_000_000, "2"},
		"armed by Java, given up":   {0, minute, "3"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t).arm(3)
			msg := r.Ask("GET", r.of.armed)
			now, err := msg.AsInt64()
			require.NoError(t, err)
			if r.Ask("SET", r.of.armed, decimal(now-c.armed)); c.armed == 0 {
				r.Ask("DEL", r.of.armed)
			}
			request := r.E.Request(r.of.lane, 0)
			args := append(r.E.Preamble(request, r.of.channel), decimal(c.age), "1", "")
			_, err = r.h.numbers(t.Context(), downScript, request, r.of, args)
			require.NoError(t, err)
			require.Equal(t, c.left, r.stored())
		})
	}
}

// TestLatchArmingLeavesNoTimeAfterItsEnd: by a count down, a deletion, and by Java.
func TestLatchArmingLeavesNoTimeAfterItsEnd(t *testing.T) {
	t.Parallel()
	for name, end := range map[string]func(r *rig){
		"opened":  func(r *rig) { r.down(0) },
		"deleted": func(r *rig) { _, _ = r.Delete(context.Background()) },
		"by Java, seen by a look": func(r *rig) {
			r.Ask("DEL", r.of.key)
			_, _ = r.Count(context.Background())
		},
		"by Java, seen by a count down": func(r *rig) { r.Ask("DEL", r.of.key); r.down(0) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t).arm(1)
			require.True(t, r.exists(r.of.armed))
			end(r)
			require.False(t, r.exists(r.of.armed))
		})
	}
}

// TestACountDownThatIsRefusedForNowIsDoneLater: by a server that may not write.
func TestACountDownThatIsRefusedForNowIsDoneLater(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	r := rigOn(t, server.Client(t), redistest.Name(t), enginetest.ShortSends).arm(5)
	r.Ask("CONFIG", "SET", "min-replicas-to-write", "1")
	_, err := r.CountDown(t.Context())
	require.ErrorIs(t, err, ErrDeferred)
	require.NotErrorIs(t, err, ErrOutcomeUnknown)
	require.ErrorContains(t, err, "NOREPLICAS")
	r.Ask("CONFIG", "SET", "min-replicas-to-write", "0")
	r.awaitStored("4")
}

// TestAFullServerCountsDown and refuses who wants to arm.
func TestAFullServerCountsDown(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	r := rigOn(t, server.Client(t), redistest.Name(t), enginetest.ShortSends).arm(3)
	r.Ask("CONFIG", "SET", "maxmemory", "1")
	_, err := New(r.E, redistest.Name(t)).TrySetCount(t.Context(), 1)
	require.ErrorContains(t, err, "OOM")
	r.down(2)
	r.once("p", 1)
	r.once("p", 1)
	r.once("q", 0)
	r.Ask("CONFIG", "SET", "maxmemory", "0")
	r.arm(3)
	r.Ask("CONFIG", "SET", "maxmemory", "1")
	did, err := r.Delete(t.Context())
	require.NoError(t, err)
	require.True(t, did)
}

// TestALostMessage: the subscription is cut in the moment of the opening, so that
// the waiter looks when it stands again, and need not wait for the cap.
func TestALostMessage(t *testing.T) {
	t.Parallel()
	r, proxy := faulty(t, enginetest.NoLooks)
	r.arm(1)
	done := r.awaiting(t.Context())
	r.waiting(1)
	other := rigOn(t, r.Raw, r.of.key)
	proxy.Refuse()
	proxy.CutAll()
	other.down(0)
	other.arm(3)
	cut := time.Now()
	proxy.Accept()
	got(t, done)
	t.Log("after", time.Since(cut))
}

// TestAMessageThatNeverCameCostsAtMostTheCap.
func TestAMessageThatNeverCameCostsAtMostTheCap(t *testing.T) {
	t.Parallel()
	redistest.Within(t, 10*time.Second, func() time.Duration {
		longest := time.Duration(0)
		r := newRig(t).arm(1)
		ctx, leave := context.WithCancel(t.Context())
		head := r.awaiting(ctx)
		r.waiting(1)
		all := []<-chan error{r.awaiting(t.Context()), r.awaiting(t.Context())}
		r.waiting(3)
		leave() // and another looks for all
		require.ErrorIs(t, redistest.Done(t, head), context.Canceled)
		r.Ask("DEL", r.of.key) // and nobody is told
		began := time.Now()
		for _, done := range all {
			got(t, done)
			longest = max(longest, time.Since(began))
		}
		return longest
	})
}

func TestAWaitOutlastsARestartOfTheServer(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t, redistest.Config("appendonly", "yes"), redistest.Config("appendfsync", "always"))
	r := rigOn(t, server.Client(t), redistest.Name(t)).arm(1)
	done := r.awaiting(t.Context())
	r.waiting(1)
	server.Restart()
	require.Eventually(t, func() bool { _, err := r.CountDown(t.Context()); return err == nil }, soon, 50*time.Millisecond)
	got(t, done)
}

// TestASilentServerIsBorneForAWatchdogTimeout: then all who wait learn it, and
// not one after another.
func TestASilentServerIsBorneForAWatchdogTimeout(t *testing.T) {
	t.Parallel()
	redistest.Within(t, soon, func() time.Duration {
		longest := time.Duration(0)
		r, proxy := faulty(t, func(c *core.Config) { c.WatchdogTimeout = 2 * time.Second })
		r.arm(1)
		var all []<-chan error
		for range 20 {
			all = append(all, r.awaiting(t.Context()))
		}
		r.waiting(20)
		proxy.Refuse()
		proxy.CutAll()
		began := time.Now()
		for _, done := range all {
			require.Error(t, <-done)
		}
		longest = max(longest, time.Since(began))
		proxy.Accept()
		return longest
	})
}
