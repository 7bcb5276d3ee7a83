package ratelimiter_test

import (
	"context"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/rueidis"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rueidisson/rueidisson/internal/redistest"
	"github.com/rueidisson/rueidisson/ratelimiter"
)

// traffic takes tokens and waits for them, from several clients, and is compared
// with the bound whatever happens to the servers meanwhile.
type traffic struct {
	t       *testing.T
	clock   rueidis.Client // of a server that nothing happens to: all have the machine's
	rate    ratelimiter.Rate
	from    int64
	passing func(error) bool // errors that may come
	granted atomic.Int64
	refused atomic.Int64
	failed  atomic.Int64
	stop    context.CancelFunc
	all     sync.WaitGroup
}

// taker is what both a bucket and several limits are.
type taker struct {
	allow func(ctx context.Context) (bool, error)
	wait  func(ctx context.Context) error
}

// startTraffic has four goroutines take from each taker and four wait. Without
// passing, no error may come.
func startTraffic(t *testing.T, passing func(error) bool, r ratelimiter.Rate, takers ...taker) *traffic {
	t.Helper()
	ctx, stop := context.WithCancel(t.Context())
	tr := &traffic{t: t, clock: redistest.Shared(t).Client(t), rate: r, passing: passing, stop: stop}
	t.Cleanup(tr.end)
	tr.from = tr.now()
	for _, each := range takers {
		wait := func(ctx context.Context) (bool, error) { err := each.wait(ctx); return err == nil, err }
		for range 4 {
			tr.all.Go(func() { tr.use(ctx, each.allow) })
			tr.all.Go(func() { tr.use(ctx, wait) })
		}
	}
	return tr
}

func (tr *traffic) now() int64 {
	tr.t.Helper()
	now, err := serverTime(tr.clock)
	require.NoError(tr.t, err)
	return now
}

// use counts what may be used.
func (tr *traffic) use(ctx context.Context, take func(ctx context.Context) (bool, error)) {
	for ctx.Err() == nil {
		ok, err := take(ctx)
		switch {
		case ok:
			tr.granted.Add(1)
		case err == nil:
			tr.refused.Add(1)
		case ctx.Err() != nil || tr.passing != nil && tr.passing(err):
		default:
			assert.NoError(tr.t, err)
			tr.failed.Add(1)
			return
		}
	}
}

// goesOn awaits that more is granted, and then compares all that was with the
// bound.
func (tr *traffic) goesOn(phase string) {
	tr.t.Helper()
	const more = 50
	before := tr.granted.Load()
	tr.await(phase, func() bool { return tr.granted.Load() >= before+more })
}

// emptied awaits that the bucket is empty, and then compares.
func (tr *traffic) emptied(phase string) {
	tr.t.Helper()
	before := tr.refused.Load()
	tr.await(phase, func() bool { return tr.refused.Load() > before })
}

func (tr *traffic) await(phase string, ready func() bool) {
	tr.t.Helper()
	require.Eventually(tr.t, func() bool { return ready() || tr.failed.Load() > 0 }, soon, time.Millisecond, phase)
	tr.holds(phase)
}

// holds compares all that was granted with the bound.
func (tr *traffic) holds(phase string) {
	tr.t.Helper()
	granted := tr.granted.Load() // before the time is asked for
	require.LessOrEqual(tr.t, granted, bound(tr.rate, tr.now()-tr.from), phase)
	require.Zero(tr.t, tr.failed.Load(), phase)
}

func (tr *traffic) end() {
	tr.stop()
	tr.all.Wait()
}
