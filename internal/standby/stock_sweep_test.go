package standby

import (
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rueidisson/rueidisson/internal/bucket"
)

// A process that serves ever new keys keeps the stocks of those that it may
// still use, and no others.
func TestStocksThatHaveExpiredAreForgotten(t *testing.T) {
	t.Parallel()
	r, err := bucket.Resolve(bucket.Rate{N: 10, Per: time.Second, Burst: 10})
	require.NoError(t, err)
	r.Identify(1, 0)
	var s stocks
	const keys, inUse = 100_000, 1000 // one each millisecond, and full in a second
	for i := range keys {
		now := time.Second + time.Duration(i)*time.Millisecond
		require.Zero(t, s.add("key "+strconv.Itoa(i), bucket.State{Rule: r, Missing: r.PerToken}, 1, 1, now))
	}
	assert.GreaterOrEqual(t, len(s.by), inUse)
	assert.LessOrEqual(t, len(s.by), 3*inUse)
	assert.EqualValues(t, 1, s.tokens("key "+strconv.Itoa(keys-1)))
}
