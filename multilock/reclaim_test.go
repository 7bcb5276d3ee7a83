package multilock_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestGroupReclaimsValuesOfDeadHolders has a group in use whose values are asked for once
// and never again: those of holders that died go, and those of live ones stay.
func TestGroupReclaimsValuesOfDeadHolders(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	for i := range 20 {
		require.Equal(t, "nil", b.acquire("dead:"+fmt.Sprint(i), fmt.Sprintf("v%d", i)))
	}
	b.passes(leaseMs + 50_000)
	require.Equal(t, "nil", b.acquire("live:1", "alive"))
	fields := func() int64 {
		n, err := b.raw.Do(context.Background(), b.raw.B().Hlen().Key(b.name).Build()).AsInt64()
		require.NoError(t, err)
		return n
	}
	require.EqualValues(t, 63, fields(), "a clock may be ahead")
	b.passes(11_000)
	for i := 0; fields() > 3 && i < 500; i++ {
		owner := fmt.Sprintf("passing:%d", i)
		require.Equal(t, "nil", b.acquire(owner, "other"))
		b.release(owner, "other")
	}
	require.EqualValues(t, 3, fields())
	require.NotEqual(t, "nil", b.acquire("late:1", "alive"), "it is held")
}
