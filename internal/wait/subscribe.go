package wait

import (
	"context"
	"time"

	"github.com/rueidisson/rueidisson/internal/core"
	"github.com/rueidisson/rueidisson/internal/pubsub"
	"github.com/rueidisson/rueidisson/internal/send"
)

// Subscribed reports whether messages on the channel of that name come to this
// client.
func (w *Waits) Subscribed(name string) bool { return w.hub.Subscribed(w.Channel(name)) }

// Listeners counts the subscribers of a channel on the node that serves it.
func (w *Waits) Listeners(ctx context.Context, channel string) (int, error) {
	verb := "NUMSUB"
	if w.Publish() == "spublish" {
		verb = "SHARDNUMSUB"
	}
	where, err := w.Topo.Where(ctx)
	if err != nil {
		return 0, err
	}
	node, err := where(w.Channel(channel))
	if err != nil {
		return 0, err
	}
	on := w.Topo.Reach(node)
	reply, err := on.Do(w.Bounded(ctx), on.B().Arbitrary("PUBSUB", verb).Args(channel).Build()).ToArray()
	if err != nil || len(reply) < 2 {
		return 0, err
	}
	n, err := reply[1].AsInt64()
	return int(n), err
}

// CountsAll reports whether a message that reached nobody proves that nobody
// listens: everywhere but on a cluster with plain channels, where the server
// counts the subscribers of one node.
func (w *Waits) CountsAll() bool { return !w.Cluster() || w.Publish() == "spublish" }

// Subscribe has listen told of the messages on a channel that scripts reach with
// Publish, from when Subscribe returns until the subscription is closed; see
// [pubsub.Hub.Subscribe].
func (w *Waits) Subscribe(ctx context.Context, channel string, listen func(pubsub.Event)) (*pubsub.Subscription, error) {
	return w.hub.Subscribe(ctx, w.Channel(channel), listen)
}

// SubscribeTo is Subscribe for a channel of any kind. The wait ends when the
// client closes.
func (w *Waits) SubscribeTo(ctx context.Context, channel pubsub.Channel, listen func(pubsub.Event)) (*pubsub.Subscription, error) {
	if err := w.Open(); err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	if !w.hub.Subscribed(channel) {
		go func() { // ends with the wait
			select {
			case <-w.Closing():
				cancel()
			case <-ctx.Done():
			}
		}()
	}
	sub, err := w.hub.Subscribe(ctx, channel, listen)
	if err != nil && w.Open() != nil {
		return nil, core.ErrClosed
	}
	return sub, err
}

// ListenersHere returns how many listen to channel by this client.
func (w *Waits) ListenersHere(channel pubsub.Channel) int { return w.hub.Listeners(channel) }

// Vigil is Subscribe for a listener that has to know whether it hears everything;
// see [pubsub.Hub.Vigil]. Plain joins a channel that is published to by plain
// commands, also on a cluster.
func (w *Waits) Vigil(ctx context.Context, channel string, plain bool, every time.Duration, listen func(pubsub.Event)) (*pubsub.Subscription, error) {
	of := w.Channel(channel)
	if plain {
		of.Kind = pubsub.Plain
	}
	return w.hub.Vigil(ctx, of, every, listen)
}

// doubting tells the topology of nodes that cannot be reached: a client that
// only waits has no renewals that would find out.
type doubting struct {
	pubsub.Source
	topo *send.Topology
}

func (d doubting) Connect(ctx context.Context, line pubsub.Line, handler pubsub.Handler) (pubsub.Conn, error) {
	conn, err := d.Source.Connect(ctx, line, handler)
	if err != nil {
		d.topo.MarkStale()
	}
	return conn, err
}
