package latch

import (
	"testing"

	"github.com/redis/rueidis"
	"github.com/stretchr/testify/require"

	"github.com/rueidisson/rueidisson/internal/enginetest"
	"github.com/rueidisson/rueidisson/internal/redistest"
)

// TestAHashWithOneFieldOfABarrierIsNoBarrier: a map may have an entry of that name, and stays.
func TestAHashWithOneFieldOfABarrierIsNoBarrier(t *testing.T) {
	t.Parallel()
	redistest.OnServers(t, func(t *testing.T, raw rueidis.Client) {
		for _, field := range []string{"gen", "parties"} {
			name := redistest.Named(t, raw)
			require.NoError(t, raw.Do(t.Context(), raw.B().Hset().Key(name).FieldValue().FieldValue(field, "5").Build()).Error())
			b := NewBarrier(enginetest.Plain(t, raw), name, 2)
			_, err := b.Delete(t.Context())
			require.ErrorContains(t, err, "WRONGTYPE", field)
			_, err = b.Reset(t.Context())
			require.ErrorContains(t, err, "WRONGTYPE", field)
			require.Equal(t, []string{field + "=5"}, redistest.Fields(t, raw, name))
		}
	})
}
