package list

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rueidisson/rueidisson/internal/core"
	"github.com/rueidisson/rueidisson/internal/enginetest"
	"github.com/rueidisson/rueidisson/internal/redistest"
)

// TestAWalkThatEndsIsNoNotice: a program that goes on after notices would take the elements so far for all of them.
func TestAWalkThatEndsIsNoNotice(t *testing.T) {
	t.Parallel()
	l := New[string](enginetest.Texts(t, redistest.MiniredisClient(t)), redistest.Name(t))
	_, err := l.Append(t.Context(), "a", "b")
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	var ends []error
	for _, err := range l.All(ctx) {
		ends = append(ends, err)
	}
	require.Len(t, ends, 1)
	require.ErrorIs(t, ends[0], context.Canceled)
	require.NotErrorIs(t, ends[0], core.ErrNotice)
}

// TestAnIndexThatIsLeftAnswersNobody: its answer comes when its caller has gone.
func TestAnIndexThatIsLeftAnswersNobody(t *testing.T) {
	t.Parallel()
	client, proxy := redistest.ThroughProxy(t, redistest.Shared(t))
	l := New[string](enginetest.Texts(t, client), redistest.Name(t))
	_, err := l.Append(t.Context(), "a")
	require.NoError(t, err)
	t.Cleanup(func() { _, _ = l.Delete(context.Background()) })
	held := proxy.HoldRequest(redistest.Command("LPOS"))
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		held.Await(t)
		cancel()
	}()
	_, there, err := l.Index(ctx, "a")
	require.ErrorIs(t, err, context.Canceled)
	require.False(t, there)
	held.Release()
}
