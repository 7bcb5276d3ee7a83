package limits

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rueidisson/rueidisson/internal/bucket"
	"github.com/rueidisson/rueidisson/ratelimiter"
	"github.com/rueidisson/rueidisson/rueidissontest"
)

// A full bucket is not shown, nor one that is left over.
func TestLimitTopShowsWhatIsScarce(t *testing.T) {
	t.Parallel()
	r, err := bucket.Parse("tb1 5 3 2 1000000000 10 0 0 nonce")
	require.NoError(t, err)
	one, ok := scarceOf(r, "api", "api:{%7Bu%7D}", bucket.Pack(5, 1_000_000, 6, 0, 2_000_001), 2_000_000)
	assert.True(t, ok)
	assert.Equal(t, scarce{Name: "api", Key: "{u}", Remaining: 6, Limit: 10, BlockedMS: 1}, one)
	lifted, err := bucket.Parse("tb1 5 3 9223372036854775807 0 9223372036854775807 0 0 nonce")
	require.NoError(t, err)
	for r, state := range map[*bucket.Rule]string{r: bucket.Pack(5, 1_000_000, 2, 0), lifted: bucket.Pack(4, 1_000_000, 9, 0)} {
		_, ok := scarceOf(r, "api", "api:{u}", state, 2_000_000)
		assert.False(t, ok, "%v", r.Rate)
	}
}

func TestAGrantStandsAlthoughNobodyKnowsWhatIsLeft(t *testing.T) {
	t.Parallel()
	b := rueidissontest.NewClient(t).RateLimiter("x").For("u")
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	refused := ratelimiter.Decision{Limit: 7, RetryAfter: time.Minute, Rate: ratelimiter.PerSecond(7)}
	d := afterWait(ended, b, refused)
	assert.Equal(t, ratelimiter.Decision{Allowed: true, Limit: 7, Rate: ratelimiter.PerSecond(7)}, d)
}

func TestWhatEndsAWaitOfLimitTake(t *testing.T) {
	t.Parallel()
	for err, want := range map[error]bool{
		ratelimiter.ErrExceedsDeadline:   true,
		ratelimiter.ErrExceedsDebt:       true,
		context.DeadlineExceeded:         true,
		context.Canceled:                 false,
		ratelimiter.ErrNoRate:            false,
		errors.New("connection refused"): false,
		errors.Join(ratelimiter.ErrOutcomeUnknown, context.DeadlineExceeded):              false,
		fmt.Errorf("rate limiter: wait: %w", ratelimiter.ErrExceedsDeadline):              true,
		fmt.Errorf("rate limiter: %w: %w", ratelimiter.ErrOutcomeUnknown, errors.New("")): false,
	} {
		assert.Equal(t, want, tooLate(err), err)
	}
}
