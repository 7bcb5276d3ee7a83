package topic

import (
	"log/slog"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rueidisson/rueidisson/internal/core"
	"github.com/rueidisson/rueidisson/internal/locking"
	"github.com/rueidisson/rueidisson/internal/redistest"
)

// retries counts the failing attempts to connect again.
type retries chan struct{}

func (r retries) Write(p []byte) (int, error) {
	select {
	case r <- struct{}{}:
	default:
	}
	return len(p), nil
}

// TestTopicYieldsOneNoticeWhenDisconnectedAndOneWhenBack, however often the client tries to connect meanwhile.
func TestTopicYieldsOneNoticeWhenDisconnectedAndOneWhenBack(t *testing.T) {
	t.Parallel()
	server := redistest.Shared(t)
	onKinds(t, func(t *testing.T, of maker) {
		name, tried := redistest.Name(t), make(retries)
		client, proxy := through(t, server)
		log := slog.New(slog.NewTextHandler(tried, &slog.HandlerOptions{Level: slog.LevelDebug}))
		s := of(engineOn(t, client, func(c *core.Config) { c.Logger = log }), name).listening(t)
		proxy.Refuse()
		proxy.CutAll()
		s.away(t)
		for range 4 {
			<-tried
		}
		proxy.Accept()
		s.back(t)
		of(engineOn(t, server.Client(t)), name).publishes(t, "a")
		s.hears(t, "a")
	})
}

// TestTopicIsNotDisconnectedByClose: the loop ends with ErrClosed, and no notice comes before it.
func TestTopicIsNotDisconnectedByClose(t *testing.T) {
	t.Parallel()
	e := engineOn(t, redistest.Shared(t).Client(t))
	s := kinds["plain"](e, redistest.Name(t)).listening(t)
	require.NoError(t, locking.Close(t.Context(), e))
	require.ErrorIs(t, s.next(t, 1)[0].err, ErrClosed)
}

// TestReliableTopicYieldsOneNoticeWhenDisconnectedAndOneWhenBack, and the messages of meanwhile after these.
func TestReliableTopicYieldsOneNoticeWhenDisconnectedAndOneWhenBack(t *testing.T) {
	t.Parallel()
	server := redistest.Shared(t)
	client, proxy := through(t, server)
	tried, name := make(retries), redistest.Name(t)
	log := slog.New(slog.NewTextHandler(tried, &slog.HandlerOptions{Level: slog.LevelDebug}))
	r, other := reliableBy(t, client, engineOn(t, client, func(c *core.Config) { c.Logger = log }), name), reliableOn(t, server.Client(t), name)
	s := r.listening()
	other.publishes(1, "a")
	s.hears(t, "a")
	proxy.Refuse()
	proxy.CutAll()
	require.ErrorIs(t, s.notice(t), ErrDisconnected)
	for range 4 {
		<-tried
	}
	other.publishes(1, "b")
	proxy.Accept()
	require.ErrorIs(t, s.notice(t), ErrReconnected)
	s.hears(t, "b")
}
