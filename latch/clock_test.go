package latch

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rueidisson/rueidisson/internal/core"
	"github.com/rueidisson/rueidisson/internal/enginetest"
	"github.com/rueidisson/rueidisson/internal/redistest"
)

// The clock of the server goes back: what it noted before lies in the future then.

// at is the server's time in µs, so long ago, or ahead if that is below 0.
func (r *rig) at(ago time.Duration) string {
	r.T.Helper()
	msg := r.Ask("TIME")
	t, err := msg.AsIntSlice()
	require.NoError(r.T, err)
	return decimal(t[0]*1_000_000 + t[1] - ago.Microseconds())
}

// ahead has the latch armed at a time to which the clock has not come again.
func (r *rig) ahead(n int64) *rig {
	r.T.Helper()
	r.arm(n)
	r.Ask("SET", r.of.armed, r.at(-time.Hour))
	return r
}

// TestLatchCountDownThatIsSentAgainCountsAfterTheClockWentBack: a time of the future does not say that the latch was
// armed after the request. Where an opening is of the future, too, nothing tells, and the client says so.
func TestLatchCountDownThatIsSentAgainCountsAfterTheClockWentBack(t *testing.T) {
	t.Parallel()
	const no = -1000 * time.Hour // nobody knows
	for name, c := range map[string]struct {
		armed, opened, age time.Duration // ago
		left               string
		told               bool
	}{
		"armed in the future":                        {-time.Hour, no, 2 * time.Second, "2", false},
		"armed a moment ahead":                       {-time.Second / 2, no, 2 * time.Second, "2", false},
		"armed in the future, opened long ago":       {-time.Hour, 20 * time.Second, 2 * time.Second, "2", false},
		"armed in the future, opened since":          {-time.Hour, time.Second, 2 * time.Second, "3", false},
		"armed and opened in the future":             {-time.Hour, -time.Hour, 2 * time.Second, "3", true},
		"armed in the future, no longer remembered":  {-time.Hour, no, time.Minute, "3", true},
		"armed by Java, opened in the future":        {no, -time.Hour, 2 * time.Second, "3", true},
		"armed since the clock went back, old send":  {time.Second, -time.Hour, 2 * time.Second, "3", false},
		"armed since the clock went back, young one": {time.Minute, -time.Hour, 2 * time.Second, "2", false},
		"armed and opened in the future, first send": {-time.Hour, -time.Hour, 0, "2", false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t).arm(3)
			for key, ago := range map[string]time.Duration{r.of.armed: c.armed, r.of.opened: c.opened} {
				if r.Ask("SET", key, r.at(ago)); ago == no {
					r.Ask("DEL", key)
				}
			}
			request := r.E.Request(r.of.lane, 0)
			args := append(r.E.Preamble(request, r.of.channel), decimal(c.age.Microseconds()), "1", "")
			said, err := r.h.numbers(t.Context(), downScript, request, r.of, args)
			require.NoError(t, err)
			require.Equal(t, c.told, errors.Is(counted(said, 1), errTooLate), "%v", said)
			require.Equal(t, c.left, r.stored())
			again, err := r.h.numbers(t.Context(), downScript, request, r.of, args)
			require.NoError(t, err)
			require.Equal(t, said, again)
			require.Equal(t, c.left, r.stored())
		})
	}
}

// TestLatchCountDownWhoseFirstSendIsHeldAfterTheClockWentBack counts once.
func TestLatchCountDownWhoseFirstSendIsHeldAfterTheClockWentBack(t *testing.T) {
	t.Parallel()
	r, proxy := faulty(t, enginetest.ShortSends)
	r.ahead(3)
	held := proxy.HoldRequest(r.sent(downScript))
	r.down(2)
	require.Equal(t, "2", r.stored())
	held.Release()
	proxy.AwaitCount(t, r.sent(downScript), 2)
	r.once("q", 1)
}

// TestLatchCountDownOfWhichTheClockTellsNothingIsTold to its caller, and to the observer if it was deferred.
func TestLatchCountDownOfWhichTheClockTellsNothingIsTold(t *testing.T) {
	t.Parallel()
	told := new(enginetest.Outcomes)
	r, proxy := faulty(t, enginetest.ShortSends, func(c *core.Config) { c.Deferrals = told })
	r.ahead(3)
	r.Ask("SET", r.of.opened, r.at(-time.Hour), "PX", memory)
	held := proxy.HoldRequest(r.sent(downScript))
	_, err := r.CountDown(context.Background())
	require.ErrorIs(t, err, ErrInvalidArgument)
	require.ErrorIs(t, err, errTooLate)
	require.Equal(t, "3", r.stored())
	held.Release()
	proxy.AwaitCount(t, r.sent(downScript), 2)
	old := r.E.Request(r.of.lane, 9)
	work := core.Work{Kind: label, Name: r.of.key, Op: "count down", Amount: 1}
	late := r.h.late(r.of, 1, append(r.E.Preamble(old, r.of.channel), "0", "1", ""))
	require.ErrorIs(t, r.E.SeeThrough(old, work, errors.New("refused for now"), late), ErrDeferred)
	redistest.Eventually(t, func() bool { return !r.E.CleaningUp() }, soon, time.Millisecond)
	require.Equal(t, []string{"gave up latch " + r.of.key + ": count down 1"}, told.Take())
	require.Equal(t, "3", r.stored())
}
