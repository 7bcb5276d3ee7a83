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

// taught is a courtesy that has learnt that so many come each time.
func taught(c *Courtesy, come int) {
	for range 40 { // the mean is then within a microsecond of pause
		c.Released(100, false, c.Mark())
		for range come {
			c.Message()
		}
	}
}

// assertPause compares to a microsecond: a mean is never quite what it tends to.
func assertPause(t *testing.T, want time.Duration, c *Courtesy, why ...any) {
	t.Helper()
	assert.InDelta(t, want, c.Pause(), float64(time.Microsecond), why...)
}

// standBack is a pause that takes d by the clock.
func standBack(c *Courtesy, d time.Duration) {
	time.Sleep(d)
	c.Paused()
}

// released is a release whose own message has not come back yet.
func released(c *Courtesy, reached int) { c.Released(reached, true, c.Mark()) }

func TestWithoutAReleaseThereIsNoPause(t *testing.T) {
	inTime(t, func(t *testing.T, c *Courtesy) {
		assert.Zero(t, c.Pause())
		assert.True(t, c.Idle())
		assert.True(t, c.Message(), "it can only be another's")
		assert.Zero(t, c.Pause())
	})
}

func TestThePauseIsForThoseWhoListenAndAreExpected(t *testing.T) {
	t.Parallel()
	for what, c := range map[string]struct {
		come       int
		reached    int
		subscribed bool
		want       time.Duration
	}{
		"nobody listens":                     {0, 0, false, 0},
		"nobody, though we subscribed":       {0, 0, true, 0},
		"only ourselves":                     {0, 1, true, 0},
		"one other":                          {0, 2, true, 300 * time.Microsecond},
		"one other, while we do not":         {0, 1, false, 300 * time.Microsecond},
		"three others of whom none came yet": {0, 4, true, 300 * time.Microsecond},
		"three others of whom one comes":     {1, 4, true, 600 * time.Microsecond},
		"three others of whom all come":      {3, 4, true, 900 * time.Microsecond},
		"fewer than came":                    {5, 2, true, 300 * time.Microsecond},
		"nobody left of those who came":      {5, 0, false, 0},
		"as many as the cap":                 {9, 12, true, 3 * time.Millisecond},
		"more than the cap":                  {20, 30, true, 3 * time.Millisecond},
		"a thousand of whom none comes":      {0, 1000, true, 300 * time.Microsecond},
		"ghosts beside two who come":         {2, 1000, true, 900 * time.Microsecond},
	} {
		t.Run(what, func(t *testing.T) {
			inTime(t, func(t *testing.T, courtesy *Courtesy) {
				taught(courtesy, c.come)
				courtesy.Released(c.reached, c.subscribed, courtesy.Mark())
				assertPause(t, c.want, courtesy)
				assert.Equal(t, c.want == 0, courtesy.Idle())
			})
		})
	}
}

func TestEachOtherThatHadItsTurnShortensThePause(t *testing.T) {
	inTime(t, func(t *testing.T, c *Courtesy) {
		taught(c, 2)
		released(c, 4)
		assert.False(t, c.Message(), "our own")
		assertPause(t, 900*time.Microsecond, c)
		assert.True(t, c.Message())
		assertPause(t, 600*time.Microsecond, c)
		assert.True(t, c.Message())
		assert.True(t, c.Message())
		assert.Zero(t, c.Pause())
		assert.True(t, c.Message(), "one that came meanwhile")
		assert.Zero(t, c.Pause())
	})
}

func TestOnlyATimeInWhichSomebodyCouldComeIsLearntFrom(t *testing.T) {
	inTime(t, func(t *testing.T, c *Courtesy) {
		taught(c, 2)
		for range 100 { // they had no chance: we went on at once
			c.Released(3, false, c.Mark())
		}
		assertPause(t, 900*time.Microsecond, c)
		for range 40 {
			c.Released(3, false, c.Mark())
			time.Sleep(c.Pause()) // the while that a vain one buys is no matter here
		}
		assertPause(t, 300*time.Microsecond, c, "nobody has come for long")
	})
}

func TestTheMeanFollowsThoseWhoComeAndGo(t *testing.T) {
	inTime(t, func(t *testing.T, c *Courtesy) {
		want := []time.Duration{300, 375, 431} // in microseconds: a quarter of the way to one who comes
		for _, d := range want {
			c.Released(9, false, c.Mark())
			assertPause(t, d*time.Microsecond, c)
			c.Message()
		}
	})
}

func TestOneWhoHoldsTheLockHasComeThoughHisReleaseIsNotHeard(t *testing.T) {
	inTime(t, func(t *testing.T, c *Courtesy) {
		c.Released(9, false, c.Mark())
		c.Refused()
		c.Refused()
		c.Released(9, false, c.Mark())
		assertPause(t, 375*time.Microsecond, c)
	})
}

func TestAPauseForNobodyBuysNineTimesItsLength(t *testing.T) {
	inTime(t, func(t *testing.T, c *Courtesy) {
		c.Released(1, false, c.Mark())
		assert.NotZero(t, c.Pause())
		standBack(c, time.Millisecond) // later than asked, as timers are
		for range 9 {
			assert.Zero(t, c.Pause())
			c.Released(1, false, c.Mark())
			assert.False(t, c.Idle(), "what was learnt stays while the name is in use")
			time.Sleep(time.Millisecond)
		}
		assert.Equal(t, 300*time.Microsecond, c.Pause())
	})
}

func TestAtMostATenthOfTheTimeIsGivenAwayInVain(t *testing.T) {
	inTime(t, func(t *testing.T, c *Courtesy) {
		began, given := time.Now(), time.Duration(0)
		for time.Since(began) < 2*time.Second {
			if pause := c.Pause(); pause > 0 {
				given += pause
				standBack(c, pause)
			}
			time.Sleep(50 * time.Microsecond) // a pair
			c.Released(10, false, c.Mark())
		}
		assert.LessOrEqual(t, given, time.Since(began)/10+perOther)
		assert.Greater(t, given, time.Since(began)/20, "a newcomer finds a pause soon")
	})
}

func TestWhoeverComesEndsWhatWasBought(t *testing.T) {
	t.Parallel()
	for what, comes := range map[string]func(*Courtesy){
		"heard": func(c *Courtesy) { c.Message() },
		"met":   (*Courtesy).Refused,
	} {
		t.Run(what, func(t *testing.T) {
			inTime(t, func(t *testing.T, c *Courtesy) {
				c.Released(2, false, c.Mark())
				c.Pause()
				standBack(c, time.Millisecond)
				comes(c)
				c.Released(2, false, c.Mark())
				assert.NotZero(t, c.Pause())
			})
		})
	}
}

func TestAPauseInWhichSomebodyCameBuysNothing(t *testing.T) {
	inTime(t, func(t *testing.T, c *Courtesy) {
		taught(c, 2)
		c.Released(3, false, c.Mark())
		assertPause(t, 900*time.Microsecond, c)
		c.Message()
		standBack(c, time.Millisecond)
		assertPause(t, 600*time.Microsecond, c, "two more are expected")
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
		taught(c, 2)
		before := c.Mark()
		c.Message()
		c.Released(3, true, before)
		assertPause(t, 600*time.Microsecond, c)
		assert.True(t, c.Message(), "ours has been: this one is another's")
		assertPause(t, 300*time.Microsecond, c)
	})
}

func TestAMessageOfOursThatNobodyMayHaveListenedToWakesButCountsAsNobody(t *testing.T) {
	inTime(t, func(t *testing.T, c *Courtesy) {
		taught(c, 2)
		released(c, 3)
		c.Listens()
		assert.True(t, c.Message(), "it may be another's, and whoever waits must not sleep on")
		assertPause(t, 600*time.Microsecond, c)
		assert.True(t, c.Message())
		assertPause(t, 300*time.Microsecond, c)
		released(c, 3)
		assert.False(t, c.Message(), "the next release is heard from the start")
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
		taught(c, 2)
		c.Released(2, false, c.Mark())
		assert.True(t, c.Message())
		assertPause(t, 300*time.Microsecond, c)
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
		taught(c, 2)
		released(c, 3)
		c.Reset()
		assertPause(t, 600*time.Microsecond, c)
		assert.True(t, c.Message(), "the connection of ours is gone")
		assertPause(t, 300*time.Microsecond, c)
	})
}

func TestAReleaseStartsTheCountAnew(t *testing.T) {
	inTime(t, func(t *testing.T, c *Courtesy) {
		taught(c, 2)
		released(c, 3)
		c.Message()
		c.Message()
		c.Message()
		assert.Zero(t, c.Pause())
		released(c, 3)
		assertPause(t, 600*time.Microsecond, c)
		released(c, 1)
		assert.Zero(t, c.Pause(), "the others have left")
		c.Released(0, false, c.Mark())
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
			assert.Equal(t, want, c.Mark().heard)
			c.Message()
		}
	})
}

// TestOurMessageThatCameWhenNobodyListened is not waited for, though the answer to the release comes when somebody does: the
// next message is another's, and dropping it would leave who waits asleep.
func TestOurMessageThatCameWhenNobodyListened(t *testing.T) {
	t.Parallel()
	for _, met := range []bool{false, true} {
		var c Courtesy
		if met {
			released(&c, 2)
			c.Message()
		}
		sent := c.Mark()
		// Our message comes: nobody listens.
		c.Listens()
		c.Released(2, true, sent)
		assert.True(t, c.Message(), "it is another's")
		sent = c.Mark()
		c.Released(2, true, sent)
		assert.False(t, c.Message(), "who listened before has heard ours")
	}
}
