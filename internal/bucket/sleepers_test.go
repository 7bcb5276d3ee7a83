package bucket

import (
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// crowd is reservations of one token each, behind a bucket that is empty.
func (c *meterCase) crowd(n int) (all []Cancellation) {
	c.t.Helper()
	require.True(c.t, c.take(c.r.Burst))
	for range n {
		a := c.ask(Want{N: 1, Kind: Reserve, Until: Forever, Debt: c.r.Debt})
		require.True(c.t, a.ok)
		c.now += time.Millisecond
		all = append(all, Cancellation{meterState, c.r.Ticks(1), a.State, true, c.now + a.Delay()})
	}
	return all
}

// leave is one exchange after the other.
func (c *meterCase) leave(s *Sleepers, some ...Cancellation) {
	c.t.Helper()
	require.NoError(c.t, s.Give(some, c.now, func(all []Cancellation) (back []int64, err error) {
		assert.LessOrEqual(c.t, len(all), MaxRuns)
		for _, x := range all {
			back = append(back, c.m.Cancel(x, c.now))
		}
		return back, nil
	}))
}

// Many have left before, and wait for who is behind them: that one goes, and at
// the same time those that nothing of it keeps back.
func TestACrowdThatLeavesTogetherLeavesNothingBehind(t *testing.T) {
	t.Parallel()
	const last = 3 * MaxRuns
	for name, together := range map[string][]int{
		"the first and the last":      {0, last},
		"as many as go out as one":    append(upTo(MaxRuns-1), last),
		"some from the middle, too":   {0, 5, last / 2, last - 1, last},
		"the last alone":              {last},
		"those that are not the last": {0, 1, 2},
	} {
		for which, unused := range map[string]bool{"that waited": true, "that cancel": false} {
			t.Run(name+" "+which, func(t *testing.T) {
				t.Parallel()
				c, s := newMeterCase(t, perHour(10)), new(Sleepers)
				all := c.crowd(last + 1)
				var some []Cancellation
				for i, x := range all {
					if slices.Contains(together, i) {
						x.Unused = unused
						some = append(some, x)
					} else if i < last {
						c.leave(s, x)
					}
				}
				c.leave(s, some...)
				if !slices.Contains(together, last) {
					assert.Greater(t, c.ask(Want{N: 1, Kind: Peek}).Missing, c.r.Full+c.r.Ticks(last-3), "the last one is there still")
					c.leave(s, all[last])
				}
				missing := c.ask(Want{N: 1, Kind: Peek}).Missing
				if unused || slices.Contains(together, last) {
					assert.LessOrEqual(t, missing, c.r.Full, "what is missing is the burst, and no more")
					assert.Empty(t, s.by)
					assert.Zero(t, s.count)
				}
			})
		}
	}
}

func upTo(n int) (all []int) {
	for i := range n {
		all = append(all, i)
	}
	return all
}
