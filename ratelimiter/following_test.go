package ratelimiter_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/rueidis"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rueidisson/rueidisson"
	"github.com/rueidisson/rueidisson/internal/redistest"
	"github.com/rueidisson/rueidisson/ratelimiter"
)

var followingChildren = redistest.Children{"limiter-follower": follow}

// A rate that one process changes decides about every request that begins a
// second later or more, in all processes.
func TestAChangedRateIsFollowedByOtherProcessesWithinASecond(t *testing.T) {
	t.Parallel()
	s := redistest.Shared(t)
	followedByProcesses(t, []string{s.Addr()}, open(t, s.Addr()))
}

// followedByProcesses changes the rate while processes take all the time, and
// once more while they do nothing, so that what they know is old.
func followedByProcesses(t *testing.T, addrs []string, c *rueidisson.Client) {
	clock, err := rueidis.NewClient(rueidis.ClientOption{InitAddress: addrs, DisableCache: true})
	require.NoError(t, err)
	t.Cleanup(clock.Close)
	first, second, third := ratelimiter.PerHour(1_000), ratelimiter.PerHour(1_001), ratelimiter.PerHour(1_002)
	l := limited(t, c, first)
	var children []*redistest.Child
	for i := range 3 {
		children = append(children, redistest.StartChild(t, "limiter-follower",
			"REDIS="+strings.Join(addrs, ","), "NAME="+l.Name(), fmt.Sprintf("ME=%d", i)))
	}
	for _, child := range children {
		require.Equal(t, fmt.Sprintf("by [%d]", first.Burst), child.Next())
		child.Send("until %d", second.Burst)
	}
	for _, child := range children {
		require.Equal(t, "taking", child.Next())
	}
	changed := changesRate(t, l, second, clock)
	for _, child := range children {
		var last int64
		line := child.Next()
		_, err := fmt.Sscanf(line, "last by another at %d", &last)
		require.NoError(t, err, line)
		t.Logf("followed after %v", time.Duration(max(0, last-changed))*time.Microsecond)
		assert.Less(t, last, changed+time.Second.Microseconds(), "when a request began that was decided by the old rate")
	}

	changed = changesRate(t, l, third, clock)
	require.Eventually(t, func() bool {
		now, err := serverTime(clock)
		return err == nil && now >= changed+time.Second.Microseconds()
	}, soon, 10*time.Millisecond)
	for _, child := range children {
		child.Send("at once")
	}
	for _, child := range children {
		require.Equal(t, fmt.Sprintf("by [%d]", third.Burst), child.Next())
	}
}

// changesRate says at what time of the server the rate surely was changed.
func changesRate(t *testing.T, l *ratelimiter.Limiter, r ratelimiter.Rate, clock rueidis.Client) int64 {
	t.Helper()
	require.NoError(t, l.SetRate(t.Context(), r))
	now, err := serverTime(clock)
	require.NoError(t, err)
	return now
}

// follower is a process that tells by which rate it is decided about its
// requests. It uses each key once: a state would tell it of a newer rate.
type follower struct {
	p       *redistest.Parent
	clock   rueidis.Client
	limiter *ratelimiter.Limiter
	me      string
	used    atomic.Int64 // keys
}

const followers = 16 // goroutines

func follow(p *redistest.Parent) {
	option := rueidis.ClientOption{InitAddress: strings.Split(os.Getenv("REDIS"), ","), DisableCache: true}
	clock, err1 := rueidis.NewClient(option)
	c, err2 := rueidisson.New(option)
	if err := errors.Join(err1, err2); err != nil {
		p.Say("failed: %v", err)
		return
	}
	defer clock.Close()
	defer c.Close(context.Background())
	f := &follower{p: p, clock: clock, limiter: c.RateLimiter(os.Getenv("NAME")), me: os.Getenv("ME")}
	if err := f.obey(); err != nil {
		p.Say("failed: %v", err)
	}
}

func (f *follower) obey() error {
	err := f.atOnce()
	for err == nil {
		line, ok := f.p.Hear()
		if !ok {
			return nil
		}
		var burst int64
		if _, bad := fmt.Sscanf(line, "until %d", &burst); bad == nil {
			err = f.until(burst)
		} else {
			err = f.atOnce()
		}
	}
	return err
}

// decidedBy is the burst of the rate by which a request on a new key is decided.
func (f *follower) decidedBy() (int64, error) {
	d, err := f.limiter.For(fmt.Sprintf("%s-%d", f.me, f.used.Add(1))).Take(context.Background(), 1)
	return d.Limit, err
}

// atOnce lets all goroutines ask at the same time, and says by which rates.
func (f *follower) atOnce() error {
	var by [followers]int64
	err := together(func(i int) (err error) {
		by[i], err = f.decidedBy()
		return err
	})
	f.p.Say("by %d", slices.Compact(by[:]))
	return err
}

// until lets all goroutines ask until they are decided about by the rate with
// that burst, and says at what time of the server the last request began that
// was decided about by another one.
func (f *follower) until(burst int64) error {
	f.p.Say("taking")
	var last [followers]int64
	err := together(func(i int) error {
		for {
			began, err := serverTime(f.clock)
			if err != nil {
				return err
			}
			if by, err := f.decidedBy(); err != nil || by == burst {
				return err
			}
			last[i] = began
		}
	})
	f.p.Say("last by another at %d", slices.Max(last[:]))
	return err
}

func together(do func(i int) error) error {
	var errs [followers]error
	var all sync.WaitGroup
	for i := range followers {
		all.Go(func() { errs[i] = do(i) })
	}
	all.Wait()
	return errors.Join(errs[:]...)
}
