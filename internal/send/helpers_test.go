package send

import (
	"context"
	"io"
	"log/slog"
	"sync"
	"testing"
	"time"

	"github.com/redis/rueidis"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rueidisson/rueidisson/internal/core"
	"github.com/rueidisson/rueidisson/internal/owner"
	"github.com/rueidisson/rueidisson/internal/redistest"
)

func TestMain(m *testing.M) { redistest.Main(m) }

// closer is a sender without the floors above it, which ends when the test does.
type closer struct {
	*Sender
	once   sync.Once
	closed error
}

func (c *closer) Close(ctx context.Context) error {
	c.once.Do(func() {
		core.Shut(c.Core)
		defer CutShort(ctx, c.Sender)()
		c.closed = End(c.Sender)
	})
	return c.closed
}

// on returns one of a client that is not its own.
func on(t *testing.T, client rueidis.Client, change ...func(*core.Config)) *closer {
	t.Helper()
	return onLater(t, client, func(*Sender) {}, change...)
}

// onLater is on, with a sender that is changed before it starts.
func onLater(t *testing.T, client rueidis.Client, prepare func(s *Sender), change ...func(*core.Config)) *closer {
	t.Helper()
	cfg := core.Config{ClientID: owner.NewClient(), WatchdogTimeout: 9 * time.Second}
	for _, f := range change {
		f(&cfg)
	}
	c := &closer{Sender: New(core.New(client, cfg))}
	prepare(c.Sender)
	require.NoError(t, Start(t.Context(), c.Sender))
	t.Cleanup(func() { assert.NoError(t, c.Close(context.Background())) })
	return c
}

// at returns one on the shared server, or on what is in front of it.
func at(t *testing.T, addr string, change ...func(*core.Config)) *closer {
	t.Helper()
	client, err := rueidis.NewClient(rueidis.ClientOption{InitAddress: []string{addr}, DisableCache: true, ForceSingleClient: true})
	require.NoError(t, err)
	return on(t, client, append(change, func(c *core.Config) { c.Owned = true })...)
}

// offline returns one that has no server: what it sends is the test's business.
func offline(t *testing.T, change ...func(*core.Config)) *closer {
	t.Helper()
	cfg := core.Config{
		ClientID: owner.NewClient(), WatchdogTimeout: 30 * time.Second, Logger: slog.New(slog.NewTextHandler(io.Discard, nil)),
	}
	for _, f := range change {
		f(&cfg)
	}
	c := &closer{Sender: New(core.New(nil, cfg))}
	t.Cleanup(func() {
		ctx, cancel := context.WithCancel(context.Background())
		cancel()
		_ = c.Close(ctx)
	})
	return c
}
