package semaphore

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rueidisson/rueidisson/internal/core"
	"github.com/rueidisson/rueidisson/internal/enginetest"
	"github.com/rueidisson/rueidisson/internal/redistest"
	"github.com/rueidisson/rueidisson/internal/scripts"
)

// TestSemaphoreTakeInTheMillisecondOfTheSettingGoesBack: the server knows only in which
// millisecond it ran.
func TestSemaphoreTakeInTheMillisecondOfTheSettingGoesBack(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	lane := r.of.lane + ":9"
	eval := func(s *scripts.Script, on []string, args ...string) {
		t.Helper()
		cmd := r.Raw.B().Eval().Script(s.Body()).Numkeys(int64(len(on))).Key(on...).Arg(args...).Build()
		require.NoError(t, r.Raw.Do(t.Context(), cmd).Error())
	}
	for range 100 {
		r.Ask("DEL", lane)
		r.set(10)
		began := time.Now()
		eval(takeScript, []string{r.of.key, lane}, "3", "7", memory, "1")
		age := decimal(time.Since(began).Microseconds())
		eval(settleScript, []string{r.of.key, lane, r.of.set}, "7", memory, r.of.channel, "publish", "0", age)
		require.EqualValues(t, 10, r.free())
	}
}

// TestSemaphoreClockThatIsSetBackLosesNoPermit of a request whose outcome the caller was not
// told: the permits were set at a time that is still to come.
func TestSemaphoreClockThatIsSetBackLosesNoPermit(t *testing.T) {
	t.Parallel()
	server, clock := redistest.StartWithClock(t)
	clock.Set(time.Hour)
	rigs := make(map[string]*rig)
	proxies := make(map[string]*redistest.Proxy)
	told := new(enginetest.Outcomes)
	for _, name := range []string{"take", "release"} {
		through, proxy := redistest.ThroughProxy(t, server)
		r := rigOn(t, through, redistest.Name(t)+name, enginetest.ShortSends, func(c *core.Config) { c.Deferrals = told })
		r.Raw = server.Client(t)
		r.set(3).take(1)
		rigs[name], proxies[name] = r, proxy
	}
	clock.Set(0)
	for name, c := range map[string]struct {
		script *scripts.Script
		do     func(r *rig) error
		free   int64
	}{
		"take":    {takeScript, func(r *rig) error { return r.TryAcquire(context.Background(), 1) }, 2},
		"release": {giveScript, func(r *rig) error { return r.Release(context.Background(), 1) }, 3},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r, proxy := rigs[name], proxies[name]
			lost := proxy.DropReply(r.sent(c.script), 100, redistest.Silent())
			if name == "release" { // which never arrives
				proxy.BlackHole()
			}
			require.ErrorIs(t, c.do(r), ErrOutcomeUnknown)
			lost.Cancel()
			proxy.Restore()
			redistest.Eventually(t, func() bool { return !r.E.CleaningUp() }, soon, time.Millisecond)
			require.Equal(t, c.free, r.free())
			require.Empty(t, told.Take())
		})
	}
}
