package send

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rueidisson/rueidisson/internal/core"
)

// TestWritingThatIsLeftLostNoReply: the error of a call that goes on after the end of its context says that, and not that a reply was
// lost.
func TestWritingThatIsLeftLostNoReply(t *testing.T) {
	t.Parallel()
	s := offline(t).Sender
	ctx, cancel := context.WithCancel(t.Context())
	goOn, ended := make(chan struct{}), make(chan struct{})
	_, err := Writing(s, ctx, func() (int, error) {
		defer close(ended)
		cancel()
		<-goOn
		return 1, nil
	})
	close(goOn)
	<-ended
	require.ErrorIs(t, err, core.ErrOutcomeUnknown)
	require.ErrorIs(t, err, context.Canceled)
	require.EqualError(t, err, "outcome unknown: the wait for the reply ended: context canceled")
}
