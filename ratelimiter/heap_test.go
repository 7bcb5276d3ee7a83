package ratelimiter_test

import (
	"context"
	"runtime"
	"strconv"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rueidisson/rueidisson/internal/redistest"
	"github.com/rueidisson/rueidisson/ratelimiter"
)

// Who puts the tenant into the name has names without number. Not parallel: what
// other tests hold would be counted.
func TestNamesThatWereUsedOnceAreForgotten(t *testing.T) {
	c := open(t, redistest.Shared(t).Addr())
	ctx, name := context.Background(), redistest.Name(t)
	use := func(i int) {
		l := c.RateLimiter(name + strconv.Itoa(i))
		ok, err := l.For("u", ratelimiter.WithRule(ratelimiter.PerSecond(1_000_000))).Allow(ctx)
		require.NoError(t, err)
		require.True(t, ok)
		if i%100 == 0 {
			_, err := l.Allow(ctx)
			require.ErrorIs(t, err, ratelimiter.ErrNoRate)
		}
	}
	use(0)
	before := heap()
	for i := range 20_000 {
		use(i)
	}
	assert.Less(t, heap()-before, 10<<20)
}

// heap is what is in use, in bytes.
func heap() int {
	var m runtime.MemStats
	for range 3 { // what cleanups let go is collected after them
		runtime.GC()
	}
	runtime.ReadMemStats(&m)
	return int(m.HeapAlloc)
}
