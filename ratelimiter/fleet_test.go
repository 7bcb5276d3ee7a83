package ratelimiter_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strconv"
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

var fleetChildren = redistest.Children{"limiter-fleet": fleetMember}

// load is what one process of a fleet does for a while.
type load struct {
	addr, name string
	waits      bool // Wait rather than Take
	tokens     int64
	goroutines int
	span       time.Duration
}

func (l load) env() []string {
	return []string{
		"REDIS=" + l.addr, "NAME=" + l.name, fmt.Sprintf("WAITS=%t", l.waits), fmt.Sprintf("TOKENS=%d", l.tokens),
		fmt.Sprintf("GOROUTINES=%d", l.goroutines), "FOR=" + l.span.String(),
	}
}

func loadFromEnv() (l load, err error) {
	l = load{addr: os.Getenv("REDIS"), name: os.Getenv("NAME")}
	var errs [4]error
	l.waits, errs[0] = strconv.ParseBool(os.Getenv("WAITS"))
	l.tokens, errs[1] = strconv.ParseInt(os.Getenv("TOKENS"), 10, 64)
	l.goroutines, errs[2] = strconv.Atoi(os.Getenv("GOROUTINES"))
	l.span, errs[3] = time.ParseDuration(os.Getenv("FOR"))
	return l, errors.Join(errs[:]...)
}

// fleetMember is one process: it says ready, waits to be told to go, and says
// what it was granted between which times of the server.
func fleetMember(p *redistest.Parent) {
	l, err := loadFromEnv()
	if err != nil {
		p.Say("failed: %v", err)
		return
	}
	option := rueidis.ClientOption{InitAddress: []string{l.addr}, ForceSingleClient: true, DisableCache: true}
	raw, err := rueidis.NewClient(option)
	if err != nil {
		p.Say("failed: %v", err)
		return
	}
	defer raw.Close()
	c, err := rueidisson.New(option)
	if err != nil {
		p.Say("failed: %v", err)
		return
	}
	p.Say("ready")
	if _, ok := p.Hear(); !ok {
		return
	}
	f := &fleet{load: l, limiter: c.RateLimiter(l.name), raw: raw}
	if err := f.run(); err != nil {
		p.Say("failed: %v", err)
		return
	}
	p.Say("granted %d from %d to %d in %d, stalled %d", f.granted.Load(), f.from, f.to, f.requests.Load(), f.stalled)
	_ = c.Close(context.Background())
}

// fleet is one process at work.
type fleet struct {
	load
	limiter           *ratelimiter.Limiter
	raw               rueidis.Client
	rate              ratelimiter.Rate
	granted, requests atomic.Int64 // tokens that may be used, and calls
	from, to          int64        // server time in µs
	stalled           int64        // in µs: how long the machine let nothing happen here
}

func (f *fleet) run() (err error) {
	ctx, cancel := context.WithTimeout(context.Background(), f.span)
	defer cancel()
	if f.rate, err = f.limiter.Rate(context.Background()); err != nil {
		return err
	}
	if f.from, err = serverTime(f.raw); err != nil {
		return err
	}
	errs := make([]error, f.goroutines+1)
	var all sync.WaitGroup
	all.Go(func() { errs[f.goroutines] = f.watch(ctx) })
	for i := range f.goroutines {
		all.Go(func() { errs[i] = f.use(ctx) })
	}
	all.Wait()
	f.to, err = serverTime(f.raw)
	return errors.Join(append(errs, err)...)
}

// use asks for tokens until ctx ends. A wait counts when it returns.
func (f *fleet) use(ctx context.Context) error {
	for ctx.Err() == nil {
		granted, err := true, error(nil)
		if f.waits {
			err = f.limiter.WaitN(ctx, f.tokens)
		} else {
			granted, err = f.limiter.AllowN(context.Background(), f.tokens)
		}
		if err != nil {
			if ctx.Err() != nil || errors.Is(err, context.DeadlineExceeded) {
				return nil
			}
			return err
		}
		f.requests.Add(1)
		if granted {
			f.granted.Add(f.tokens)
		}
	}
	return nil
}

// watch compares what was granted with the bound again and again: what counts
// by then was granted before the server is asked for the time.
func (f *fleet) watch(ctx context.Context) error {
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for last := f.from; ; {
		granted := f.granted.Load()
		now, err := serverTime(f.raw)
		if err != nil {
			return err
		}
		if gap := now - last; gap > 100_000 {
			f.stalled += gap
		}
		last = now
		if most := bound(f.rate, now-f.from); granted > most {
			return fmt.Errorf("%d tokens were granted within %d µs, %d are allowed", granted, now-f.from, most)
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return nil
		}
	}
}

// bound is the most tokens of a rate in a time, rounded down.
func bound(r ratelimiter.Rate, micros int64) int64 {
	return r.Burst + r.N*micros/r.Per.Microseconds()
}

// serverTime is the server's clock, in µs.
func serverTime(c rueidis.CoreClient) (int64, error) {
	parts, err := c.Do(context.Background(), c.B().Time().Build()).AsStrSlice()
	if err != nil {
		return 0, err
	}
	seconds, err1 := strconv.ParseInt(parts[0], 10, 64)
	micros, err2 := strconv.ParseInt(parts[1], 10, 64)
	return seconds*1_000_000 + micros, errors.Join(err1, err2)
}

// The larger rates ask for more tokens at a time: what is tested is that the
// bucket is empty all the time, not how fast the machine is.
var fleetRates = []struct {
	rate   ratelimiter.Rate
	tokens int64
	span   time.Duration
	sure   bool // so slow that every machine empties the bucket
}{
	{ratelimiter.PerSecond(1000).WithBurst(100), 1, time.Second, true},
	{ratelimiter.PerSecond(999_983).WithBurst(99_999), 101, time.Second / 2, false},
	{ratelimiter.PerSecond(10_000_000).WithBurst(1_000_000), 1009, time.Second / 2, false},
}

// fleetSpan is how long a fleet asks in a soak. The spans above are as short as they can be and still see every bucket
// empty many times.
const fleetSpan = 20 * time.Second

// These run beside nothing else: what they measure is how much of its rate a
// limiter grants to those who ask all the time.

func TestAFleetThatTakesIsGrantedTheRateAndNoMore(t *testing.T) {
	for _, processes := range []int{1, 4} {
		for _, r := range fleetRates {
			t.Run(fmt.Sprintf("%d processes at %v", processes, r.rate), func(t *testing.T) {
				saturate(t, r.rate, processes, load{tokens: r.tokens, span: redistest.Span(t, r.span, fleetSpan)}, r.sure)
			})
		}
	}
}

func TestAFleetThatWaitsIsGrantedTheRateAndNoMore(t *testing.T) {
	for _, r := range fleetRates {
		t.Run(fmt.Sprint(r.rate), func(t *testing.T) {
			saturate(t, r.rate, 4, load{tokens: r.tokens, span: redistest.Span(t, r.span, fleetSpan), waits: true}, r.sure)
		})
	}
}

// saturate runs a fleet. Where it is sure to empty the bucket, it has to be
// granted its share: of several times in one at least, since the machine may
// have no time to ask as often as that.
func saturate(t *testing.T, r ratelimiter.Rate, processes int, l load, sure bool) {
	t.Helper()
	least, share := leastShare(l.span), runFleet(t, r, processes, l)
	for try := 1; sure && share < least && try < 5; try++ {
		l.span *= 2
		share = runFleet(t, r, processes, l)
	}
	assert.True(t, !sure || share >= least, "granted %.5f, less than %v", share, least)
}

// leastShare is what a fleet has to be granted at the least. A short time may be
// one in which the machine does something else.
func leastShare(span time.Duration) float64 {
	if span >= fleetSpan {
		return 0.995
	}
	return 0.8
}

// runFleet lets processes of 64 goroutines each use one limiter, checks the
// bound, and says how much of it was granted, times apart in which none of them
// could ask.
func runFleet(t *testing.T, r ratelimiter.Rate, processes int, l load) (share float64) {
	t.Helper()
	s := redistest.Shared(t)
	l.addr, l.name, l.goroutines = s.Addr(), redistest.Name(t), 64
	_, _, err := open(t, s.Addr()).RateLimiter(l.name).TrySetRate(t.Context(), r)
	require.NoError(t, err)
	var children []*redistest.Child
	for range processes {
		children = append(children, redistest.StartChild(t, "limiter-fleet", l.env()...))
	}
	for _, child := range children {
		child.Await("ready")
	}
	for _, child := range children {
		child.Send("go")
	}
	granted, from, to, requests, stalled := int64(0), int64(1)<<62, int64(0), int64(0), int64(1)<<62
	for _, child := range children {
		var got, began, ended, asked, still int64
		line := awaitGranted(t, child, l.span)
		_, err := fmt.Sscanf(line, "granted %d from %d to %d in %d, stalled %d", &got, &began, &ended, &asked, &still)
		require.NoError(t, err)
		granted, requests = granted+got, requests+asked
		from, to, stalled = min(from, began), max(to, ended), min(stalled, still)
	}
	most := bound(r, to-from)
	share = float64(granted) / float64(bound(r, to-from-stalled))
	t.Logf("%d processes, %d tokens at a time, waits %t: granted %d of %d tokens (%.5f) in %.3f s, of which nobody could ask in %.3f s, %.0f requests/s",
		processes, l.tokens, l.waits, granted, most, share, float64(to-from)/1e6, float64(stalled)/1e6, float64(requests)*1e6/float64(to-from))
	require.LessOrEqual(t, granted, most)
	return share
}

func awaitGranted(t *testing.T, child *redistest.Child, span time.Duration) string {
	t.Helper()
	line, ok := child.AwaitFor("", span+30*time.Second)
	require.True(t, ok, "the child said nothing")
	require.Contains(t, line, "granted")
	return line
}
