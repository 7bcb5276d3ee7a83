package lock_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rueidisson/rueidisson/internal/redistest"
)

// Not parallel: the allocations of other tests would be counted.
func TestAPairLeavesLittleOnTheHeap(t *testing.T) {
	ending, cancel := context.WithCancel(t.Context())
	defer cancel()
	l := open(t, redistest.Shared(t).Addr()).Lock(redistest.Name(t))
	for name, c := range map[string]struct {
		ctx  context.Context
		most float64 // under the race detector, which makes pools forget, rueidis' too; without it 3 and 6
	}{
		"that does not end": {context.Background(), 6},
		"that can end":      {ending, 10},
	} {
		t.Run("under a context "+name, func(t *testing.T) {
			failed := error(nil)
			allocs := testing.AllocsPerRun(10000, func() {
				hold, err := l.Lock(c.ctx)
				if err == nil {
					err = hold.Unlock(c.ctx)
				}
				if err != nil {
					failed = err
				}
			})
			require.NoError(t, failed)
			assert.LessOrEqual(t, allocs, c.most)
		})
	}
}
