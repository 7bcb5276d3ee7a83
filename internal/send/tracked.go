package send

import (
	"context"
	"fmt"
	"time"

	"github.com/rueidisson/rueidisson/internal/pubsub"
	"github.com/rueidisson/rueidisson/internal/tracking"
)

// Track has to told of what becomes of a key, and of others beside it; see
// [tracking.Tracker.Watch]. The first watch to be armed opens a connection.
func (s *Sender) Track(key string, silence time.Duration, to tracking.Listener, others ...string) *tracking.Watch {
	return s.tracker().Watch(key, silence, to, others...)
}

// Tracked returns how many watches of keys there are.
func (s *Sender) Tracked() int { return s.tracker().Watches() }

type trackerKey struct{}

func (s *Sender) tracker() *tracking.Tracker {
	return s.Shared(trackerKey{}, func() any {
		return tracking.New(tracked{s}, tracking.Options{
			PerKey: s.Cluster(), Spawn: s.Spawn, Closing: s.Closing(), Logger: s.Logger,
		})
	}).(*tracking.Tracker)
}

// tracked is where the tracker's connections come from.
type tracked struct{ s *Sender }

func (t tracked) Locate(ctx context.Context, key string) (string, error) {
	where, err := t.s.Topo.Where(ctx)
	if err != nil {
		return "", err
	}
	return where(pubsub.Channel{Name: key}) // which is where the key of that name is
}

func (t tracked) Doubt() { t.s.Topo.MarkStale() }

func (t tracked) Connect(ctx context.Context, node string, changed func([]string)) (tracking.Conn, error) {
	client, ok := t.s.Redis.Nodes()[node]
	if !ok {
		return nil, fmt.Errorf("track at %s: %w", node, pubsub.ErrUnknownNode)
	}
	conn, err := pubsub.Take(ctx, client, func() *tracking.Dedicated { return tracking.Take(client) })
	if err == nil {
		if err = conn.Start(ctx, changed); err != nil {
			conn.Close()
		}
	}
	if err != nil {
		return nil, fmt.Errorf("track at %s: %w", node, err)
	}
	return conn, nil
}
