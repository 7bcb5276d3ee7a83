package standby

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rueidisson/rueidisson/internal/bucket"
)

// A bucket that is full again long before a denial is too old cannot be known
// to refuse, however many ticks its rate brings in that time.
func TestADenialIsNoLongerThanTheTimeToFull(t *testing.T) {
	t.Parallel()
	r, err := bucket.Resolve(bucket.Rate{N: 4_999_999_999_999_999, Per: 1_000_000_000 * time.Second, Burst: 1})
	require.NoError(t, err)
	r.Identify(1, 0)
	d := denial{State: bucket.State{Rule: r, Missing: r.Full}}
	for age := time.Millisecond; age <= denialAge; age += time.Millisecond {
		assert.Zero(t, d.at(age).Missing, "after %v", age)
	}
}
