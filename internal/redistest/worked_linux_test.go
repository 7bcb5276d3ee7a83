package redistest

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestAServerTellsForHowLongItComputed(t *testing.T) {
	t.Parallel()
	s := Start(t)
	before := s.Worked()
	require.Positive(t, before)
	s.says("PING")
	idle := s.Worked() - before
	require.Positive(t, idle)
	before = s.Worked()
	_, err := s.ask("EVAL", "for i = 1, 3000000 do end", "0")
	require.NoError(t, err)
	require.Greater(t, s.Worked()-before, 2*time.Millisecond)
	s.Kill()
	require.Zero(t, s.Worked())
}
