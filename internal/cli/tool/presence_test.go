package tool

import (
	"bytes"
	"errors"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rueidisson/rueidisson"
	"github.com/rueidisson/rueidisson/internal/cli/server"
	"github.com/rueidisson/rueidisson/topic"
)

// TestStreamIsBackWhenItsConnectionIs, and not when the server answers something else before.
func TestStreamIsBackWhenItsConnectionIs(t *testing.T) {
	t.Parallel()
	var said bytes.Buffer
	p := &Presence{Tool: &Tool{Server: server.Server{}, Stderr: &said}, address: "a:1"}
	refused := errors.New("refused")
	lost := fmt.Errorf("%w", rueidisson.ErrDisconnected)
	require.True(t, p.Noticed(lost))
	require.Contains(t, said.String(), "lost the server a:1")
	said.Reset()
	p.note(&p.down, refused)
	p.note(&p.down, refused)
	p.note(&p.down, nil) // a look is answered before the stream hears again
	require.Empty(t, said.String())
	require.ErrorContains(t, p.Over(), "still away")
	require.True(t, p.Noticed(fmt.Errorf("%w: %w", rueidisson.ErrReconnected, topic.ErrInterrupted)))
	require.Equal(t, 1, bytes.Count(said.Bytes(), []byte("\n")))
	require.Contains(t, said.String(), "is back: messages may have been missed")
	require.NoError(t, p.Over())
	require.False(t, p.Noticed(refused))
}
