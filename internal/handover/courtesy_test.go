package handover

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
)

// inTime runs test with a clock that moves only when everybody sleeps.
func inTime(t *testing.T, test func(t *testing.T, c *Courtesy)) {
	t.Helper()
	t.Parallel()
	synctest.Test(t, func(t *testing.T) { test(t, new(Courtesy)) })
}

// released is a release whose own message has not come back yet.
func released(c *Courtesy, reached int) { c.Released(reached, true, c.Heard()) }

func TestWithoutAReleaseThereIsNoPause(t *testing.T) {
	inTime(t, func(t *testing.T, c *Courtesy) {
		assert.Zero(t, c.Pause())
		assert.True(t, c.Idle())
		assert.True(t, c.Message(), "it can only be another's")
		assert.Zero(t, c.Pause())
	})
}

func TestThePauseGrowsWithTheListeners(t *testing.T) {
	t.Parallel()
	for what, c := range map[string]struct {
		reached    int
		subscribed bool
		want       time.Duration
	}{
		"nobody":                          {0, false, 0},
		"nobody, though we subscribed":    {0, true, 0},
		"only ourselves":                  {1, true, 0},
		"one other":                       {2, true, 300 * time.Microsecond},
		"one other, while we do not":      {1, false, 300 * time.Microsecond},
		"three others":                    {4, true, 900 * time.Microsecond},
		"as many as the cap":              {11, true, 3 * time.Millisecond},
		"more than the cap":               {12, true, 3 * time.Millisecond},
		"a thousand, most of them ghosts": {1000, true, 3 * time.Millisecond},
	} {
		t.Run(what, func(t *testing.T) {
			inTime(t, func(t *testing.T, courtesy *Courtesy) {
				courtesy.Released(c.reached, c.subscribed, courtesy.Heard())
				assert.Equal(t, c.want, courtesy.Pause())
				assert.Equal(t, c.want == 0, courtesy.Idle())
			})
		})
	}
}

func TestEachOtherThatHadItsTurnShortensThePause(t *testing.T) {
	inTime(t, func(t *testing.T, c *Courtesy) {
		released(c, 4)
		assert.False(t, c.Message(), "our own")
		assert.Equal(t, 900*time.Microsecond, c.Pause())
		assert.True(t, c.Message())
		assert.Equal(t, 600*time.Microsecond, c.Pause())
		assert.True(t, c.Message())
		assert.True(t, c.Message())
		assert.Zero(t, c.Pause())
		assert.True(t, c.Message(), "one that came meanwhile")
		assert.Zero(t, c.Pause())
	})
}

func TestOurOwnMessageIsTakenOnce(t *testing.T) {
	inTime(t, func(t *testing.T, c *Courtesy) {
		released(c, 3)
		assert.False(t, c.Message())
		assert.True(t, c.Message())
	})
}

func TestAMessageThatCameBeforeTheReplyIsTakenForOurOwn(t *testing.T) {
	inTime(t, func(t *testing.T, c *Courtesy) {
		before := c.Heard()
		c.Message()
		c.Released(3, true, before)
		assert.Equal(t, 600*time.Microsecond, c.Pause())
		assert.True(t, c.Message(), "ours has been: this one is another's")
		assert.Equal(t, 300*time.Microsecond, c.Pause())
	})
}

func TestAnEarlierMessageIsNotTakenForOurOwn(t *testing.T) {
	inTime(t, func(t *testing.T, c *Courtesy) {
		c.Message()
		released(c, 3)
		assert.False(t, c.Message(), "ours is still on its way")
	})
}

func TestWithoutASubscriptionNoMessageIsOurOwn(t *testing.T) {
	inTime(t, func(t *testing.T, c *Courtesy) {
		c.Released(2, false, c.Heard())
		assert.True(t, c.Message())
		assert.Equal(t, 300*time.Microsecond, c.Pause())
	})
}

func TestOurOwnMessageIsNotAwaitedForLong(t *testing.T) {
	inTime(t, func(t *testing.T, c *Courtesy) {
		released(c, 3)
		time.Sleep(ownAfter)
		assert.False(t, c.Message(), "the last moment")
		released(c, 3)
		time.Sleep(ownAfter + 1)
		assert.True(t, c.Message(), "it has got lost")
		assert.True(t, c.Message())
		assert.Zero(t, c.Pause())
	})
}

func TestResetForgetsOurOwnMessageAndNothingElse(t *testing.T) {
	inTime(t, func(t *testing.T, c *Courtesy) {
		released(c, 3)
		c.Reset()
		assert.Equal(t, 600*time.Microsecond, c.Pause())
		assert.True(t, c.Message(), "the connection of ours is gone")
		assert.Equal(t, 300*time.Microsecond, c.Pause())
	})
}

func TestAReleaseStartsTheCountAnew(t *testing.T) {
	inTime(t, func(t *testing.T, c *Courtesy) {
		released(c, 3)
		c.Message()
		c.Message()
		c.Message()
		assert.Zero(t, c.Pause())
		released(c, 3)
		assert.Equal(t, 600*time.Microsecond, c.Pause())
		released(c, 1)
		assert.Zero(t, c.Pause(), "the others have left")
		c.Released(0, false, c.Heard())
		assert.True(t, c.Message(), "nothing of ours is on its way any more")
	})
}

func TestAReleaseIsForgotten(t *testing.T) {
	inTime(t, func(t *testing.T, c *Courtesy) {
		released(c, 3)
		time.Sleep(forgotten)
		assert.NotZero(t, c.Pause())
		assert.False(t, c.Idle())
		time.Sleep(time.Nanosecond)
		assert.Zero(t, c.Pause(), "others that have not come by now will not")
		assert.True(t, c.Idle())
	})
}

func TestHeardCountsEveryMessage(t *testing.T) {
	inTime(t, func(t *testing.T, c *Courtesy) {
		released(c, 3)
		for want := range uint64(4) {
			assert.Equal(t, want, c.Heard())
			c.Message()
		}
	})
}
