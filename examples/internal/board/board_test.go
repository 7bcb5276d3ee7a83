package board

import (
	"bytes"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestABoardIsDrawnOverWhatWasDrawnBefore(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	state := "now"
	b := &Board{out: &out, lines: func() []string { return []string{"one", state} }}
	b.Draw()
	b.Draw() // a moment ago it was
	require.Equal(t, "\x1b[2Kone\n\x1b[2Know\n", out.String())
	state = "in the end"
	b.End()
	first, over, found := strings.Cut(out.String(), "\x1b[2A")
	require.True(t, found)
	require.Contains(t, first, "now")
	require.Contains(t, over, "in the end")
}

func TestNothingIsDrawnOnWhatIsNoTerminal(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	b := New(&out, func() []string { return []string{"one"} })
	b.Draw()
	b.End()
	require.Empty(t, out.String())
}
