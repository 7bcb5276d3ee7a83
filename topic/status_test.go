package topic

import (
	"context"
	"testing"
	"time"

	"github.com/redis/rueidis"
	"github.com/stretchr/testify/require"

	"github.com/rueidisson/rueidisson/internal/core"
	"github.com/rueidisson/rueidisson/internal/pubsub"
	"github.com/rueidisson/rueidisson/internal/redistest"
)

// TestTopicTellsWhatBecomesOfASubscription: it is lost when its connection breaks, and restored; then messages come again.
func TestTopicTellsWhatBecomesOfASubscription(t *testing.T) {
	t.Parallel()
	onKinds(t, func(t *testing.T, of maker) {
		client, proxy := through(t, redistest.Shared(t))
		told := make(chan Status, 100)
		topic := of(engineOn(t, client), redistest.Name(t))
		s := topic.listening(t, WithStatus(func(s Status) { told <- s }))
		quiet := topic.listening(t)
		require.Equal(t, Subscribed, redistest.Done(t, told))
		for range 2 {
			proxy.CutAll()
			require.Equal(t, Lost, redistest.Done(t, told))
			require.Equal(t, Restored, redistest.Done(t, told))
			s.interrupted(t)
			quiet.interrupted(t)
		}
		_, err := topic.publish(t.Context(), "a") // which may count the connections that have gone
		require.NoError(t, err)
		s.hears(t, "a")
		quiet.hears(t, "a")
		s.close()
		proxy.CutAll()
		quiet.interrupted(t)
		require.Empty(t, told, "it is over")
		_, err = topic.listen(t.Context(), WithStatus(nil))
		require.ErrorIs(t, err, ErrInvalidArgument)
	})
	require.Equal(t, "subscribed lost restored Status(7)", Subscribed.String()+" "+Lost.String()+" "+Restored.String()+" "+Status(7).String())
}

// TestTopicStatusIsLostBeforeItIsRestored, also where nobody has noticed.
func TestTopicStatusIsLostBeforeItIsRestored(t *testing.T) {
	t.Parallel()
	var told []Status
	w := &watched{tell: func(s Status) { told = append(told, s) }}
	w.hear(pubsub.Lost)
	w.hear(pubsub.Resumed)
	require.Empty(t, told, "it does not stand yet")
	w.begin()
	for _, kind := range []pubsub.EventKind{pubsub.Message, pubsub.Resumed, pubsub.Lost, pubsub.Lost, pubsub.Resumed} {
		w.hear(kind)
	}
	require.Equal(t, []Status{Subscribed, Lost, Restored, Lost, Restored}, told)
}

func namesThatAreActive(t *testing.T, raw rueidis.Client) {
	e, prefix := engineOn(t, raw, func(c *core.Config) { c.Linger = time.Millisecond }), redistest.Name(t)
	p := NewPattern[string](e, prefix+"*")
	names, err := p.ActiveNames(t.Context())
	require.NoError(t, err)
	require.Empty(t, names)
	var want []string
	for _, name := range []string{"a", "b", "c", "d"} {
		want = append(want, prefix+name)
		s, err := New[string](e, prefix+name).Listen(t.Context())
		require.NoError(t, err)
		defer s.Close()
	}
	names, err = p.ActiveNames(t.Context())
	require.NoError(t, err)
	require.Equal(t, want, names)
	sharded, err := NewSharded[string](e, prefix+"sharded").Listen(t.Context())
	require.NoError(t, err)
	defer sharded.Close()
	names, err = p.ActiveShardedNames(t.Context())
	require.NoError(t, err)
	require.Equal(t, []string{prefix + "sharded"}, names)
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	_, err = p.ActiveNames(ended)
	require.ErrorIs(t, err, context.Canceled)
}

func TestPatternTopicListsNamesThatAreActive(t *testing.T) {
	t.Parallel()
	onReal(t, namesThatAreActive)
}
