package completion

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rueidisson/rueidisson/internal/redistest"
)

// TestCompletionLooksAtSoManyKeysAtMost.
func TestCompletionLooksAtSoManyKeysAtMost(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	client := server.Client(t)
	fill := `for i = 1, 30000 do redis.call('set', 'k' .. i, '') end return 1`
	require.NoError(t, client.Do(t.Context(), client.B().Eval().Script(fill).Numkeys(0).Build()).Error())
	got := scanNames(t.Context(), client, false, "", "none", namesScans)
	assert.Empty(t, got)
	info, err := client.Do(t.Context(), client.B().Info().Section("commandstats").Build()).ToString()
	require.NoError(t, err)
	assert.Contains(t, info, "cmdstat_scan:calls=20,")
	assert.Len(t, scanNames(t.Context(), client, false, "", "k", 1)[:namesMost], namesMost)
}
