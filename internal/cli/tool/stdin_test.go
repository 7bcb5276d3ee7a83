package tool

import (
	"io"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestStandardInputIsReadAheadByBytes: long lines are not all in memory while the server is slow.
func TestStandardInputIsReadAheadByBytes(t *testing.T) {
	t.Parallel()
	in, out := io.Pipe()
	var wrote atomic.Int64
	go func() { // ends when the lines are read
		defer out.Close()
		for range 100 {
			n, _ := io.WriteString(out, strings.Repeat("x", 1<<20)+"\n")
			wrote.Add(int64(n))
		}
	}()
	read := 0
	err := (&Tool{Stdin: in}).EachBatch(t.Context(), func(lines []string) error {
		size := 0
		for _, line := range lines {
			size += len(line)
		}
		read += size
		require.LessOrEqual(t, size, mostAhead)
		require.LessOrEqual(t, wrote.Load(), int64(read+mostAhead+2*longestLine))
		return nil
	})
	require.NoError(t, err)
	require.Equal(t, 100<<20, read)
}
